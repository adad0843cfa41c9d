// Shows every view in every theme, in a narrow and a wide panel. Checks that nothing overflows, and
// that an accessibility checker finds no problem (names, roles, contrast). With SHOTS, takes a
// picture of each view.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { until } from '../workbench.mjs';
import {
  bash,
  calc,
  call,
  edit,
  editPolicy,
  edits,
  lens,
  onlyThisSession,
  openCalc,
  pendingHunks,
  restore,
  talk,
  trust,
} from './model.mjs';
import { inThemes, pictured, seen } from './themes.mjs';
import { findings } from './panel.mjs';

/**
 * The widths of the panel in pixels. `first` is the width in a window of 1280 pixels before the
 * user has dragged the panel's edge.
 */
const widths = { first: 291, narrow: 300, wide: 520 };

/** Drags the edge of the side bar that contains the panel. */
async function panelWidth(d, width) {
  const bar = d.page.locator('.part.auxiliarybar');
  await until(`the panel is ${width} pixels wide`, async () => {
    const box = await bar.boundingBox();
    if (Math.abs(box.width - width) <= 2) return true;
    const [x, y] = [box.x - 2, box.y + box.height / 2]; // the edge is to the left of the bar
    await d.page.mouse.move(x, y);
    await d.page.mouse.down();
    await d.page.mouse.move(x + box.width - width, y, { steps: 4 });
    await d.page.mouse.up();
    return false;
  });
}

/**
 * Describes the panel's elements that are too wide, or that are cut off although their text must be
 * completely readable. It also describes each gauge that shows 0 %.
 */
const overflowing = (d) =>
  d.panel.locator('body').evaluate((body) => {
    const scrolls = (node) =>
      node &&
      node !== body &&
      (/auto|scroll/.test(getComputedStyle(node).overflowX) || scrolls(node.parentElement));
    const shown = [...body.querySelectorAll('*')].filter(
      (node) => node.checkVisibility() && !node.closest('.sr, .transcript pre, table'),
    );
    const over = shown.filter(
      (node) =>
        node.getBoundingClientRect().right > innerWidth + 0.5 && !scrolls(node.parentElement),
    );
    const cut = shown.filter(
      (node) =>
        node.matches('button') &&
        node.scrollWidth > node.clientWidth + 1 &&
        getComputedStyle(node).textOverflow !== 'ellipsis',
    );
    const sideways = shown.filter(
      (node) =>
        node.matches('.transcript, .asks, .queue, .jobs') && node.scrollWidth > node.clientWidth,
    );
    const wide = [...body.querySelectorAll('.diff')].filter(
      (node) => node.scrollWidth > node.clientWidth,
    );
    const width = (node) => node.getBoundingClientRect().width;
    const text = document.createRange();
    const names = shown.filter((node) => {
      if (!node.matches('.tool-title .path > :last-child')) return false;
      text.selectNodeContents(node);
      // A part of a pixel is enough for an ellipsis.
      return width(text) > width(node) + 0.001 && width(node.previousSibling) > 1;
    });
    const name = (node) =>
      `${node.tagName.toLowerCase()}.${node.className}: ${node.textContent.slice(0, 40)}`;
    const empty = shown.filter((node) => node.matches('.gauge') && /\b0 %/.test(node.textContent));
    return [
      ...empty.map((node) => `an empty gauge: ${name(node)}`),
      ...over.map((node) => `over the edge: ${name(node)}`),
      ...cut.map((node) => `cut off: ${name(node)}`),
      ...[...sideways, ...wide].map((node) => `scrolls sideways: ${name(node)}`),
      ...names.map((node) => `shortened before its folders: ${name(node)}`),
    ];
  });

/**
 * Checks the narrow panel in every theme. The wide panel has the same colors and more room, so it
 * is checked in every theme only if pictures are taken, and otherwise in one theme.
 */
async function looks(d, view, more = () => {}) {
  const found = {};
  const look = async (width, theme) => {
    await d.shot(`${view}-${width}-${theme}`, d.page.locator('.part.auxiliarybar'));
    found[`${width}, ${theme}`] = [...(await overflowing(d)), ...(await findings(d))];
  };
  await panelWidth(d, widths.wide);
  if (d.shots) await inThemes(d, (theme) => look('wide', theme));
  else await look('wide', 'light');
  await panelWidth(d, widths.narrow);
  await inThemes(d, async (theme) => {
    await look('narrow', theme);
    await more(theme);
  });
  assert.deepEqual(found, Object.fromEntries(Object.keys(found).map((key) => [key, []])), view);
}

/** Waits until an element of the transcript is completely visible. */
const inView = (target) =>
  until('it is wholly in view', () =>
    target.evaluate((node) => {
      const inner = node.getBoundingClientRect();
      const outer = node.closest('.transcript').getBoundingClientRect();
      return inner.top >= outer.top && inner.bottom <= outer.bottom;
    }),
  );

/** Scrolls to the end of the transcript. */
const atEnd = (d) =>
  d.panel
    .locator('.transcript')
    // Unfolded entries keep their position, so the end may be too far down to be drawn.
    .evaluate((transcript) => transcript.scrollTo(0, transcript.scrollHeight));

/** Takes pictures of the whole window in every theme. The editor's own elements are not checked. */
const window = (d, view) => pictured(d, (theme) => d.shot(`${view}-${theme}`));

async function empty(d) {
  await d.play({ text: 'Hello.' });
  await looks(d, 'empty');
}

/**
 * Checks the panel while no provider is set up: the empty state, the error of a prompt, and the
 * list of providers.
 */
async function nothingSetUp(d) {
  await d.play({ text: 'Scripted.' });
  await d.configure('agentLsp.server.env', { AGENT_LSP_SCRIPT: '', AGENT_LSP_KEYRING: 'file' });
  await d.configure('agentLsp.provider', { probe: false });
  await d.restartDaemon();
  await d.newSession();
  await d.panel.locator('.welcome', { hasText: 'No model provider is set up' }).waitFor();
  await looks(d, 'setup');
  await d.prompt('hello');
  await d.panel.locator('.problem', { hasText: 'No model provider is configured.' }).waitFor();
  await looks(d, 'setup-error');
  await pictured(d, async (theme) => {
    await d.agent('Choose a Provider');
    await d.page.locator('.quick-input-list .monaco-list-row').first().waitFor();
    await d.shot(`setup-providers-${theme}`);
    await d.page.keyboard.press('Escape');
  });
  await d.input.fill('');
  for (const name of ['server.env', 'provider']) await d.configure(`agentLsp.${name}`, null);
}

/**
 * Checks five pending changes in four files from one reply. One change is then edited, one is
 * rejected with a comment, and the others are accepted.
 */
async function filesReviewed(d) {
  const file = await openCalc(d);
  const texts = {
    'lib/greet.js': 'export function greet(name) {\n  return "Helo " + name;\n}\n',
    'lib/send-reminders-to-customers.js': 'export const subject = "Helo again";\n',
    'notes.md': '# Notes\n\nThe program says "Helo" to everybody.\n',
  };
  const names = Object.keys(texts);
  for (const name of names) d.write(name, texts[name]);
  const toolCalls = [
    edits(file, ['a - b', 'a + b'], ['return 1', 'return 0']),
    ...names.map((name) => edit(d.at(name), 'Helo', 'Hello')),
  ]
    .flatMap((reply) => reply.toolCalls)
    .sort((a, b) => b.name.localeCompare(a.name)); // a read after an edit waits for the decision
  await d.play(
    { text: 'Two functions have a bug, and three files have a typo.', toolCalls },
    { text: 'I made four changes and left `zero` as it was.' },
    { toolCalls },
    { text: 'Everything is fixed.' },
  );
  await d.prompt('fix the bugs and the typos');
  await pendingHunks(d, 5);
  await d.panel.locator('.changes', { hasText: '5 changes in 4 files' }).waitFor();
  await looks(d, 'review-files', async (theme) => {
    const cut = await d
      .entry('toolCall', 'notes.md')
      .locator('.tool-title .path > *')
      .evaluateAll((all) => all.filter((node) => node.scrollWidth > node.clientWidth).length);
    assert.equal(cut, 0, `a short name is shown with its folder, ${theme}`);
  });
  await window(d, 'review-window');
  await d.focusEditor();
  await d.goto(10);
  await d.agent('Comment on Change');
  await d.answer('zero must stay as it is');
  await d.agent('Reject Change');
  await pendingHunks(d, 4);
  await d.agent('Accept All Changes');
  await d.entry('assistantMessage', 'I made four changes').waitFor();
  await d.idle();
  await d.panel.locator('.changes', { hasText: '4 files changed' }).waitFor();
  await looks(d, 'reviewed');
  await window(d, 'reviewed-window');
  await d.click(d.panel.locator('.changes').getByRole('button', { name: 'Undo all' }));
  const undone = d.entry('restore', '4 files restored').getByRole('button', { name: 'Undo' });
  await inView(undone);
  await applied(d);
  await undone.scrollIntoViewIfNeeded();
  await looks(d, 'reviewed-undone', async (theme) => {
    await atEnd(d);
    await editors(d, theme);
    await undone.scrollIntoViewIfNeeded();
  });
  await d.agent('Reject All Changes');
  await d.page.locator('.statusbar-item', { hasText: 'to review' }).waitFor({ state: 'hidden' });
  await d.openFile('calc.js');
  await d.bufferHas('return a - b;');
  await d.bufferHas('return 1;');
  await until('all files are as before', async () => {
    await d.command('workbench.action.files.saveAll');
    return d.read('calc.js') === calc && names.every((name) => d.read(name) === texts[name]);
  });
}

/**
 * Checks changes that have been applied but are still pending. They are shown in the file, in its
 * diff and in the review of all files, each in its own tab.
 */
async function applied(d) {
  await editPolicy(d, 'review after');
  await d.prompt('please make all the changes');
  await d.entry('assistantMessage', 'Everything is fixed').waitFor();
  await d.openFile('calc.js');
  await d.bufferHas('return a + b;');
  await lens(d, 'Keep').first().waitFor();
  await until('a closed file is changed on disk', () => d.read('lib/greet.js').includes('"Hello '));
  // The editor would ask before it closes a dirty file.
  await d.command('workbench.action.files.saveAll');
  await d.command('workbench.action.closeOtherEditors');
  await d.command('workbench.action.keepEditor');
  await d.agent('Show Proposed Change as Diff');
  await d.page
    .locator('.monaco-diff-editor .modified .view-line', { hasText: 'return a + b;' })
    .waitFor();
  await d.command('workbench.action.keepEditor');
  await d.agent('Review Pending Changes');
  await d.page
    .locator('.multiDiffEntry .modified .view-line', { hasText: 'Hello' })
    .first()
    .waitFor();
}

/** Checks that the marks of the changes are visible in each of the three tabs. */
async function editors(d, theme) {
  const tabs = [
    ['applied', '.editor-instance .view-overlays .cdr'],
    ['diff', '.monaco-diff-editor .modified .char-insert'],
    ['multi', '.multiDiffEntry .modified .char-insert'],
  ];
  for (const [index, [name, marks]] of tabs.entries()) {
    await d.command('workbench.action.openEditorAtIndex', index);
    await until(`tab ${index} of 3 is active`, async () => {
      const active = await d.page
        .locator('.tabs-container .tab')
        .evaluateAll((all) => all.map((tab) => tab.classList.contains('active')));
      return active.length === tabs.length && active.indexOf(true) === index;
    });
    await seen(d, marks, `${name}-${theme}`);
  }
}

/**
 * Checks the card of a rejected edit. In a narrow panel, the file's name gets the room of the word
 * "rejected", because the comment below the changes repeats it.
 */
async function editRejected(d) {
  const name = 'send-page.js';
  d.write(name, 'export const page = "Helo";\n');
  await d.openFile(name);
  await d.play(edit(d.at(name), 'Helo', 'Hello'), { text: 'It stays as it is.' });
  await d.prompt('fix the typo');
  await lens(d, 'Accept').first().waitFor();
  await d.focusEditor();
  await d.goto(1);
  await d.agent('Comment on Change');
  await d.answer('Helo is a name');
  await d.agent('Reject Change');
  const card = d.entry('toolCall', 'Rejected: Helo is a name');
  await card.waitFor();
  await d.idle();
  await looks(d, 'rejected', async (theme) => {
    const file = card.locator('.tool-title .path > :last-child');
    assert.equal(await file.textContent(), name);
    const cut = await file.evaluate((node) => node.scrollWidth > node.clientWidth);
    assert.equal(cut, false, `the name of the file is whole, ${theme}`);
  });
}

/** Checks the panel while a thought and an answer are streaming. */
async function streaming(d) {
  const thought = 'The sign in `add` is the wrong one: it takes away.\n'.repeat(3);
  await d.play({
    reasoning: thought,
    ...talk('I look at **add** first.\n\n- it takes two numbers\n- it should add them\n\n'),
  });
  await d.prompt('what does add do?');
  await d.entry('assistantMessage', 'word').waitFor();
  await looks(d, 'streaming-folded');
  const shown = d.entry('reasoning').locator('.thought');
  assert.equal(await shown.isVisible(), false, 'a thought is folded until it is opened');
  await d.click(d.entry('reasoning').locator('summary'));
  await shown.filter({ hasText: 'The sign in add is the wrong one' }).waitFor();
  assert.deepEqual(await shown.locator('code').allTextContents(), ['add', 'add', 'add']);
  await looks(d, 'streaming-unfolded');
  await d.click(d.panel.locator('.composer .stop'));
  await d.idle();
  await atEnd(d);
  await d.entry('turn', 'Stopped').waitFor();
}

/**
 * Checks tool calls in every state, one of them with live output, together with a job and a plan.
 * The end of the transcript stays in view while the transcript grows.
 */
async function toolCalls(d) {
  const file = await openCalc(d);
  const go = path.join(d.workspace, `.go-${Date.now()}`);
  const wait = `while [ ! -f '${go}' ]; do sleep 0.05; done`;
  await d.play(
    {
      text: 'Let me see.',
      toolCalls: [
        ...call('read', { path: file }).toolCalls,
        ...call('read', { path: d.at('a/rather/long/way/down/to/nothing-with-a-long-name.js') })
          .toolCalls,
        ...call('grep', { pattern: 'return' }).toolCalls,
      ],
    },
    call('plan', {
      entries: [
        { content: 'Read what is there', status: 'completed' },
        { content: 'Fix `add`, which subtracts instead of adding', status: 'inProgress' },
        { content: 'Check', status: 'pending' },
      ],
    }),
    call('bash', { command: wait, background: true }),
    bash(
      `printf 'ok   1 - two words\\nok   2 - more words\\n# a line that is a good deal longer than the panel is wide, to see how it is broken\\n'; ${wait}`,
    ),
    { text: 'Over.' },
  );
  await trust(d);
  await d.prompt('run the tests');
  await d.entry('toolCall', 'Search for "return"').waitFor();
  await d.entry('toolCall').last().locator('.output', { hasText: 'more words' }).waitFor();
  await until('the end is in view', () =>
    d.panel
      .locator('.transcript')
      .evaluate(
        ({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight < 2,
      ),
  );
  await d.panel.locator('.plan-list code', { hasText: /^add$/ }).waitFor();
  await looks(d, 'tools');
  await d.click(d.entry('toolCall').first().locator('summary'));
  await looks(d, 'tools-unfolded');
  fs.writeFileSync(go, '');
  await d.idle();
}

/** Checks a permission question with a queue behind it. */
async function permission(d) {
  await d.play(
    bash('npm test -- --reporter=spec --grep "every space becomes a dash" && touch it-was-run'),
    { text: 'Over.' },
    { text: 'Over.' },
  );
  await d.prompt('run the tests');
  await d.panel.locator('.ask').waitFor();
  await d.prompt('then write the notes for the release, with a word on every change', 'Alt+Enter');
  await d.panel.locator('.queue li').waitFor();
  await looks(d, 'permission-queue', async () => {
    const lines = await d.panel.locator('.ask .command').evaluate((pre) => {
      const texts = document.createTreeWalker(pre, NodeFilter.SHOW_TEXT);
      while (!texts.currentNode.data?.includes('--grep')) texts.nextNode();
      const range = document.createRange();
      const at = texts.currentNode.data.indexOf('--grep');
      range.setStart(texts.currentNode, at);
      range.setEnd(texts.currentNode, at + '--grep'.length);
      return range.getClientRects().length;
    });
    assert.equal(lines, 1, 'an option is in one line');
  });
  await d.click(
    d.panel.locator('.ask').getByRole('button', { name: 'Reject', exact: true }).first(),
  );
  await d.idle();
}

/** Checks the question about an edit of a file that could start programs. It shows the diff. */
async function permissionForEdit(d) {
  const task = (name, command) =>
    `    { "label": "${name}", "type": "shell", "command": "${command}" }`;
  const tasks = 'build check clean docs format install lint pack run serve test watch'.split(' ');
  const text = tasks.map((name) => task(name, `npm run ${name}`)).join(',\n');
  d.write('.vscode/tasks.json', `{\n  "tasks": [\n${text}\n  ]\n}\n`);
  await d.play(
    edits(
      d.at('.vscode/tasks.json'),
      ['npm run build', 'npm run build -- --all --with-source-maps'],
      ['npm run test', 'npm test'],
    ),
    { text: 'Over.' },
  );
  await d.prompt('shorten the tasks');
  const ask = d.panel.locator('.ask');
  const diff = ask.locator('.diff');
  await diff.locator('.added', { hasText: 'npm test' }).waitFor();
  await diff.locator('.removed', { hasText: 'npm run test' }).waitFor();
  assert.deepEqual(await diff.locator('.gap').allTextContents(), ['Line 1', 'Line 10']);
  await looks(d, 'permission-edit');
  await d.click(ask.locator('.decisions').getByRole('button', { name: 'Reject' }));
  await d.entry('toolCall', 'rejected').waitFor();
  await d.idle();
}

async function questions(d) {
  const options = [
    { label: 'Red', description: 'like a fire engine' },
    { label: 'Blue', description: 'like the sky on a day without clouds, over the sea' },
    { label: 'A color whose name is long enough to need a second line in a narrow panel' },
  ];
  await d.play(
    call('ask_user', { question: 'Which color?', options }),
    call('ask_user', {
      question: 'Which of these colors may be used as well?',
      multi: true,
      options,
    }),
    { text: 'Thank you.' },
  );
  await d.prompt('paint it');
  const ask = (text) => d.panel.locator('.ask', { hasText: text });
  await ask('Which color?').waitFor();
  await d.entry('toolCall', 'needs answer').waitFor();
  await looks(d, 'question');
  await d.click(ask('Which color?').getByRole('button', { name: 'Blue' }));
  await ask('as well').waitFor();
  await d.click(ask('as well').getByRole('checkbox', { name: 'Red' }));
  await looks(d, 'question-multi');
  await d.click(ask('as well').getByRole('button', { name: 'Decline' }));
  await d.idle();
}

async function planApproval(d) {
  await d.play(
    call('present_plan', {
      plan: '## Fix add\n\n1. Read `calc.js`\n2. Fix `add`: it subtracts instead of adding\n3. Run the tests\n\nNothing else is changed.',
    }),
    { text: 'Very well.' },
  );
  await d.click(d.panel.getByRole('button', { name: /^Mode:/ }));
  await d.choose('plan');
  await d.prompt('plan it');
  await d.panel.locator('.ask', { hasText: 'Fix' }).waitFor();
  await looks(d, 'plan-approval');
  await d.click(
    d.panel
      .locator('.ask')
      .getByRole('button', { name: /^Reject/ })
      .first(),
  );
  await d.idle();
}

async function subAgents(d) {
  await d.play(
    call('agent', { agent: 'general', task: 'look around in the project and tell what is there' }),
    { text: 'I begin with the list.', ...call('ls', { path: '.' }) },
    talk('Walking. '),
    { text: 'Without it, then.' },
  );
  await d.prompt('send a helper');
  await d
    .entry('toolCall')
    .first()
    .locator('.tool-body .assistantMessage', { hasText: 'Walking' })
    .waitFor();
  await looks(d, 'sub-agent');
  await d.click(
    d.entry('toolCall').first().locator('.tool-buttons').getByRole('button', { name: 'Stop' }),
  );
  await d.idle();
}

/**
 * Checks how problems are shown: an error with a button, a pending retry, and a daemon that is not
 * running.
 */
async function errors(d) {
  await d.play(
    {
      error: {
        status: 401,
        message: 'Incorrect API key provided: it has no more than a few letters',
      },
    },
    { error: { status: 503, message: 'too busy', retryAfter: 120 } },
  );
  await d.prompt('try');
  await d.entry('turn', 'Set API Key').waitFor();
  await d.idle();
  await d.prompt('try again');
  await d.entry('retry').waitFor();
  await looks(d, 'errors');
  await d.click(d.panel.locator('.composer .stop'));
  await d.idle();
  await d.configure('agentLsp.server.path', '/nowhere/agent-lsp');
  await d.command('agentLsp.restartServer').catch(() => {});
  await d.panel.locator('.problem', { hasText: 'not an executable file' }).waitFor();
  await looks(d, 'no-daemon');
  await d.configure('agentLsp.server.path', null);
}

/**
 * Checks a conversation with every kind of content, its checkpoint, the gauge, the menu of
 * mentions, and attachments.
 */
async function conversation(d) {
  // These are more files than the menu shows.
  for (let i = 0; i < 12; i++) d.write(`more/calc-${i}.js`, `// ${i}\n`);
  const file = await openCalc(d);
  const markdown =
    'It is **fixed** in `calc.js`:\n\n1. read it\n2. fixed it\n\n> as you said\n\n| file | change | why it was changed |\n|---|---|---|\n| calc.js | one | it took away |\n\n```js\nfunction add(a, b) { return a + b; } // a line that is longer than a narrow panel\n```\n\nSee [the page](https://example.invalid/) and ' +
    `[the file](${file}:2).`;
  await d.play(edit(file, 'a - b', 'a + b'), {
    text: markdown,
    usage: { prompt_tokens: 61_000, completion_tokens: 900, total_tokens: 61_900 },
  });
  await d.prompt('fix add, please');
  await d.click(d.panel.locator('.row.review').getByRole('button', { name: 'Accept file' }));
  await d.entry('assistantMessage', 'fixed').waitFor();
  await d.entry('userMessage').getByRole('button', { name: 'Restore' }).waitFor();
  await panelWidth(d, widths.narrow);
  const share = d.panel.locator('.gauge .share', { hasText: /^Context +62 %$/ });
  const tools = d.panel.locator('.composer .tools');
  await until('the share of the context is in view, by its name', async () => {
    const [inner, outer] = [await share.boundingBox(), await tools.boundingBox()];
    return inner.y + inner.height <= outer.y + outer.height + 1;
  });
  await looks(d, 'conversation');
  await d.input.fill('@cal');
  await d.panel.locator('.menu .option', { hasText: 'calc.js' }).first().waitFor();
  await looks(d, 'mentions');
  await d.input.press('Enter');
  await d.panel.locator('.chip').waitFor();
  await looks(d, 'chips');
  await d.input.fill('');
  await d.click(d.entry('userMessage').getByRole('button', { name: 'Edit and resend' }));
  await d.panel.locator('textarea.edit').waitFor();
  await looks(d, 'edit-resend');
  await d.click(d.panel.getByRole('button', { name: 'Cancel' }));
  await restore(d);
  await inView(d.entry('restore', 'restored').getByRole('button', { name: 'Undo' }));
  await looks(d, 'restored');
  await window(d, 'restored');
}

/**
 * Takes pictures of the elements that VS Code draws for the extension: a hunk with a comment, the
 * quick picks, and the walkthrough.
 */
async function editorsOwn(d) {
  const file = await openCalc(d);
  await panelWidth(d, 300);
  await d.play(edits(file, ['a - b', 'a + b'], ['return 1', 'return 0']), { text: 'Over.' });
  await d.prompt('fix both');
  await lens(d, '1 of 2').waitFor();
  await d.focusEditor();
  await d.goto(2);
  await d.agent('Comment on Change');
  await d.answer('name the arguments too, please');
  await d.page.locator('.review-comment', { hasText: 'name the arguments' }).waitFor();
  await inThemes(d, async (theme) => {
    // VS Code redraws the comment in the new theme.
    await d.page.locator('.review-comment', { hasText: 'name the arguments' }).waitFor();
    await d.shot(`hunks-${theme}`);
  });
  await d.agent('Reject All Changes');
  await d.idle();
  await lens(d, 'Accept').first().waitFor({ state: 'hidden' });
  for (const [title, view] of [
    ['Sessions', 'sessions'],
    ['Choose Model', 'model'],
    ['Choose Mode', 'mode'],
    ['Choose Edit Policy', 'edits'],
    ['Choose Command Permissions', 'commands'],
  ]) {
    await pictured(d, async (theme) => {
      await d.agent(title);
      await d.page.locator('.quick-input-list .monaco-list-row').first().waitFor();
      await d.shot(`${view}-${theme}`);
      await d.page.keyboard.press('Escape');
    });
  }
  await d.agent('First Steps');
  await d.page.locator('.getting-started-step').first().waitFor();
  await window(d, 'walkthrough');
}

/**
 * Checks that the pickers take one line of a narrow panel and show words. The model is shown
 * without the word "Model". Only the long name of a model is shortened.
 */
async function pickersInOneLine(d) {
  await d.play({ text: 'Over.' });
  const bottom = d.panel.locator('.foot .picker');
  const look = () =>
    bottom.evaluateAll((all) =>
      all.map((b) => ({
        text: b.textContent,
        key: b.querySelector('.key').getBoundingClientRect().width > 1,
        top: b.offsetTop,
        width: b.clientWidth,
        cut: b.scrollWidth > b.clientWidth,
      })),
    );
  const choose = async (model) => {
    await d.click(bottom.first());
    await d.choose('Another model…');
    await d.answer(model);
    await onlyThisSession(d);
    await bottom.filter({ hasText: model.split('/').pop() }).waitFor();
  };
  const oneLine = async (what) => {
    const [model, edits, commands] = await look();
    assert.deepEqual([edits.top, commands.top], [model.top, model.top], `one line, ${what}`);
    assert.deepEqual([edits.cut, commands.cut], [false, false], `no word is cut, ${what}`);
    return { model, edits, commands };
  };
  const picture = (name) => d.shot(`pickers-300-${name}`, d.page.locator('.part.auxiliarybar'));
  await panelWidth(d, widths.first);
  await bottom.filter({ hasText: 'Model: default' }).waitFor();
  assert.equal((await oneLine('at first')).model.cut, false);
  await choose('vendor/gpt-oss-120b');
  for (const width of [widths.first, widths.narrow]) {
    await panelWidth(d, width);
    const { model, edits, commands } = await oneLine(`${width} px`);
    assert.deepEqual([model.key, edits.key, commands.key], [false, true, true], 'its words');
    assert.deepEqual([edits.text, commands.text], ['Edits: ask first', 'Commands: ask']);
    assert.equal(model.cut, false);
  }
  const named = d.panel.getByRole('button', { name: 'Model: gpt-oss-120b' });
  assert.equal(await named.getAttribute('title'), 'Model: vendor/gpt-oss-120b');
  await picture('short');
  await trust(d);
  const trusted = await oneLine('commands are trusted');
  assert.equal(trusted.commands.text, 'Commands: trusted');
  await picture('trust');
  await choose('a-model-with-a-rather-long-name-2026');
  const long = await oneLine('a long name');
  const names = () => d.panel.getByRole('button', { name: 'Model: a-model-with-a' });
  assert.equal(await names().getAttribute('title'), 'Model: a-model-with-a-rather-long-name-2026');
  assert.ok(long.model.cut && long.model.width > 60, `${long.model.width} px show its beginning`);
  await picture('long');
  await editPolicy(d, 'review after');
  await d.click(d.panel.locator('.picker', { hasText: 'Commands' }));
  await d.choose('sandboxed');
  await onlyThisSession(d);
  await bottom.filter({ hasText: 'sandboxed' }).waitFor();
  const longest = await oneLine('the longest words');
  assert.ok(longest.model.width > 40, `${longest.model.width} px show its beginning`);
  await picture('longest');
  await d.click(d.panel.locator('.composer .picker', { hasText: 'Mode: default' }));
  await d.choose('plan');
  await d.panel.locator('.composer .picker', { hasText: 'Mode: plan' }).waitFor();
}

export const looksSteps = [
  ['the pickers on one line', pickersInOneLine],
  ['looks: empty', empty],
  ['looks: nothing set up', nothingSetUp],
  ['looks: four files', filesReviewed],
  ['looks: a rejected edit', editRejected],
  ['looks: streaming', streaming],
  ['looks: tools', toolCalls],
  ['looks: permission and queue', permission],
  ['looks: permission for an edit', permissionForEdit],
  ['looks: questions', questions],
  ['looks: plan', planApproval],
  ['looks: sub-agents', subAgents],
  ['looks: errors', errors],
  ['looks: conversation', conversation],
  ['looks: parts drawn by the editor', editorsOwn],
];

// Tests the conversation in the panel.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { until } from '../workbench.mjs';
import { bash, calc, call, edit, edits, openCalc, restore, review, talk } from './model.mjs';

async function permissionSteerQueue(d) {
  await d.play(
    { text: 'I run it.', ...bash('touch made-by-agent') },
    {
      expect: { lastTool: 'use the other name' },
      ...bash('touch other-name && sleep 0.2 && echo was-run'),
    },
    { text: 'First turn over.' },
    { expect: { lastUser: 'and then this, edited' }, text: 'Second turn over.' },
  );
  await d.prompt('run it');
  const ask = d.panel.locator('.ask');
  await ask.locator('.command', { hasText: 'touch made-by-agent' }).waitFor();
  await ask.locator('.reason', { hasText: /\w/ }).waitFor();
  await d.shot('permission-light');
  await d.panel.locator('header .state.awaiting').waitFor();
  await d.prompt('use the other name');
  await d.click(d.panel.locator('.confirm').getByRole('button', { name: 'Steer' }));
  await ask.locator('.command', { hasText: 'touch other-name' }).waitFor();
  await d.entry('userMessage', 'use the other name').waitFor();
  assert.equal(
    fs.existsSync(path.join(d.workspace, 'made-by-agent')),
    false,
    'a steer denies what waits',
  );
  await d.prompt('and then this', 'Alt+Enter');
  const queued = d.panel.locator('.queue li', { hasText: 'and then this' });
  await d.click(queued.getByRole('button', { name: 'Edit' }));
  await queued.waitFor({ state: 'hidden' });
  await until('the input holds it', async () =>
    (await d.input.inputValue()).includes('and then this'),
  );
  await d.prompt('and then this, edited', 'Alt+Enter');
  await d.panel.locator('.queue li', { hasText: 'edited' }).waitFor();
  await d.click(ask.getByRole('button', { name: /^Allow/ }).first());
  await d.entry('assistantMessage', 'First turn over').waitFor();
  await d.entry('assistantMessage', 'Second turn over').waitFor();
  const tool = d.entry('toolCall').last();
  await d.click(tool.locator('summary'));
  await tool.locator('.output', { hasText: 'was-run' }).waitFor();
  await tool.locator('.status', { hasText: /^[\d.]+ s$/ }).waitFor();
  await d.idle();
}

/**
 * Checks that text is an answer only if the complete text is one of the answers and the user
 * presses Enter. For any other text, the panel asks what the text is for.
 */
async function typedAnswers(d) {
  const refused = { expect: { lastTool: 'not that one' } };
  await d.play(
    bash('touch typed-1'),
    bash('touch typed-yes'),
    bash('touch typed-n'),
    bash('touch typed-words'),
    { ...refused, text: 'Understood.' },
  );
  const asked = (name) => d.panel.locator('.ask .command', { hasText: `typed-${name}` }).waitFor();
  const made = (name) => fs.existsSync(path.join(d.workspace, `typed-${name}`));
  const confirm = d.panel.locator('.confirm');
  await d.prompt('run them');
  await asked('1');
  assert.match(
    await d.input.getAttribute('placeholder'),
    /^Answer with 1, 2, y\sor\sn, or write a/,
  );
  await d.showPanel();
  await d.page.keyboard.type('1');
  assert.equal(made('1'), false, 'nothing is decided while typing');
  await d.page.keyboard.press('Enter');
  await asked('yes');
  assert.equal(made('1'), true);
  await d.page.keyboard.type('yes');
  await d.page.keyboard.press('Enter');
  await asked('n');
  assert.equal(made('yes'), true);
  await d.page.keyboard.type('n');
  await d.page.keyboard.press('Enter');
  await asked('words');
  assert.equal(made('n'), false);
  await d.page.keyboard.type('not that one');
  await d.page.keyboard.press('Enter');
  await confirm.waitFor();
  await d.shot('confirm-light');
  await d.page.keyboard.press('Enter'); // the focus is on the answer that changes nothing
  await confirm.waitFor({ state: 'detached' });
  await d.inputFocused();
  assert.equal(await d.input.inputValue(), 'not that one');
  await asked('words');
  await d.page.keyboard.press('Enter');
  await d.click(confirm.getByRole('button', { name: 'Reject with this comment' }));
  await d.entry('assistantMessage', 'Understood').waitFor();
  assert.equal(await d.input.inputValue(), '');
  assert.equal(made('words'), false);
  await d.idle();
}

/**
 * Checks that the panel shows the complete command exactly once. It also shows the rule that a
 * permanent answer would store.
 */
async function permissionInFull(d) {
  await openCalc(d);
  const last = 'and-the-end-of-it';
  const command = `touch ${Array.from({ length: 24 }, (_, i) => `a-rather-long-name-${i}`).join(' ')} ${last}`;
  await d.play(bash(command), { text: 'Over.' });
  await d.prompt('run it');
  const ask = d.panel.locator('.ask');
  await ask.locator('.command', { hasText: last }).waitFor();
  assert.equal(
    await ask
      .locator('.command')
      .evaluate(
        (pre) => pre.scrollHeight <= pre.clientHeight + 1 && pre.scrollWidth <= pre.clientWidth + 1,
      ),
    true,
    'nothing of the command is cut',
  );
  assert.equal(
    (await ask.locator('> :not(details)').allTextContents()).filter((text) => text.includes(last))
      .length,
    1,
    'the command is shown once',
  );
  assert.deepEqual(
    await ask
      .locator('.decisions button')
      .evaluateAll((all) => all.map((b) => b.firstChild.textContent)),
    ['Allow once', 'Reject'],
  );
  const unsaved = ask.locator('.unsaved');
  assert.equal(await unsaved.isVisible(), false, 'every file is saved');
  await d.typeAt(1, '// mine\n');
  await unsaved.filter({ hasText: `Saves 1 file: ${d.at('calc.js')}` }).waitFor();
  await d.shot('permission-long');
  await d.click(ask.locator('summary'));
  const rules = ask.locator('.pattern');
  await rules.first().waitFor();
  assert.deepEqual(
    [...new Set(await rules.allTextContents())],
    ['bash(touch *)', `bash(=${command})`],
    'each permanent answer shows the rule that it stores',
  );
  for (const cut of await rules.evaluateAll((all) =>
    all.map((code) => code.scrollWidth > code.clientWidth + 1),
  ))
    assert.equal(cut, false);
  await d.shot('permission-menu');
  await d.click(ask.locator('.decisions').getByRole('button', { name: 'Reject' }));
  await d.entry('assistantMessage', 'Over').waitFor();
  await d.idle();
}

/**
 * Checks that the panel asks before a stop discards changes. Escape in the input never stops the
 * turn.
 */
async function stopWithPending(d) {
  const file = await openCalc(d);
  await d.play(edits(file, ['a - b', 'a + b'], ['return 1', 'return 0']), { text: 'Over.' });
  await d.prompt('fix both');
  await review(d).waitFor();
  await d.panel.locator('header .state.awaiting').waitFor();
  const confirm = d.panel.locator('.confirm');
  const stop = d.panel.locator('.composer .stop');
  await d.input.press('Escape');
  await until('Escape leaves the input', () =>
    d.panel.locator('.transcript').evaluate((t) => t === document.activeElement),
  );
  assert.equal(await confirm.count(), 0);
  await d.click(stop);
  await confirm.getByRole('button', { name: 'Stop and discard 2 changes' }).waitFor();
  await d.click(confirm.getByRole('button', { name: 'Keep reviewing' }));
  await confirm.waitFor({ state: 'detached' });
  await review(d).waitFor();
  await d.agent('Stop the Turn');
  await confirm.waitFor();
  assert.equal(await d.entry('turn', 'Stopped').count(), 0, 'nothing is sent before the answer');
  await d.click(confirm.getByRole('button', { name: 'Stop and discard 2 changes' }));
  await d.entry('turn', 'Stopped').waitFor();
  await d.idle();
  assert.equal(d.read('calc.js'), calc);
}

async function abort(d) {
  await d.play(talk(''), { text: 'Going on.' }, talk('Once more. '), { text: 'Over.' });
  await d.prompt('talk');
  await d.entry('assistantMessage', 'word').waitFor();
  await d.panel.locator('header .state.running').waitFor();
  await d.input.press('Escape');
  await until('Escape leaves the input', () =>
    d.panel.locator('.transcript').evaluate((t) => t === document.activeElement),
  );
  await d.panel.locator('header .state.running').waitFor();
  await d.click(d.panel.locator('.composer .stop'));
  await d.entry('turn', 'Stopped').waitFor();
  await d.idle();
  await d.click(d.entry('turn', 'Stopped').getByRole('button', { name: 'Continue' }));
  await d.entry('assistantMessage', 'Going on').waitFor();
  await d.idle();
  await d.prompt('talk again');
  await d.entry('assistantMessage', 'Once more').waitFor();
  await d.agent('Queue a Prompt');
  await d.answer('afterwards');
  const queued = d.panel.locator('.queue li', { hasText: 'afterwards' });
  await d.click(queued.getByRole('button', { name: 'Remove' }));
  await queued.waitFor({ state: 'detached' });
  const stops = d.page.locator('.statusbar-item-label[aria-label*="click to stop"]');
  await d.clickUntil(stops, async () => (await d.entry('turn', 'Stopped').count()) === 2);
  await d.idle();
  await stops.waitFor({ state: 'detached' });
}

async function questionAndPlan(d) {
  await d.play(
    call('plan', {
      entries: [
        { content: 'Ask', status: 'completed' },
        { content: 'Do it', status: 'inProgress' },
      ],
    }),
    call('ask_user', { question: 'Which color?', options: [{ label: 'Red' }, { label: 'Blue' }] }),
    { expect: { lastTool: 'Blue' }, ...call('ask_user', { question: 'How dark?' }) },
    { expect: { lastTool: 'like the night' }, text: 'Blue it is.' },
  );
  await d.prompt('paint it');
  await d.panel.locator('.plan-list .inProgress', { hasText: 'Do it' }).waitFor();
  await d.panel.locator('.ask', { hasText: 'Which color?' }).waitFor();
  await d.shot('question-light');
  await d.click(
    d.panel.locator('.ask', { hasText: 'Which color?' }).getByRole('button', { name: 'Blue' }),
  );
  const own = d.panel.locator('.ask', { hasText: 'How dark?' }).getByRole('textbox');
  await own.fill('like the night');
  await own.press('Enter');
  await d.entry('assistantMessage', 'Blue it is').waitFor();
  await d.panel.locator('.ask').waitFor({ state: 'hidden' });
}

async function planMode(d) {
  const file = await openCalc(d);
  await d.play(call('present_plan', { plan: '1. Fix `add`' }), edit(file, 'a - b', 'a + b'), {
    text: 'The plan is carried out.',
  });
  await d.click(d.panel.getByRole('button', { name: /^Mode:/ }));
  await d.choose('plan');
  await d.panel.locator('.picker', { hasText: 'plan' }).waitFor();
  await d.prompt('plan it');
  const ask = d.panel.locator('.ask', { hasText: 'Fix' });
  await ask.waitFor();
  await d.shot('plan-light');
  await d.click(ask.getByRole('button', { name: /^(Allow|Approve|Accept)/ }).first());
  await d.click(review(d).getByRole('button', { name: 'Accept file' }));
  await d.entry('assistantMessage', 'The plan is carried out').waitFor();
  await d.bufferHas('return a + b;');
}

async function restoreAndRedo(d) {
  const file = await openCalc(d);
  await d.play(edit(file, 'a - b', 'a + b'), { text: 'Fixed.' });
  await d.prompt('fix add');
  await d.click(review(d).getByRole('button', { name: 'Accept file' }));
  await d.entry('assistantMessage', 'Fixed').waitFor();
  await d.idle();
  await d.click(d.entry('userMessage', 'fix add').getByRole('button', { name: 'Changes since' }));
  await d.bufferHas('+  return a + b;');
  await d.bufferHas('-  return a - b;');
  await d.shot('changes-since');
  await d.openFile('calc.js');
  await restore(d, 'fix add');
  await d.bufferHas('return a - b;');
  await d.entry('restore', 'restored').waitFor();
  assert.equal(await d.page.locator('.notification-toast', { hasText: 'restored' }).count(), 0);
  const undo = (text) => d.entry('restore', text).getByRole('button', { name: 'Undo' });
  await d.shot('restored');
  await d.click(undo('1 file restored'));
  await d.bufferHas('return a + b;');
  await d.click(undo('1 file brought back'));
  await d.bufferHas('return a - b;');
  await until('each restore has its entry', async () => (await d.entry('restore').count()) === 3);
  await d.command('workbench.action.webview.reloadWebviewAction');
  await d.entry('assistantMessage', 'Fixed').waitFor();
  await until(
    'the entries are there after a reload of the panel',
    async () => (await d.entry('restore').count()) === 3,
  );
  await d.agent('Undo the Last Restore');
  await d.bufferHas('return a + b;');
}

/**
 * Checks that the conversation can be restored alone or together with the files. Each restore has
 * its own undo.
 */
async function restoreConversation(d) {
  const file = await openCalc(d);
  await d.play(
    { text: 'Good morning.' },
    edit(file, 'a - b', 'a + b'),
    { text: 'Fixed.' },
    { expect: { lastUser: '^once more', sent: 'hello', notSent: 'fix add' }, text: 'Begun again.' },
  );
  await d.prompt('hello');
  await d.entry('assistantMessage', 'Good morning').waitFor();
  await d.idle();
  await d.prompt('fix add');
  await d.click(review(d).getByRole('button', { name: 'Accept file' }));
  await d.entry('assistantMessage', 'Fixed').waitFor();
  await d.idle();
  const shown = (count) =>
    until(`the prompt is shown ${count} times`, async () => {
      const [hello, fix] = [d.entry('userMessage', 'hello'), d.entry('userMessage', 'fix add')];
      return (await hello.count()) === 1 && (await fix.count()) === count;
    });
  const undo = (text) => d.click(d.entry('restore', text).getByRole('button', { name: 'Undo' }));
  await restore(d, 'fix add', 'Files and conversation');
  await d.bufferHas('return a - b;');
  await shown(0);
  await d.entry('restore', '1 file and the conversation restored.').waitFor();
  await d.shot('restored-conversation');
  await undo('1 file and the conversation restored.');
  await d.bufferHas('return a + b;');
  await shown(1);
  await d.entry('restore', 'Restore undone: 1 file and the conversation').waitFor();
  await restore(d, 'fix add', 'Conversation');
  await shown(0);
  await d.entry('restore', /^\s*Conversation restored\./).waitFor();
  await d.bufferHas('return a + b;');
  await d.agent('Undo the Last Restore');
  await shown(1);
  await restore(d, 'fix add', 'Conversation');
  await shown(0);
  await d.prompt('once more');
  await d.entry('assistantMessage', 'Begun again').waitFor();
}

/**
 * Checks that a session that was restored to before its first prompt is listed, so that the restore
 * can be undone later.
 */
async function restoredToTheStart(d) {
  const file = await openCalc(d);
  await d.play(edit(file, 'a - b', 'a + b'), { text: 'Fixed.' });
  await d.prompt('put add right');
  await d.click(review(d).getByRole('button', { name: 'Accept file' }));
  await d.entry('assistantMessage', 'Fixed').waitFor();
  await d.idle();
  await restore(d, 'put add right', 'Files and conversation');
  await d.bufferHas('return a - b;');
  await d.newSession();
  await d.agent('Sessions');
  await d.shot('sessions-restored');
  await d.chooseLike('put add', 'put add right');
  const restored = d.entry('restore', '1 file and the conversation restored.');
  await d.click(restored.getByRole('button', { name: 'Undo' }));
  await d.entry('userMessage', 'put add right').waitFor();
  await d.bufferHas('return a + b;');
}

async function sessionsAndContext(d) {
  d.write('lookhere.js', 'function twice() {}\n');
  await d.play(
    { expect: { lastUser: '(?s)look at.*function twice' }, text: 'Seen.' },
    { text: 'Other session.' },
  );
  await d.input.fill('look at @lookhere');
  await d.panel
    .locator('.menu .option[aria-selected="true"]', { hasText: 'lookhere.js' })
    .waitFor();
  await d.input.press('Enter');
  await d.panel.locator('.chip', { hasText: 'lookhere.js' }).waitFor();
  await d.input.press('Enter');
  await d.entry('assistantMessage', 'Seen').waitFor();
  await d.newSession();
  await d.prompt('something else');
  await d.entry('assistantMessage', 'Other session').waitFor();
  await d.agent('Sessions');
  await d.page
    .locator('.quick-input-list .monaco-list-row', { hasText: 'something else' })
    .waitFor();
  await d.shot('sessions');
  await d.chooseLike('look at', 'look at');
  await d.entry('assistantMessage', 'Seen').waitFor();
  assert.equal(await d.entry('assistantMessage', 'Other session').count(), 0);
}

async function resendForkImage(d) {
  await d.play(
    { text: 'First.' },
    { expect: { lastUser: '^asked better' }, text: 'Better.' },
    { text: 'Second.' },
  );
  await d.prompt('asked badly');
  await d.entry('assistantMessage', 'First').waitFor();
  await d.idle();
  const asked = d.entry('userMessage', 'asked badly');
  await d.click(asked.getByRole('button', { name: 'Pin', exact: true }));
  await asked.locator('.who', { hasText: 'pinned' }).waitFor();
  await d.click(asked.getByRole('button', { name: 'Unpin' }));
  await asked.getByRole('button', { name: 'Pin', exact: true }).waitFor();
  await d.click(asked.getByRole('button', { name: 'Edit and resend' }));
  await d.panel.locator('textarea.edit').fill('asked better');
  await d.click(d.panel.getByRole('button', { name: 'Send from here' }));
  await d.entry('assistantMessage', 'Better').waitFor();
  assert.equal(await d.entry('assistantMessage', 'First').count(), 0);
  await d.idle();
  await d.input.evaluate((input) => {
    const png = Uint8Array.from(
      atob(
        'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      ),
      (c) => c.charCodeAt(0),
    );
    const data = new DataTransfer();
    data.items.add(new File([png], 'dot.png', { type: 'image/png' }));
    input.dispatchEvent(
      new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true }),
    );
  });
  await d.panel.locator('.chip', { hasText: 'dot.png' }).waitFor();
  await d.prompt('what is this?');
  await d.entry('userMessage', 'what is this?').locator('img.attached').waitFor();
  await d.entry('assistantMessage', 'Second').waitFor();
}

async function subAgent(d) {
  await d.play(
    call('agent', { agent: 'general', task: 'look around' }),
    { text: 'I looked around.' },
    { expect: { lastTool: 'I looked around' }, text: 'The helper is back.' },
  );
  await d.prompt('send a helper');
  await d.entry('assistantMessage', 'The helper is back').waitFor();
  const tool = d.entry('toolCall').first();
  await d.click(tool.locator('summary').first());
  await tool.locator('.tool-body .assistantMessage', { hasText: 'I looked around' }).waitFor();
}

async function hostileReply(d) {
  const hostile = [
    '<script>document.body.dataset.owned = 1</script><img src=x onerror="document.body.dataset.owned = 1"><svg onload="document.body.dataset.owned=1"></svg>',
    '[run](command:workbench.action.files.newUntitledFile) [script](javascript:document.body.dataset.owned=1) [file](vscode://x/y) ![i](https://example.invalid/track.png)',
    '<a href="command:workbench.action.files.newUntitledFile">raw</a> <form action="https://example.invalid"><button>go</button></form> <style>body{display:none}</style>',
    'x'.repeat(1_000_000),
  ].join('\n\n');
  await d.play({ text: hostile, chunks: 50 }, { text: 'Still **here**.' });
  await d.prompt('be evil');
  await d.entry('assistantMessage').locator('pre.huge').first().waitFor();
  await d.idle();
  const found = await d
    .entry('assistantMessage')
    .first()
    .evaluate((entry) => ({
      owned: document.body.dataset.owned,
      tags: [...entry.querySelectorAll('script,img,svg,form,style,iframe')].map((e) => e.tagName),
      links: [...entry.querySelectorAll('a')].map((a) => a.getAttribute('href')).filter(Boolean),
    }));
  assert.deepEqual(found, { owned: undefined, tags: [], links: [] });
  await d.prompt('again');
  await d.entry('assistantMessage').locator('strong', { hasText: 'here' }).waitFor();
  await d.shot('hostile-light');
}

/**
 * Measures the first paint, a long conversation and a long stream, and compares each with an empty
 * webview in the same run.
 */
async function figures(d) {
  await d.showPanel();
  await d.command('companion.emptyWebview');
  const pages = [d.panel, d.webview('agent-lsp.companion')].map((page) =>
    page.locator('body[data-first-paint]'),
  );
  for (const page of pages) await page.waitFor({ state: 'attached' });
  let found;
  let paints;
  // The load on the machine varies, so the measurement is repeated if it fails at first.
  await until('the figures hold', async () => {
    paints = await firstPaints(d, pages);
    found = await measured(pages[0]);
    return fastEnough(paints, found);
  });
  const show = (name, own, bare) =>
    `${name} ${own.toFixed(0)} ms (empty webview ${bare.toFixed(0)} ms)`;
  console.log(
    `          panel: ${[show('first paint', ...paints), show('2,000 items', found.items, found.emptyItems), show('10,000 deltas', found.deltas, found.emptyDeltas)].join('; ')}; boxes drawn of 2,000: ${found.drawn}`,
  );
  assert.ok(found.drawn > 0 && found.drawn < 200, 'a long conversation is virtualised');
}

/**
 * Reloads the panel and an empty webview, and returns the number of milliseconds until the first
 * paint of each.
 */
async function firstPaints(d, pages) {
  for (const page of pages) await page.evaluate((body) => delete body.dataset.firstPaint);
  await d.command('workbench.action.webview.reloadWebviewAction');
  return Promise.all(
    pages.map(async (page) => Number(await page.getAttribute('data-first-paint'))),
  );
}

async function measured(body) {
  await body.evaluate((body) => {
    delete body.dataset.figures;
    window.postMessage({ type: 'measure', items: 2000, deltas: 10_000 }, '*');
  });
  return JSON.parse(await until('figures', () => body.evaluate((body) => body.dataset.figures)));
}

/**
 * Reports whether the first paint, 2,000 items and 10,000 deltas are fast enough, compared with the
 * time that the browser itself needs.
 */
function fastEnough([panel, empty], { items, emptyItems, deltas, emptyDeltas }) {
  const slow = Object.entries({
    'first paint': panel / (5 * empty + 500),
    '2,000 items': items / (10 * emptyItems + 1000),
    '10,000 deltas': deltas / (40 * emptyDeltas + 5000),
  }).filter(([, share]) => share > 1);
  for (const [name, share] of slow)
    console.log(`          ${name}: ${share.toFixed(1)} times what it may be; measured again`);
  return slow.length === 0;
}

export const conversationSteps = [
  ['permission, steer, queue', permissionSteerQueue],
  ['answers typed in the input', typedAnswers],
  ['a permission in full', permissionInFull],
  ['a stop with pending changes', stopWithPending],
  ['abort and continue', abort],
  ['question and plan', questionAndPlan],
  ['plan mode', planMode],
  ['restore and redo', restoreAndRedo],
  ['restore the conversation', restoreConversation],
  ['a session restored to its start', restoredToTheStart],
  ['sessions and context', sessionsAndContext],
  ['edit and resend, image', resendForkImage],
  ['sub-agent', subAgent],
  ['hostile reply', hostileReply],
  ['figures', figures],
];

// Tests other features of the panel and the review.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { until } from '../workbench.mjs';
import {
  bash,
  call,
  edit,
  edits,
  lens,
  openCalc,
  pendingHunks,
  pendingView,
  talk,
  trust,
} from './model.mjs';
import { filesWith } from './setup.mjs';

/** Checks badges, the tree and changed words. The cursor stays where the user works. */
async function treeAndBadges(d) {
  const file = await openCalc(d);
  await d.play(edits(file, ['a - b', 'a + b'], ['return 1', 'return 0']), { text: 'Over.' });
  await d.focusEditor();
  await d.goto(6);
  await d.page.keyboard.press('Control+Alt+i');
  await d.answer('fix both');
  await lens(d, '1 of 2').waitFor();
  assert.equal(
    await d.page.evaluate(() => document.activeElement.closest('.editor-instance') !== null),
    true,
    'the editor keeps the focus',
  );
  assert.equal(
    await d.page.locator('.statusbar-item', { hasText: 'Ln 6, Col 1' }).count(),
    1,
    'the cursor stays',
  );
  const widths = () =>
    d.page
      .locator('.editor-instance .view-overlays .cdr')
      .evaluateAll((all) => all.map((e) => e.getBoundingClientRect().width));
  await until(
    'one word of each hunk is marked, not its line alone',
    async () => (await widths()).filter((width) => width > 4 && width < 16).length >= 2,
  );
  await d.run('File: Reveal Active File in Explorer View'); // the list draws only the visible rows
  await d.page
    .locator(`.explorer-folders-view [aria-label*="${d.at('calc.js')} • 2 pending changes"]`)
    .waitFor();
  if ((await pendingView(d).getAttribute('aria-expanded')) !== 'true') await pendingView(d).click();
  const tree = d.page.locator('.pane', { has: pendingView(d) }).locator('.monaco-list-row');
  await tree.filter({ hasText: 'calc.js' }).waitFor();
  const hunk = tree.filter({ hasText: 'return 0' });
  await d.clickUntil(
    hunk,
    async () => (await d.page.locator('.statusbar-item', { hasText: 'Ln 10,' }).count()) > 0,
  );
  const act = (row, name, done) =>
    d.clickUntil(row.locator(`.action-label[aria-label^="${name}"]`), done, row);
  await act(hunk, 'Accept Change', async () => (await d.buffer()).includes('return 0;'));
  await act(
    tree.filter({ hasText: 'return a + b' }),
    'Reject Change',
    async () => (await lens(d, 'Reject').count()) === 0,
  );
  await d.entry('assistantMessage', 'Over').waitFor();
  await pendingView(d).waitFor({ state: 'hidden' });
  await d.bufferHas('return a - b;');
}

/** Checks that saving and formatting by the editor decide no hunks. */
async function autosave(d) {
  const settings = {
    'files.autoSave': 'afterDelay',
    'files.autoSaveDelay': 100,
    'editor.formatOnSave': true,
  };
  for (const [key, value] of Object.entries(settings)) d.setting(key, value);
  await d.open();
  d.elsewhere = true; // the next step reloads the window without these settings
  const file = await openCalc(d);
  await d.play(edit(file, 'a - b', 'a + b'), {
    expect: { lastTool: '(?s)b \\+ a' },
    text: 'Over.',
  });
  await d.prompt('fix add');
  await lens(d, 'Accept').first().waitFor();
  await d.focusEditor();
  await d.typeAt(4, '// mine');
  await until('what was typed is saved', () => d.read('calc.js').includes('// mine'));
  assert.match(d.read('calc.js'), /a - b/, 'saving accepts nothing');
  await lens(d, 'Accept').first().waitFor();
  await d.agent('Show Proposed Change as Diff');
  await d.page
    .locator('.monaco-diff-editor .modified .view-line', { hasText: 'return a + b;' })
    .waitFor();
  await d.goto(2);
  await d.page.keyboard.press('End');
  for (let i = 0; i < 'a + b;'.length; i++) await d.page.keyboard.press('Backspace');
  await d.page.keyboard.type('b + a;');
  await until('the side is edited', async () =>
    (await d.buffer('.monaco-diff-editor .modified')).includes('return b + a;'),
  );
  await d.page.locator('.tab.active.dirty').waitFor({ state: 'hidden' });
  assert.match(d.read('calc.js'), /a - b/, 'saving the proposed side accepts nothing');
  await d.agent('Accept Change');
  await d.entry('assistantMessage', 'Over').waitFor();
  await until('the accepted text is saved', () => /b \+ a[^]*\/\/ mine/.test(d.read('calc.js')));
  for (const key of Object.keys(settings)) d.setting(key, undefined);
}

async function mentions(d) {
  await openCalc(d);
  d.write('bad.json', '{ "a": 1,, }\n');
  await d.play({
    expect: { lastUser: '(?s)look.*return a - b.*bad.json.*Open files.*calc.js.*twice' },
    text: 'All seen.',
    usage: { prompt_tokens: 2000, completion_tokens: 10, total_tokens: 2010 },
  });
  await d.openFile('bad.json');
  await d.page.locator('.squiggly-error').first().waitFor();
  await d.openFile('calc.js');
  await d.select(2);
  await d.answering('vscode.executeWorkspaceSymbolProvider', 'twice');
  await d.showPanel();
  await d.input.fill('look ');
  for (const [typed, label] of [
    ['@sel', '@selection'],
    ['@diag', '@diagnostics'],
    ['@edi', '@editors'],
    ['@twice', 'twice'],
  ]) {
    await d.input.press('End');
    await d.input.pressSequentially(typed);
    const option = d.panel.locator('.menu .option', { hasText: label }).first();
    await option.waitFor();
    await until(
      `${label} is chosen`,
      async () =>
        (await option.getAttribute('aria-selected')) === 'true' ||
        void (await d.input.press('ArrowDown')),
    );
    await d.input.press('Enter');
    await d.panel.locator('.chip', { hasText: label }).waitFor();
  }
  await d.shot('mentions-light');
  await d.input.press('Enter');
  await d.entry('assistantMessage', 'All seen').waitFor();
  await d.idle();
  await d.panel.locator('.gauge .share', { hasText: 'Context' }).waitFor();
  await d.panel.locator('.gauge .cost[title^="Estimated cost"]', { hasText: '$0.0' }).waitFor();
  await d.input.press('ArrowUp');
  await until('the history gives the prompt back', async () =>
    (await d.input.inputValue()).startsWith('look @selection'),
  );
  await d.input.fill('/comp');
  await d.panel.locator('.menu .option', { hasText: '/compact' }).waitFor();
  await d.input.press('Enter'); // Enter accepts the suggestion
  assert.equal(await d.input.inputValue(), '/compact ');
  await d.input.fill('/new');
  await d.panel.locator('.menu .option[aria-selected="true"]', { hasText: '/new' }).waitFor();
  await d.input.press('Enter'); // a completely typed command runs immediately
  await d.panel.locator('.welcome').waitFor();
}

async function codeBlocks(d) {
  await openCalc(d);
  await d.goto(1);
  await d.play({
    reasoning: '**A constant** will do.\nIt is enough.',
    text: 'Put this in:\n\n```js\nconst put = 1;\n```\n\nand a [file](' + d.at('calc.js') + ':9).',
  });
  await d.prompt('code please');
  const code = d.entry('assistantMessage').locator('.code');
  await d.idle();
  await code.locator('.hljs-keyword', { hasText: 'const' }).waitFor();
  const color = (what) => code.locator(what).evaluate((node) => getComputedStyle(node).color);
  assert.notEqual(
    await color('.hljs-keyword'),
    await color('pre'),
    'a keyword has a color of its own',
  );
  await d
    .entry('reasoning')
    .locator('summary', { hasText: /^Thought: A constant will do\.$/ })
    .waitFor();
  await d.click(code.getByRole('button', { name: 'Copy' }));
  await until(
    'it is copied',
    async () =>
      (await d.page.evaluate(() => navigator.clipboard.readText())).trim() === 'const put = 1;',
  );
  await d.click(code.getByRole('button', { name: 'Insert at cursor' }));
  await d.bufferHas('const put = 1;');
  await d.click(d.entry('assistantMessage').locator('a', { hasText: 'file' }));
  await d.page.locator('.statusbar-item', { hasText: 'Ln 9,' }).waitFor();
  assert.equal(d.page.context().pages().length, 1, 'the link opens nothing beside');
}

async function errorsAndRetries(d) {
  await d.play(
    { error: { status: 503, message: 'too busy', retryAfter: 2 } },
    { error: { status: 503, message: 'still too busy', retryAfter: 2 } },
    { text: 'Now it goes.' },
    { error: { status: 401, message: 'no such key' } },
  );
  const shown = await d.witness('.entry.retry');
  await d.prompt('try');
  await shown('Too busy. Trying again in 2 s (1 of');
  await shown('Still too busy. Trying again in 2 s (2 of');
  assert.equal(await shown.most(), 1, 'the retries are one line');
  await d.entry('assistantMessage', 'Now it goes').waitFor();
  await d.entry('retry').waitFor({ state: 'detached' });
  await d.idle();
  await d.prompt('fail');
  await d.entry('turn', 'Enter the key again').waitFor();
  const failed = d.entry('turn', 'Enter the key again');
  assert.equal(
    await failed.locator('.what').textContent(),
    'The API key of script is invalid: no such key.',
    'the key is said first',
  );
  assert.deepEqual(await failed.getByRole('button').allTextContents(), [
    'Set API Key',
    'Choose Provider',
    'Continue',
  ]);
  await d.shot('error-light');
}

async function outputAndJobs(d) {
  const go = path.join(d.workspace, `.go-${Date.now()}`);
  const wait = (name) => `while [ ! -f '${name}' ]; do sleep 0.05; done`;
  await d.play(
    bash(`echo out-one; ${wait(go)}; echo out-two`),
    call('bash', { command: wait(`${go}-never`), background: true }),
    { text: 'It runs on.' },
  );
  await trust(d);
  await d.prompt('run');
  const tool = d.entry('toolCall').first();
  await tool.locator('.output', { hasText: 'out-one' }).waitFor();
  assert.equal(
    await tool.locator('.output', { hasText: 'out-two' }).count(),
    0,
    'the output is live',
  );
  fs.writeFileSync(go, '');
  await tool.locator('.sign.completed').waitFor();
  await d.click(tool.locator('summary'));
  await tool.locator('.output', { hasText: 'out-two' }).waitFor();
  await d.entry('assistantMessage', 'It runs on').waitFor();
  const job = d.panel.locator('.jobs li');
  await d.click(job.getByRole('button', { name: 'Stop' }));
  await job.waitFor({ state: 'detached' });
}

async function stopSubAgent(d) {
  await d.play(call('agent', { agent: 'general', task: 'look around' }), talk('Walking. '), {
    expect: { lastTool: '.' },
    text: 'Without it, then.',
  });
  await d.prompt('send a helper');
  const tool = d.entry('toolCall').first();
  await tool.locator('.tool-body .assistantMessage', { hasText: 'Walking' }).waitFor();
  await d.shot('sub-agent-light');
  await d.click(tool.locator('.tool-buttons').getByRole('button', { name: 'Stop' }));
  await d.entry('assistantMessage', 'Without it').waitFor();
}

/** Renames, exports, forks and archives sessions. */
async function sessionList(d) {
  await d.play({ text: 'Of the first.' });
  await d.prompt('the first one');
  await d.entry('assistantMessage', 'Of the first').waitFor();
  await d.idle();
  await sessionButton(d, 'the first one', 'Rename', () => inputBox(d).isVisible());
  await d.answer('renamed by hand');
  await d.panel.locator('header .title', { hasText: 'renamed by hand' }).waitFor();
  await d.agent('Export the Session as Markdown');
  await d.bufferHas('Of the first.');
  await d.showPanel();
  const before = await d.session();
  await d.click(d.entry('userMessage', 'the first one').getByRole('button', { name: 'Fork' }));
  await until('it is another session', async () => ((await d.session()) || before) !== before);
  await d.entry('userMessage', 'the first one').waitFor();
  await sessionButton(
    d,
    'renamed by hand',
    'Archive',
    async () => (await sessionRows(d, 'renamed by hand').count()) === 1,
    2,
  );
  await bringBack(d);
  await d.page.keyboard.press('Escape');
  await sessionRows(d, '').first().waitFor({ state: 'hidden' });
}

/** Switches from the list of active sessions to the archived sessions, and restores one of them. */
async function bringBack(d) {
  const other = (name) =>
    d.page.locator(`.quick-input-titlebar .action-label[aria-label^="${name}"]`);
  const title = (text) =>
    d.page.locator('.quick-input-title', { hasText: new RegExp(`^${text}$`) });
  const rows = sessionRows(d, 'renamed by hand');
  await d.clickUntil(other('Show archived sessions'), () => title('Archived sessions').isVisible());
  await until(
    'the archived one is listed, and it alone',
    async () => (await rows.count()) === 1 && (await sessionRows(d, '').count()) === 1,
  );
  await d.shot('archived');
  await d.clickUntil(
    rows.locator('.action-label[aria-label^="Unarchive"]'),
    async () => (await rows.count()) === 0,
    rows,
  );
  await d.clickUntil(other('Show the active sessions'), () => title('Sessions').isVisible());
  await until('both are in use', async () => (await rows.count()) === 2);
}

/**
 * Checks that a session that is opened from the list shows everything that it showed live. Its
 * calls keep their order.
 */
async function sessionOpened(d) {
  const file = await openCalc(d);
  d.write('lib/greet.js', 'return "Helo ";\n');
  const greet = d.at('lib/greet.js');
  const both = [
    call('read', { path: file }),
    call('read', { path: greet }),
    call('edit', { path: file, old_string: 'a - b', new_string: 'a + b' }),
    call('edit', { path: greet, old_string: 'Helo', new_string: 'Hello' }),
  ];
  await d.play({ toolCalls: both.flatMap(({ toolCalls }) => toolCalls) }, talk('And now '), {
    text: 'Going on.',
  });
  await d.prompt('put both in order');
  await pendingHunks(d, 2);
  await d.openFile('lib/greet.js');
  await d.agent('Accept All Changes in the File'); // the call that was made last ends first
  await pendingHunks(d, 1);
  await d.agent('Accept All Changes');
  await d.entry('assistantMessage', 'And now').waitFor();
  await d.click(d.panel.locator('.composer .stop'));
  await d.entry('turn', 'Stopped').waitFor();
  await d.idle();
  const labels = () =>
    d
      .entry('toolCall')
      .locator('.tool-title .label')
      .evaluateAll((all) => all.map((l) => l.title.replace(/ .*\//, ' ')));
  const live = await labels();
  assert.deepEqual(live, ['Read calc.js', 'Read greet.js', 'Edit calc.js', 'Edit greet.js']);
  await d.newSession();
  await d.agent('Sessions');
  await sessionRows(d, 'put both in order')
    .filter({ hasText: /\d+ messages/ })
    .filter({ hasText: 'just now' })
    .first()
    .waitFor();
  await d.shot('sessions-list');
  await d.chooseLike('put both', 'put both');
  const asked = d.entry('userMessage', 'put both in order');
  await asked.getByRole('button', { name: 'Restore' }).waitFor();
  await asked.getByRole('button', { name: 'Changes since' }).waitFor();
  await d.entry('toolCall').last().locator('.decided', { hasText: 'Applied' }).waitFor();
  assert.deepEqual(await labels(), live);
  await d.shot('session-opened');
  await d.click(d.entry('turn', 'Stopped').getByRole('button', { name: 'Continue' }));
  await d.entry('assistantMessage', 'Going on').waitFor();
  await d.idle();
}

/**
 * Finds a session from yesterday by words in its answer, and opens it. It is listed with its day. A
 * session without an answer is listed only on request.
 */
async function sessionOfYesterday(d) {
  await d.play(
    { error: { status: 401, message: 'no such key' } },
    { text: 'The key lies in the drawer.' },
    { text: 'Nobody knows.' },
  );
  await d.prompt('unanswered');
  await d.entry('turn', 'Enter the key again').waitFor();
  await d.idle();
  await d.newSession();
  for (const [prompt, answer] of [
    ['where is the old key?', 'in the drawer'],
    ['where is the new key?', 'Nobody knows'],
  ]) {
    await d.prompt(prompt);
    await d.entry('assistantMessage', answer).waitFor();
    await d.idle();
    await d.newSession();
  }
  await d.configure('agentLsp.server.path', '/nowhere/agent-lsp');
  await d.command('agentLsp.restartServer').catch(() => {});
  await d.panel.locator('.problem', { hasText: 'not an executable file' }).waitFor();
  await until('no daemon runs', () => d.daemons().length === 0);
  const logs = filesWith(path.join(d.dir, 'state'), 'where is the old key').filter((file) =>
    file.endsWith('.jsonl'),
  );
  assert.equal(logs.length, 1, logs.join());
  for (const log of logs) {
    fs.writeFileSync(log, dayBefore(fs.readFileSync(log, 'utf8')));
    fs.rmSync(log.replace(/jsonl$/, 'index'), { force: true });
  }
  await d.configure('agentLsp.server.path', null);
  await d.restartDaemon();
  await d.newSession();
  await d.agent('Sessions');
  const input = d.page.locator('.quick-input-widget input.input');
  await sessionRows(d, 'where is the new key').filter({ hasText: 'just now' }).waitFor();
  assert.equal(await sessionRows(d, 'unanswered').count(), 0);
  await d.clickUntil(sessionRows(d, 'Show all sessions'), () =>
    sessionRows(d, 'unanswered').isVisible(),
  );
  await input.fill('drawer');
  await sessionRows(d, 'where is the new key').waitFor({ state: 'hidden' });
  await sessionRows(d, 'where is the old key')
    .filter({ hasText: /yesterday, .*\d\d/ })
    .waitFor();
  await d.shot('sessions-yesterday');
  await d.chooseLike('drawer', 'where is the old key');
  await d.entry('assistantMessage', 'in the drawer').waitFor();
}

/** Returns text in which the dates of all times are one day earlier. */
const dayBefore = (text) =>
  text.replaceAll(/\d{4}-\d\d-\d\d(?=T\d\d:\d\d:\d\d)/g, (day) =>
    new Date(Date.parse(day) - 86_400_000).toISOString().slice(0, 10),
  );

const sessionRows = (d, text) =>
  d.page.locator('.quick-input-list .monaco-list-row', { hasText: text });
const inputBox = (d) =>
  d.page.locator('.quick-input-widget .quick-input-message', { hasText: 'Session title' });

/**
 * Opens the list of sessions. Once it has enough entries with the text, presses a button in the
 * first of them.
 */
async function sessionButton(d, text, name, done, count = 1) {
  await d.agent('Sessions');
  const rows = sessionRows(d, text);
  await until(
    `${count} of the listed sessions are '${text}'`,
    async () => (await rows.count()) === count,
  );
  await d.clickUntil(
    rows.first().locator(`.action-label[aria-label^="${name}"]`),
    done,
    rows.first(),
  );
}

/**
 * Checks that the user is asked before a session is deleted, and that another session is shown
 * afterwards.
 */
async function sessionDeleted(d) {
  await d.play({ text: 'To be forgotten.' });
  await d.prompt('delete this one');
  await d.entry('assistantMessage', 'To be forgotten').waitFor();
  await d.idle();
  const dialog = d.page.locator('.monaco-dialog-box', { hasText: 'This cannot be undone' });
  const before = await d.session();
  for (const answer of ['Cancel', 'Delete']) {
    await sessionButton(d, 'delete this one', 'Delete', () => dialog.isVisible());
    await d.click(dialog.getByRole('button', { name: answer }));
    await dialog.waitFor({ state: 'hidden' });
    if (answer === 'Cancel')
      assert.equal(await d.session(), before, 'nothing is deleted unless it is confirmed');
  }
  await until('another session is shown', async () => ((await d.session()) || before) !== before);
  await d.panel.locator('.welcome').waitFor();
  await d.agent('Sessions');
  await d.page.locator('.quick-input-widget .quick-input-title', { hasText: 'Sessions' }).waitFor();
  await until(
    'it is listed no more',
    async () =>
      (await sessionRows(d, 'New session').count()) > 0 &&
      (await sessionRows(d, 'delete this one').count()) === 0,
  );
  await d.page.keyboard.press('Escape');
}

async function dropImage(d) {
  await d.play({ text: 'A dot.' });
  await d.panel.locator('.composer').evaluate((composer) => {
    const png = Uint8Array.from(
      atob(
        'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
      ),
      (c) => c.charCodeAt(0),
    );
    const data = new DataTransfer();
    data.items.add(new File([png], 'dropped.png', { type: 'image/png' }));
    composer.dispatchEvent(
      new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true }),
    );
  });
  await d.panel.locator('.chip', { hasText: 'dropped.png' }).waitFor();
  await d.prompt('what is it?');
  await d.entry('userMessage', 'what is it?').locator('img.attached').waitFor();
  await d.entry('assistantMessage', 'A dot').waitFor();
}

export const detailSteps = [
  ['tree, badges, words', treeAndBadges],
  ['autosave accepts nothing', autosave],
  ['mentions, gauge, history', mentions],
  ['code blocks', codeBlocks],
  ['errors and retries', errorsAndRetries],
  ['live output and jobs', outputAndJobs],
  ['a sub-agent is stopped', stopSubAgent],
  ['sessions renamed, forked, archived, restored', sessionList],
  ['a session is opened from the list', sessionOpened],
  ['a session from yesterday', sessionOfYesterday],
  ['a session is deleted', sessionDeleted],
  ['an image dropped', dropImage],
];

// Tests how the extension works together with the rest of the window: notices, selections, language
// servers, the light bulb, the files that the agent uses, and the activation.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { until } from '../workbench.mjs';
import { bash, call, edit, editPolicy, edits, lens, openCalc, pendingHunks } from './model.mjs';

/**
 * Uses a copy of this repository as the workspace, and edits one of its files. One hunk is
 * accepted, and one is left pending.
 */
async function thisRepository(d) {
  const top = path.resolve(import.meta.dirname, '../../../..');
  const clone = path.join(d.dir, 'agent-lsp');
  fs.mkdirSync(clone, { recursive: true });
  for (const name of [
    'ARCHITECTURE.md',
    'LICENSE',
    'Makefile',
    'README.md',
    'cmd',
    'docs',
    'go.mod',
    'go.sum',
    'internal',
  ]) {
    fs.cpSync(path.join(top, name), path.join(clone, name), { recursive: true });
  }
  await d.open({ folder: clone });
  const before = fs.readFileSync(path.join(clone, 'README.md'), 'utf8');
  const one = before.split('\n').find((line) => /^##? /.test(line));
  const other = before.split('\n').findLast((line) => /^## /.test(line));
  assert.ok(one && other && one !== other, 'the README has two headings');
  await d.play(
    {
      text: 'Two headings.',
      ...edits(
        'README.md',
        [`${one}\n`, `${one}, reviewed\n`],
        [`${other}\n`, `${other}, changed\n`],
      ),
    },
    { expect: { lastTool: '(?s)accepted.*rejected|rejected' }, text: 'One of two.' },
  );
  await d.prompt('change two headings');
  await pendingHunks(d, 2);
  await d.agent('Next Pending Change');
  await lens(d, '1 of 2').waitFor();
  await d.agent('Accept Change');
  await d.bufferHas(`${one}, reviewed`);
  await d.shot('this-repository');
  const line = before.split('\n').indexOf(other) + 1;
  await d.page.locator('.statusbar-item', { hasText: `Ln ${line},` }).waitFor(); // the next change
  await d.agent('Reject Change');
  await d.entry('assistantMessage', 'One of two').waitFor();
  await d.run('File: Save');
  await until(
    'the accepted hunk is on disk, and it alone',
    () =>
      fs.readFileSync(path.join(clone, 'README.md'), 'utf8') ===
      before.replace(`${one}\n`, `${one}, reviewed\n`),
  );
}

async function nothingBeforeFirstUse(d) {
  const folder = path.join(d.dir, 'quiet');
  fs.mkdirSync(folder, { recursive: true });
  d.setting('workbench.secondarySideBar.defaultVisibility', 'hidden');
  const old = d.daemons();
  await d.open({ folder });
  await openCalc(d);
  await d.goto(2);
  assert.equal(
    (await d.command('remote')).active,
    false,
    'the extension is not active before its first use',
  );
  assert.deepEqual(
    d.daemons().filter((pid) => !old.includes(pid)),
    [],
    'no daemon before the first use',
  );
  await d.showPanel();
  assert.equal((await d.command('remote')).active, true, 'it is active then');
  d.setting('workbench.secondarySideBar.defaultVisibility', undefined);
}

async function notice(d) {
  await openCalc(d);
  await d.play({ text: 'Quietly done.' }, bash('touch noticed'), { text: 'And again.' });
  await d.hidePanel();
  await d.focusEditor();
  await d.page.keyboard.press('Control+Alt+i');
  await d.answer('work');
  const toast = d.page.locator('.notification-toast', { hasText: 'The agent is done' });
  await toast.waitFor();
  assert.ok((await toast.count()) <= 1, 'one notice (which goes by itself after some seconds)');
  await d.shot('notice');
  await toast
    .getByRole('button', { name: 'Show' })
    .click({ timeout: 5000 })
    .catch(() => d.showPanel()); // the panel may already have been hidden
  await d.input.waitFor();
  await d.entry('assistantMessage', 'Quietly done').waitFor();
  await d.idle();
  await d.command('notifications.clearAll');
  await d.hidePanel();
  await d.focusEditor();
  await d.page.keyboard.press('Control+Alt+i');
  await d.answer('more');
  await d.page.locator('.notification-toast', { hasText: 'is waiting for your answer' }).waitFor();
  await d.showPanel();
  await d.click(
    d.panel
      .locator('.ask')
      .getByRole('button', { name: /^Allow/ })
      .first(),
  );
  await d.entry('assistantMessage', 'And again').waitFor();
  await d.idle();
  assert.equal(await toast.count(), 0, 'no notice while the panel is in view');
}

/**
 * Checks that a question that arrives while the user types in a file causes a notice and is
 * counted. The typed text goes into the file and decides nothing.
 */
async function questionElsewhere(d) {
  await openCalc(d);
  await d.play(
    { text: 'I look. '.repeat(20), chunks: 20, delayMs: 50, ...bash('touch asked-elsewhere') },
    { text: 'Not made.' },
  );
  await d.hidePanel();
  await d.focusEditor();
  await d.page.keyboard.press('Control+Alt+i');
  await d.answer('work');
  await d.goto(1);
  const { keyboard } = d.page;
  const toast = d.page.locator('.notification-toast', {
    hasText: 'is waiting for your answer',
  });
  await until(
    'the question comes while the user types',
    async () => (await toast.isVisible()) || void (await keyboard.type('w')),
  );
  await keyboard.type('ords\n1\ny\nyes\nn\n');
  await d.page.locator('.statusbar-item', { hasText: 'Agent asks' }).waitFor();
  await d.editorFocused();
  await until('all that was typed is in the file', async () =>
    /^w+ords\n1\ny\nyes\nn\nfunction add/.test(await d.buffer()),
  );
  assert.equal(await d.input.isVisible(), false, 'the panel stays hidden');
  assert.equal(await d.page.locator('.quick-input-widget').isVisible(), false, 'no prompt opens');
  assert.equal(await d.page.locator('.monaco-dialog-box').count(), 0, 'no dialog opens');
  await d.shot('question-elsewhere');
  await d.click(d.page.locator('.statusbar-item', { hasText: 'Agent asks' }).locator('a'));
  const ask = d.panel.locator('.ask', { hasText: 'touch asked-elsewhere' });
  await ask.waitFor();
  await d.page
    .locator('.part.auxiliarybar .composite-bar .badge-content', { hasText: /^1$/ })
    .waitFor();
  await d.click(ask.getByRole('button', { name: 'Reject', exact: true }).first());
  await d.entry('assistantMessage', 'Not made').waitFor();
  await d.idle();
  await d.page
    .locator('.part.auxiliarybar .composite-bar .badge-content')
    .waitFor({ state: 'hidden' });
  assert.equal(fs.existsSync(path.join(d.workspace, 'asked-elsewhere')), false);
}

async function selections(d) {
  await openCalc(d);
  const expect = (words) => ({
    expect: { lastUser: `(?s)${words}.*return a - b` },
    text: `${words}: yes.`,
  });
  await d.play(expect('Explain'), expect('Write tests'), expect('Document'));
  for (const [title, words] of [
    ['Explain Selection', 'Explain'],
    ['Write Tests for Selection', 'Write tests'],
    ['Document Selection', 'Document'],
  ]) {
    await d.focusEditor();
    await d.select(2);
    await d.agent(title);
    await d.entry('assistantMessage', `${words}: yes`).waitFor();
    await d.idle();
  }
  await d.focusEditor();
  await d.select(2);
  await d.agent('Add Selection to the Prompt');
  await d.panel.locator('.chip', { hasText: 'calc.js:2' }).waitFor();
}

/** Checks that the daemon queries the editor's own language servers. */
async function languageServers(d) {
  await openCalc(d);
  d.write('bad.json', '{ "a": 1,, }\n');
  await d.answering(
    'vscode.executeDocumentSymbolProvider',
    path.join(d.workspace, d.at('calc.js')),
  );
  await d.openFile('bad.json');
  await d.page.locator('.squiggly-error').first().waitFor();
  await d.play(
    call('lsp', { operation: 'diagnostics', path: d.at('bad.json') }),
    {
      expect: { lastTool: '(?i)expected' },
      ...call('lsp', { operation: 'documentSymbol', path: d.at('calc.js') }),
    },
    { expect: { lastTool: '(?s)add.*twice.*zero' }, text: 'Both answered.' },
  );
  await d.prompt('what is wrong?');
  await d.entry('assistantMessage', 'Both answered').waitFor();
  await d.idle();
  await d.play(
    { toolCalls: [{ name: 'read', arguments: { path: d.at('bad.json') } }] },
    call('edit', { path: d.at('bad.json'), old_string: '"a": 1,,', new_string: '"a" 1' }),
    {
      expect: {
        lastTool:
          '(?s)applied 1/1.*new diagnostics after this edit, by the editor.*bad.json:1.*Colon',
      },
      text: 'It was told.',
    },
  );
  await d.prompt('break it otherwise');
  await lens(d, 'Accept').first().waitFor();
  await d.agent('Accept All Changes in the File');
  await d.entry('assistantMessage', 'It was told').waitFor();
}

/**
 * Edits a file that stays clean. Its language server does not repeat diagnostics. Once this server
 * is known to be the only one, the daemon does not wait for it.
 */
async function silentServer(d) {
  const file = await openCalc(d);
  await d.answering('vscode.executeDocumentSymbolProvider', path.join(d.workspace, file));
  await d.play(
    edit(file, 'a - b', 'a + b'),
    edit(file, 'return 1', 'return 0'),
    edit(file, 'n + n', '2 * n'),
    { text: 'All is tidy.' },
  );
  await editPolicy(d, 'automatic');
  await d.prompt('tidy up');
  await d.entry('assistantMessage', 'All is tidy').waitFor();
  await d.bufferHas('return 2 * n;');
  const times = await d.entry('toolCall', 'Edit').locator('.status').allTextContents();
  assert.equal(times.length, 3);
  console.log(
    `          edits of a clean file, the wait for its language server included: ${times.join(', ')}`,
  );
}

/**
 * Checks clean files whose language servers report again that the files are clean. The editor
 * announces these reports although no diagnostics are shown before or after, and the wait ends.
 */
async function repeatingServers(d) {
  for (const [name, text] of [
    ['clean.json', '{ "a": 1 }\n'],
    ['clean.css', 'a { color: red; }\n'],
    ['clean.html', '<p>x</p>\n'],
  ]) {
    d.write(name, text);
    assert.equal(
      await d.command('toldOfCleanFile', path.join(d.workspace, d.at(name)), 30_000),
      true,
      `the editor tells of ${name}`,
    );
  }
  await d.play(
    edit(d.at('clean.json'), '"a": 1', '"a": 2'),
    edit(d.at('clean.json'), '"a": 2', '"a": 3'),
    { text: 'It counts.' },
  );
  await editPolicy(d, 'automatic');
  await d.prompt('count');
  await d.entry('assistantMessage', 'It counts').waitFor();
  const times = await d.entry('toolCall', 'Edit').locator('.status').allTextContents();
  console.log(
    `          edits of a clean file whose server repeats that it is: ${times.join(', ')}`,
  );
}

async function lightBulb(d) {
  d.write('broken.json', '{ "a": 1,, }\n');
  await d.play({ expect: { lastUser: '(?s)Fix .*broken.json.*line 1' }, text: 'I would.' });
  await d.openFile('broken.json');
  await d.page.locator('.squiggly-error').first().waitFor();
  await d.goto(1);
  await d.page.keyboard.press('F8');
  await d.page.locator('.marker-widget').waitFor();
  const row = d.page.locator('.action-widget .monaco-list-row', { hasText: 'Fix with agent' });
  await until('the menu is open', async () => {
    await d.page.keyboard.press('Control+.');
    return row.waitFor({ timeout: 5000 }).then(
      () => true,
      () => false,
    );
  });
  await until(
    'its row is the focused one',
    async () =>
      (await row.getAttribute('class')).includes('focused') ||
      void (await d.page.keyboard.press('ArrowDown')),
  );
  await d.page.keyboard.press('Enter');
  await d.entry('assistantMessage', 'I would').waitFor();
}

/**
 * Checks that the editor shows the files that the agent uses if the setting is on. The focus stays
 * where the user types.
 */
async function follow(d) {
  d.write('shown.js', 'const one = 1;\n');
  await d.configure('agentLsp.follow', true);
  try {
    await openCalc(d);
    await d.play(call('read', { path: d.at('shown.js') }), { text: 'Seen.' });
    await d.prompt('look at it');
    await d.page.locator('.tab.active[data-resource-name="shown.js"]').waitFor();
    await d.entry('assistantMessage', 'Seen').waitFor();
    await d.inputFocused();
  } finally {
    await d.configure('agentLsp.follow', null);
  }
}

export const userSteps = [
  ['notice while the panel is hidden', notice],
  ['a question while the user types elsewhere', questionElsewhere],
  ['selections', selections],
  ['language servers of the editor', languageServers],
  ['a silent language server', silentServer],
  ['language servers that repeat', repeatingServers],
  ['light bulb', lightBulb],
  ['follow the agent', follow],
  ['nothing before first use', nothingBeforeFirstUse],
  ['this repository', thisRepository],
];

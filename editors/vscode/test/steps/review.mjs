// Tests the review of proposed edits in the buffer, in the diff, and by keyboard.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { until } from '../workbench.mjs';
import {
  calc,
  edit,
  editPolicy,
  edits,
  lens,
  lensOf,
  openCalc,
  pendingHunks,
  pendingView,
  review,
} from './model.mjs';

async function promptAndDiff(d) {
  const file = await openCalc(d);
  await d.play(
    {
      reasoning: 'The sign is wrong.',
      text: 'I will fix **add**.',
      ...edit(file, 'a - b', 'a + b'),
    },
    { text: 'Done: `add` adds now.', chunks: 5 },
  );
  assert.equal(d.daemons().length, 1, 'one daemon per window');
  await d.prompt('fix add');
  await d.entry('userMessage', 'fix add').waitFor();
  await d.entry('assistantMessage').locator('strong', { hasText: 'add' }).waitFor();
  await review(d).waitFor();
  await lens(d, 'Accept').first().waitFor();
  assert.equal(d.read('calc.js'), calc, 'nothing is changed before it is accepted');
  assert.equal(
    await d.input.evaluate((input) => input === document.activeElement),
    true,
    'the panel keeps the focus',
  );
  await until('the input says that Enter asks first', async () =>
    (await d.input.getAttribute('placeholder')).startsWith('Enter asks before it rejects changes'),
  );
  await d.shot('review-light');
  await d.agent('Show Proposed Change as Diff');
  await d.page.locator('.monaco-diff-editor').waitFor();
  await until('the diff shows the proposed text', async () =>
    (await d.buffer('.monaco-diff-editor .modified')).includes('return a + b;'),
  );
  await d.shot('diff-light');
  await d.agent('Accept Change');
  await d.entry('assistantMessage', 'Done').waitFor();
  await d.idle();
  await d.bufferHas('return a + b;');
  await d.page.locator('.monaco-diff-editor').waitFor({ state: 'hidden' });
}

async function hunksOfUnsavedFile(d) {
  const file = await openCalc(d);
  await d.typeAt(4, '// mine, unsaved\n');
  await d.play(edits(file, ['a - b', 'a + b'], ['return 1', 'return 0']), {
    // The model has read the text that is not on the disk.
    expect: { lastTool: '(?s)reject.*keep one', sent: '// mine, unsaved' },
    text: 'Understood.',
  });
  await d.prompt('fix both');
  await lens(d, '1 of 2').waitFor();
  await d.focusEditor();
  await d.goto(2);
  await d.agent('Accept Change');
  await d.bufferHas('return a + b;');
  await lens(d, 'Accept').nth(1).waitFor({ state: 'hidden' });
  await d.agent('Comment on Change');
  await d.answer('keep one');
  await d.page.locator('.review-comment', { hasText: 'keep one' }).waitFor();
  await d.shot('comment-light');
  await d.agent('Reject Change');
  await d.entry('assistantMessage', 'Understood').waitFor();
  const text = await d.buffer();
  assert.match(text, /\/\/ mine, unsaved/);
  assert.match(text, /return 1;/);
  assert.equal(d.read('calc.js'), calc, 'the disk is as it was: the document was unsaved');
}

/** Selects a row of the menu above a hunk. */
async function ofMenu(d, place, label) {
  const row = d.page.locator('.quick-input-list .monaco-list-row', { hasText: label });
  const menu = d.page
    .locator('.codelens-decoration', { hasText: place })
    .locator('a:has(.codicon-ellipsis)')
    .first();
  await d.clickUntil(menu, () => row.isVisible());
  await d.chooseLike(label, label);
}

/**
 * Does a review by mouse, with the buttons above the hunks. The editor may redraw a button under
 * the pointer, so the click is repeated until it works.
 */
async function lensesByMouse(d) {
  const file = await openCalc(d);
  await d.play(
    edits(file, ['a - b', 'a + b'], ['return 1', 'return 0']),
    { expect: { lastTool: '(?s)rejected' }, text: 'Understood.' },
    edits(file, ['a + b', 'b + a'], ['return 1', 'return 0']),
    { expect: { lastTool: 'applied' }, text: 'Both taken.' },
  );
  await d.prompt('fix both');
  await lens(d, '1 of 2').waitFor();
  await d.clickUntil(
    lensOf(d, '1 of 2', 'Accept'),
    async () => (await lens(d, '1 of 2').count()) === 0,
  );
  await d.bufferHas('return a + b;');
  await d.clickUntil(
    lens(d, 'Reject').first(),
    async () => (await lens(d, 'Reject').count()) === 0,
  );
  await d.entry('assistantMessage', 'Understood').waitFor();
  await d.bufferHas('return 1;');
  await d.idle();
  await d.prompt('fix both again');
  await lens(d, '1 of 2').waitFor();
  await ofMenu(d, '1 of 2', 'Accept all 2 changes in the file');
  await d.entry('assistantMessage', 'Both taken').waitFor();
  await d.bufferHas('return b + a;');
  await d.bufferHas('return 0;');
}

/**
 * Decides hunks in the diff, where their positions differ from those in the file. The user types a
 * comment into the box below its hunk.
 */
async function hunksOfTheDiff(d) {
  const lines = (from, to) =>
    Array.from({ length: to - from }, (_, i) => `line ${from + i}\n`).join('');
  d.write('long.txt', lines(0, 40));
  await d.openFile('long.txt');
  const file = d.at('long.txt');
  await d.play(
    edits(
      file,
      ['line 1\n', `line 1\n${'new\n'.repeat(20)}`],
      ['line 15\n', 'line fifteen\n'],
      ['line 35\n', 'line thirty-five\n'],
    ),
    {
      expect: { lastTool: '(?s)hunks? 3 rejected.*too long|too long.*hunks? 3 rejected' },
      text: 'Two of three.',
    },
  );
  await d.prompt('fix it');
  await lens(d, '1 of 3').waitFor();
  await d.agent('Show Proposed Change as Diff');
  await d.page
    .locator('.monaco-diff-editor .modified .view-line', { hasText: 'new' })
    .first()
    .waitFor();
  const { keyboard } = d.page;
  const at = (line) => d.page.locator('.statusbar-item', { hasText: `Ln ${line},` }).waitFor();
  await d.goto(1);
  for (const line of [3, 36, 56]) {
    await keyboard.press('Alt+F9');
    await at(line);
  }
  await d.agent('Comment on Change');
  await d.answer('too long');
  await d.page.locator('.statusbar-item', { hasText: 'comment is sent with your' }).waitFor();
  await d.editorFocused();
  await keyboard.press('Control+Alt+n');
  await pendingHunks(d, 2);
  await d.goto(36); // in the file, hunk 3 would be nearest to this line
  await keyboard.press('Control+Alt+y');
  await pendingHunks(d, 1);
  await keyboard.press('Control+Alt+y');
  await d.entry('assistantMessage', 'Two of three').waitFor();
  await d.page.locator('.monaco-diff-editor').waitFor({ state: 'hidden' });
  await d.command('workbench.action.files.saveAll');
  await until(
    'it is saved',
    () =>
      d.read('long.txt') ===
      lines(0, 2) + 'new\n'.repeat(20) + lines(2, 15) + 'line fifteen\n' + lines(16, 40),
  );
}

async function acceptWithChanges(d) {
  const file = await openCalc(d);
  await d.play(edit(file, 'a - b', 'a + b'), {
    expect: { lastTool: 'b \\+ a' },
    text: 'Taken as you wrote it.',
  });
  await d.prompt('fix add');
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
  await d.page.keyboard.press('Control+s');
  await d.page.locator('.tab.active.dirty').waitFor({ state: 'hidden' });
  assert.equal(d.read('calc.js'), calc, 'saving the proposed side accepts nothing');
  await d.agent('Accept All Changes in the File');
  await d.entry('assistantMessage', 'Taken as you wrote it').waitFor();
  await d
    .entry('toolCall')
    .locator('.decided', { hasText: /^1 accepted with your changes$/ })
    .waitFor();
  await d.page.locator('.monaco-diff-editor').waitFor({ state: 'hidden' });
  await d.bufferHas('return b + a;');
}

/**
 * Rejects the whole file with a comment that the user typed into the box below one of its hunks.
 */
async function fileRejected(d) {
  const file = await openCalc(d);
  await d.play(edits(file, ['a - b', 'a + b'], ['return 1', 'return 0']), {
    expect: { lastTool: '(?s)rejected.*not this one.*leave zero alone' },
    text: 'Left alone.',
  });
  await d.prompt('fix both');
  await lens(d, '2 of 2').waitFor();
  assert.equal(await d.page.locator('.review-widget').count(), 0, 'no box before one is asked for');
  await ofMenu(d, '2 of 2', 'Comment');
  await d.answer('not this one');
  const thread = d.page.locator('.review-widget', { hasText: 'not this one' });
  const text = thread.locator('.comment-form .monaco-editor');
  await d.clickUntil(thread.locator('.review-thread-reply-button'), () => text.isVisible());
  await d.clickUntil(text, () => text.evaluate((node) => node.contains(document.activeElement)));
  await d.page.keyboard.type('leave zero alone');
  await d.shot('comment-box-light');
  await d.click(thread.getByRole('button', { name: 'Comment on Change' }));
  await d.page.locator('.review-comment', { hasText: 'leave zero alone' }).waitFor();
  await ofMenu(d, '1 of 2', 'Reject all 2 changes in the file');
  await d.entry('assistantMessage', 'Left alone').waitFor();
  await pendingView(d).waitFor({ state: 'hidden' });
  await d.bufferHas('return a - b;');
  await d.bufferHas('return 1;');
}

/** Renames the file while its hunks are pending. The hunks move to the new name. */
async function hunksFollowRename(d) {
  const file = await openCalc(d);
  await d.play(edits(file, ['a - b', 'a + b'], ['return 1', 'return 0']), {
    expect: { lastTool: '(?s)applied 1/2 hunks; hunk 2 rejected' },
    text: 'They went along.',
  });
  await d.prompt('fix both');
  await lens(d, '1 of 2').waitFor();
  const name = d.page.locator(
    '.explorer-folders-view .explorer-item-edited input, .explorer-folders-view .monaco-inputbox input',
  );
  await until('a name can be given', async () => {
    await d.run('File: Reveal Active File in Explorer View');
    await d.page.keyboard.press('F2');
    return name.waitFor({ timeout: 5000 }).then(
      () => true,
      () => false,
    );
  });
  await name.fill('sum.js');
  await name.press('Enter');
  await d.page.locator('.tab.active[data-resource-name="sum.js"]').waitFor();
  await lens(d, '1 of 2').waitFor();
  await d.focusEditor();
  await d.goto(2);
  await d.agent('Accept Change');
  await d.bufferHas('return a + b;');
  await d.agent('Reject All Changes in the File');
  await d.entry('assistantMessage', 'They went along').waitFor();
  await d.command('workbench.action.files.saveAll');
  await until(
    'it is saved under its new name',
    () => d.read('sum.js') === calc.replace('a - b', 'a + b'),
  );
  assert.deepEqual(
    fs.readdirSync(path.dirname(path.join(d.workspace, file))),
    ['sum.js'],
    'nothing came back under the old one',
  );
}

/** Does the complete review without a mouse. */
async function byKeyboard(d) {
  const file = await openCalc(d);
  d.write('notes.md', '# Notes\n\nZero is 1.\n');
  await d.play(
    {
      toolCalls: [
        ...edits(file, ['a - b', 'a + b'], ['return 1', 'return 0']).toolCalls,
        ...edit(d.at('notes.md'), 'is 1', 'is 0').toolCalls,
      ],
    },
    { expect: { lastTool: 'applied', sent: 'hunk 2 rejected' }, text: 'As you like.' },
  );
  const { keyboard } = d.page;
  await d.focusEditor();
  await keyboard.press('Control+Alt+i');
  await d.answer('fix both');
  await lens(d, '1 of 2').waitFor();
  await pendingView(d).waitFor();
  await d.goto(1);
  for (const [key, line] of [
    ['Alt+F9', 2],
    ['Alt+F9', 10],
    ['Shift+Alt+F9', 2],
  ]) {
    await keyboard.press(key);
    await d.page.locator('.statusbar-item', { hasText: `Ln ${line},` }).waitFor();
  }
  await keyboard.press('Control+Alt+y');
  await d.bufferHas('return a + b;');
  await lens(d, '1 of 2').waitFor({ state: 'hidden' });
  // the decision moves the cursor to the next change, so Alt+F9 could move it to the next file
  await d.page.locator('.statusbar-item', { hasText: 'Ln 10,' }).waitFor();
  await keyboard.press('Control+Alt+n');
  await d.page.locator('.tab.active[data-resource-name="notes.md"]').waitFor();
  await d.editorFocused(); // the next key decides the change in the next file
  await keyboard.press('Control+Alt+y');
  await d.entry('assistantMessage', 'As you like').waitFor();
  await d.bufferHas('is 0');
  await d.openFile('calc.js');
  await d.bufferHas('return 1;');
  await keyboard.press('Control+z');
  await d.bufferHas('return a - b;');
}

/**
 * Checks the hunks in the editor. They have few buttons, the missing text is shown between the
 * lines, and the next hunk is shown after a decision.
 */
async function hunksInPlace(d) {
  const lines = Array.from({ length: 90 }, (_, i) => `line ${i + 1}\n`);
  d.write('long.txt', lines.join(''));
  await d.openFile('long.txt');
  const file = d.at('long.txt');
  const pairs = [
    ['line 2\n', 'line two\nand a half\n'],
    ['line 4\n', 'new line\nline 4\n'],
    ['line 80\n', 'line eighty\n'],
  ];
  await d.play(
    edits(file, ...pairs),
    { expect: { lastTool: 'applied' }, text: 'All taken.' },
    edits(file, ['line two\nand a half\n', 'line 2\n'], ['line eighty\n', 'line 80\n']),
    { text: 'All back.' },
  );
  const row = (text) => d.page.locator('.codelens-decoration', { hasText: text });
  const top = async (locator) => (await locator.first().boundingBox()).y;
  const lineAt = (text) =>
    d.page.locator('.view-line', { hasText: new RegExp(`^${text.replace(' ', '\\s')}$`) });
  await d.prompt('count in words');
  await row('1 of 3').waitFor();
  await row('line two ⏎ and a half').waitFor();
  await d.shot('hunks-in-place');
  assert.equal(await row('1 of 3').locator('a').count(), 4, 'two buttons, a menu and the counter');
  assert.equal(await d.page.locator('.review-widget').count(), 0, 'no box of comments');
  assert.ok(
    (await top(row('1 of 3'))) < (await top(lineAt('line 2'))),
    'the buttons are above the hunk',
  );
  assert.ok(
    (await top(row('line two'))) > (await top(lineAt('line 2'))),
    'the new text is below the old',
  );
  const insertion = await top(row('new line'));
  assert.ok(
    insertion > (await top(lineAt('line 3'))) && insertion < (await top(lineAt('line 4'))),
    'an insertion is above the line that it precedes',
  );
  const at = (line) => d.page.locator('.statusbar-item', { hasText: `Ln ${line},` }).waitFor();
  await d.clickUntil(lensOf(d, '1 of 3', 'Accept'), async () => (await row('1 of 2').count()) > 0);
  await at(5);
  await d.clickUntil(lensOf(d, '1 of 2', 'Accept'), async () => (await row('1 of 1').count()) > 0);
  await at(82);
  await d.clickUntil(
    lensOf(d, '1 of 1', 'Accept'),
    async () => (await row('1 of 1').count()) === 0,
  );
  await d.entry('assistantMessage', 'All taken').waitFor();
  await d.idle();
  await editPolicy(d, 'review after');
  await d.prompt('and back');
  await d.entry('assistantMessage', 'All back').waitFor();
  await d.focusEditor();
  await d.goto(1);
  await row('line two ⏎ and a half').waitFor();
  assert.ok(
    (await top(row('line two'))) < (await top(lineAt('line 2'))),
    'the old text is above the new',
  );
  await d.shot('hunks-applied-in-place');
  await d.agent('Accept All Changes');
  await row('1 of 2').waitFor({ state: 'hidden' });
}

/** Checks the bar above the input, which is shown while changes are pending and after the turn. */
async function changesBar(d) {
  const file = await openCalc(d);
  d.write('lib/greet.js', 'export function greet(name) {\n  return "Helo " + name;\n}\n');
  await d.play(
    {
      toolCalls: [
        ...edits(file, ['a - b', 'a + b'], ['return 1', 'return 0;\n  // nothing']).toolCalls,
        ...edit(d.at('lib/greet.js'), 'Helo ', 'Hello ').toolCalls,
      ],
    },
    { text: 'All in.' },
    edit(file, 'n + n', '2 * n'),
    { text: 'Twice is in.' },
  );
  const bar = d.panel.locator('.changes');
  const press = (name) => d.click(bar.getByRole('button', { name }));
  await editPolicy(d, 'review after');
  await d.prompt('fix what is wrong');
  await bar.locator('.label', { hasText: '3 changes in 2 files, +4 −3' }).waitFor();
  await d.entry('assistantMessage', 'All in').waitFor();
  await d.shot('changes-light');
  await press('Review');
  await d.page.locator('.multiDiffEntry .modified .view-line', { hasText: 'Hello' }).waitFor();
  await press('Keep all');
  await bar.waitFor({ state: 'hidden' });
  await until('the closed file is changed', () => d.read('lib/greet.js').includes('"Hello "'));
  await editPolicy(d, 'automatic');
  await d.prompt('and twice');
  await d.entry('assistantMessage', 'Twice is in').waitFor();
  await bar.locator('.label', { hasText: '1 file changed, +1 −1' }).waitFor();
  await d.shot('changes-done-light');
  await press('Undo all');
  await bar.waitFor({ state: 'hidden' });
  await d.openFile('calc.js');
  await d.bufferHas('n + n');
  await d.bufferHas('a + b');
}

/**
 * Checks that the card of an edit shows its changes in color, their counts and the decision. A
 * replay of the session shows the same.
 */
async function editCard(d) {
  const file = await openCalc(d);
  await d.play(
    edits(file, ['a - b', 'a + b'], ['return 1;', 'return 0;\n  // nothing']),
    { expect: { lastTool: 'keep one' }, text: 'Understood.' },
    edit(file, 'not in the file', 'x'),
    { text: 'Over.' },
  );
  await d.prompt('fix both');
  const card = d.entry('toolCall', 'Edit').first();
  await lens(d, '1 of 2').waitFor();
  const asked = Date.now();
  await card.locator('.counts', { hasText: '+3 −2' }).waitFor();
  await card.locator('.diff .added', { hasText: 'return a + b;' }).waitFor();
  await card.locator('.diff .removed', { hasText: 'return 1;' }).waitFor();
  await d.shot('edit-card-waiting');
  await d.focusEditor();
  await d.goto(2);
  await d.agent('Accept Change');
  await pendingHunks(d, 1);
  await d.agent('Comment on Change');
  await d.answer('keep one');
  await d.agent('Reject Change');
  await d.entry('assistantMessage', 'Understood').waitFor();
  const told = async () => {
    await card.locator('.decided', { hasText: '1 accepted, 1 rejected: keep one' }).waitFor();
    await card.locator('.decided em', { hasText: 'keep one' }).waitFor();
    await card.locator('.counts', { hasText: '+3 −2' }).waitFor();
    const text = await card.evaluate((node) => node.textContent);
    assert.doesNotMatch(
      text,
      /old_string|hunk|edits:/,
      'neither arguments nor what the model reads',
    );
    const time = /([\d.]+) s/.exec(await card.locator('.status').textContent())?.[1] ?? '0';
    assert.ok(
      Number(time) * 1000 < Date.now() - asked - 500,
      `the user's time is not the tool's: ${time} s`,
    );
  };
  await told();
  await d.idle();
  await d.shot('edit-card');
  await d.prompt('fix what is not there');
  await d.entry('assistantMessage', 'Over').waitFor();
  await d.entry('toolCall', 'Not applied').waitFor();
  await d.shot('edit-card-failed');
  await d.idle();
  await d.panel.locator('body').evaluate((body) => body.classList.add('before'));
  await d.command('workbench.action.webview.reloadWebviewAction');
  await d.panel.locator('body:not(.before)').waitFor({ state: 'attached' });
  await told();
}

/**
 * Checks that the hover shows proposed and replaced text that is not in the buffer with syntax
 * highlighting. VS Code cannot highlight text that it shows between two lines.
 */
async function hunkInColors(d) {
  const file = await openCalc(d);
  await d.configure('editor.hover.enabled', 'on');
  const hover = (title) => d.page.locator('.monaco-hover:not(.hidden)', { hasText: title });
  const colored = async (title, text) => {
    await until(`the hover shows ${text}`, async () => {
      await d.goto(2);
      await d.command('editor.action.showHover');
      await hover(title).waitFor({ timeout: 5000 });
      return true;
    });
    const block = hover(title).locator('.monaco-tokenized-source', { hasText: text });
    await until('its words have several colors', async () => {
      const colors = await block.locator('span').evaluateAll((all) => {
        const words = all.filter((span) => /\w/.test(span.textContent));
        return words.map((span) => getComputedStyle(span).color);
      });
      return new Set(colors).size >= 2;
    });
  };
  await d.play(
    edit(file, 'return a - b;', 'return a + 25; // "sum"'),
    { text: 'Taken.' },
    edit(file, 'return a + 25; // "sum"', 'return a + b;'),
    { text: 'Put right.' },
  );
  await d.prompt('fix add');
  await lens(d, '1 of 1').waitFor();
  await d.focusEditor();
  await colored('Proposed text', 'return a + 25; // "sum"');
  await d.shot('hover-proposed');
  await d.page.keyboard.press('Escape');
  await d.agent('Accept Change');
  await d.entry('assistantMessage', 'Taken').waitFor();
  await d.idle();
  await editPolicy(d, 'review after');
  await d.prompt('and now right');
  await d.entry('assistantMessage', 'Put right').waitFor();
  await d.focusEditor();
  await colored('Replaced text', 'return a + 25; // "sum"');
  await d.agent('Accept All Changes'); // a pending change would also count in the next steps
  await lens(d, '1 of 1').waitFor({ state: 'hidden' });
  await d.configure('editor.hover.enabled', null);
}

export const reviewSteps = [
  ['prompt, stream, diff, accept', promptAndDiff],
  ['hunks of an unsaved file', hunksOfUnsavedFile],
  ['hunks by mouse', lensesByMouse],
  ['hunks of the diff', hunksOfTheDiff],
  ['accept with changes', acceptWithChanges],
  ['a file rejected, a comment in the comment box', fileRejected],
  ['hunks follow a rename', hunksFollowRename],
  ['by keyboard alone', byKeyboard],
  ['the changes bar', changesBar],
  ['inline hunks', hunksInPlace],
  ['changes in a card', editCard],
  ['a hunk with syntax colors', hunkInColors],
];

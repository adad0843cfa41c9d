// Tests the review of all files in one multi-file diff.
import assert from 'node:assert/strict';
import { until } from '../workbench.mjs';
import { calc, call, edit, edits, openCalc, pendingHunks } from './model.mjs';
import { pictured } from './themes.mjs';

const greet = 'export function greet(name) {\n  return "Helo " + name;\n}\n';
const notes = '# Notes\n\nZero is 1.\n';

const entry = (d, name) => d.page.locator('.multiDiffEntry', { hasText: name });
const row = (d, name, place) =>
  entry(d, name).locator('.modified .codelens-decoration', { hasText: place });
const button = (d, name, place, text) => row(d, name, place).locator('a', { hasText: text });
const line = (d, number) => d.page.locator('.statusbar-item', { hasText: `Ln ${number},` });

/** Opens the review of five changes in four files. One of the files is new. */
async function opened(d, expect) {
  const file = await openCalc(d);
  d.write('greet.js', greet);
  d.write('notes.md', notes);
  await d.play(
    {
      toolCalls: [
        ...edits(file, ['a - b', 'a + b'], ['return 1', 'return 0']).toolCalls,
        ...edit(d.at('greet.js'), 'Helo ', 'Hello ').toolCalls,
        ...edit(d.at('notes.md'), 'is 1', 'is 0').toolCalls,
        { name: 'write', arguments: { path: d.at('new.js'), content: 'export default 0;\n' } },
      ],
    },
    { expect, text: 'As you decided.' },
  );
  await d.prompt('fix what is wrong');
  await pendingHunks(d, 5);
  await d.click(d.panel.locator('.changes').getByRole('button', { name: 'Review' }));
  await row(d, 'calc.js', '1 of 2').waitFor();
}

/** Checks that a file in the review has no marks and no buttons left, because it is decided. */
async function decided(d, name) {
  const marks = entry(d, name).locator('.line-insert, .line-delete');
  await until(`${name} shows no change`, async () => (await marks.count()) === 0);
  await until(`${name} has no buttons`, async () => (await row(d, name, /./).count()) === 0);
}

/** Checks that the review is still shown, and that the cursor is at the next change. */
async function next(d, count, number) {
  await pendingHunks(d, count);
  await d.page.locator('.tab.active', { hasText: 'Pending changes by the agent' }).waitFor();
  await line(d, number).waitFor();
  await d.editorFocused();
}

/**
 * Decides the changes of several files in their review. Each change has its own buttons and menu
 * there, and the review stays open until the last decision.
 */
async function decidedInReview(d) {
  await opened(d, { sent: '(?s)rejected.*still one' });
  assert.deepEqual(await row(d, 'calc.js', '1 of 2').locator('a').count(), 4);
  await row(d, 'greet.js', '1 of 1').waitFor();
  await row(d, 'new.js', '1 of 1, new file').waitFor();
  const removed = (name) => entry(d, name).locator('.line-delete');
  await removed('greet.js').first().waitFor();
  assert.equal(await removed('new.js').count(), 0, 'a new file has no removed line');
  await pictured(d, (theme) => d.shot(`review-all-${theme}`));
  await d.clickUntil(
    button(d, 'calc.js', '1 of 2', 'Accept'),
    async () => (await row(d, 'calc.js', '1 of 2').count()) === 0,
  );
  await next(d, 4, 10);
  await d.shot('review-all-2');
  await d.page.keyboard.press('Control+Alt+y');
  await next(d, 3, 2); // the change of the next file
  await decided(d, 'calc.js');
  await d.shot('review-all-3');
  await d.page.keyboard.press('End');
  await d.page.keyboard.type(' // greets');
  await d.page.keyboard.press('Control+Alt+y');
  await next(d, 2, 3);
  await d.clickUntil(button(d, 'new.js', '1 of 1', 'Accept'), () =>
    d.page.locator('.statusbar-item', { hasText: '1 to review' }).isVisible(),
  );
  await next(d, 1, 3); // the other files are decided
  await decided(d, 'greet.js');
  await decided(d, 'new.js');
  await d.shot('review-all-4');
  const menu = row(d, 'notes.md', '1 of 1').locator('a:has(.codicon-ellipsis)');
  const comment = d.page.locator('.quick-input-list .monaco-list-row', { hasText: 'Comment' });
  await d.clickUntil(menu, () => comment.isVisible());
  await d.chooseLike('Comment', 'Comment');
  await d.answer('still one');
  await d.page.locator('.statusbar-item', { hasText: 'comment is sent with your' }).waitFor();
  await d.clickUntil(button(d, 'notes.md', '1 of 1', 'Reject'), () =>
    d.entry('assistantMessage', 'As you decided').isVisible(),
  );
  await d.page.locator('.tab', { hasText: 'Pending changes' }).waitFor({ state: 'hidden' });
  const labels = () => d.page.locator('.tab').evaluateAll((all) => all.map((t) => t.textContent));
  await until('no side of a diff is left open', async () => {
    const open = await labels();
    return open.length === new Set(open).size && !open.some((text) => text.includes('/all-files'));
  });
  await d.shot('review-all-5');
  await d.command('workbench.action.files.saveAll');
  const fixed = calc.replace('a - b', 'a + b').replace('return 1', 'return 0');
  await until('the files are as decided', () =>
    [d.read('calc.js') === fixed, d.read('greet.js').includes('name; // greets')].every(Boolean),
  );
  assert.equal(d.read('notes.md'), notes);
  assert.equal(d.read('new.js'), 'export default 0;\n');
}

/** Accepts all changes with the button in the title of the review. */
async function acceptedInTitle(d) {
  await opened(d, { sent: 'applied' });
  const title = d.page.locator('.editor-actions .action-label[aria-label^="Accept All Changes"]');
  await d.click(title);
  await d.page.locator('.tab', { hasText: 'Pending changes' }).waitFor({ state: 'hidden' });
  await until('it is accepted', () => d.read('greet.js').includes('"Hello "'));
}

/**
 * Decides on two files of a patch in the review. They show no change while the patch's third file
 * is undecided.
 */
async function patchInPart(d) {
  d.write('greet.js', greet);
  d.write('notes.md', notes);
  const patch = [
    '*** Begin Patch',
    `*** Update File: ${d.at('greet.js')}`,
    '@@',
    '-  return "Helo " + name;',
    '+  return "Hello " + name;',
    `*** Update File: ${d.at('notes.md')}`,
    '@@',
    '-Zero is 1.',
    '+Zero is 0.',
    `*** Add File: ${d.at('new.js')}`,
    '+export default 0;',
    '*** End Patch',
  ].join('\n');
  const reads = ['greet.js', 'notes.md'].map((name) => call('read', { path: d.at(name) }));
  await d.play(
    call('tool_search', { query: 'select:apply_patch' }),
    { toolCalls: reads.flatMap(({ toolCalls }) => toolCalls) },
    call('apply_patch', { patch }),
    { expect: { lastTool: 'rejected' }, text: 'As you decided.' },
  );
  await d.prompt('fix what is wrong');
  await pendingHunks(d, 3);
  await d.click(d.panel.locator('.changes').getByRole('button', { name: 'Review' }));
  await row(d, 'greet.js', '1 of 1').waitFor();
  await d.clickUntil(button(d, 'new.js', '1 of 1', 'Accept'), () =>
    d.page.locator('.statusbar-item', { hasText: '2 to review' }).isVisible(),
  );
  await decided(d, 'new.js');
  await d.clickUntil(button(d, 'greet.js', '1 of 1', 'Accept'), () =>
    d.page.locator('.statusbar-item', { hasText: '1 to review' }).isVisible(),
  );
  await decided(d, 'greet.js');
  await row(d, 'notes.md', '1 of 1').waitFor();
  await d.shot('review-patch');
  await d.clickUntil(button(d, 'notes.md', '1 of 1', 'Reject'), () =>
    d.entry('assistantMessage', 'As you decided').isVisible(),
  );
  await d.page.locator('.tab', { hasText: 'Pending changes' }).waitFor({ state: 'hidden' });
  assert.match(d.read('greet.js'), /"Hello "/);
  assert.equal(d.read('notes.md'), notes);
  assert.equal(d.read('new.js'), 'export default 0;\n');
}

export const allFilesSteps = [
  ['all files: buttons at each change', decidedInReview],
  ['all files: buttons in the title', acceptedInTitle],
  ['all files: a patch decided in part', patchInPart],
];

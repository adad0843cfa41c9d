import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Hunk, Item, Proposal } from '../../src/protocol';
import {
  commentsIn,
  countLines,
  decision,
  editedFiles,
  omissionNote,
} from '../../src/webview/edits';

const item = (more: Partial<Item> = {}): Item => ({
  itemId: 'i',
  type: 'toolCall',
  createdAt: '',
  name: 'edit',
  status: 'completed',
  ...more,
});
const at = { start: { line: 1, character: 0 }, end: { line: 2, character: 0 } };
const hunk = (state: Hunk['state'], oldText = 'a\n', newText = 'b\nc\n'): Hunk => ({
  hunkId: state,
  range: at,
  oldText,
  newText,
  state,
  matchTier: 'T0',
});
const proposal = (state: Proposal['state'], ...hunks: Hunk[]): Proposal => ({
  proposalId: 'p',
  revision: 1,
  sessionId: 's',
  turnId: 't',
  itemId: 'i',
  title: '',
  state,
  stat: { files: 1, added: 0, removed: 0 },
  files: [
    {
      op: 'modify',
      uri: 'file:///w/a.js',
      placement: 'proposed',
      version: 1,
      base: { sha256: '', eol: 'lf', bom: false },
      hunks,
    },
  ],
});
const lines = (args: unknown, name = 'edit') =>
  editedFiles(item({ args, name }), undefined).flatMap(({ hunks }) =>
    hunks.flatMap((h) => h.lines.map(({ kind, text }) => kind + text)),
  );

test('changes come from the proposal, or else from the arguments', () => {
  const files = editedFiles(
    item({ args: { old_string: 'x', new_string: 'y' } }),
    proposal('proposed', hunk('pending'), hunk('pending', '', 'd\n')),
  );
  assert.deepEqual(countLines(files), { added: 3, removed: 1 });
  assert.equal(files[0]?.hunks[0]?.line, 1);
  assert.deepEqual(
    lines({
      edits: [
        { old_string: 'x', new_string: 'y' },
        { old_string: '1', new_string: '' },
      ],
    }),
    ['-x', '+y', '-1'],
  );
  assert.deepEqual(lines({ path: 'a', content: 'x\ny\n' }, 'write'), ['+x', '+y']);
  assert.deepEqual(lines({ patch: '--- a\n+++ b\n@@\n keep\n-x\n+y\n' }, 'apply_patch'), [
    ' keep',
    '-x',
    '+y',
  ]);
  assert.deepEqual(lines({ path: 'a' }), []);
});

test("the user's version of a change is shown, also when the proposal is no longer known", () => {
  const change = { uri: 'file:///w/a.js', line: 3, oldText: 'a\n', newText: 'mine\n' };
  const details = { state: 'applied', accepted: 1, hunks: 1, changes: [change] };
  const args = { old_string: 'a', new_string: 'b' };
  const [file] = editedFiles(item({ args, details }), undefined);
  assert.equal(file?.uri, change.uri);
  assert.equal(file?.hunks[0]?.line, 3);
  assert.deepEqual(
    file?.hunks[0]?.lines.map(({ kind, text }) => kind + text),
    ['-a', '+mine'],
  );
  const shown = editedFiles(item({ args, details }), proposal('applied', hunk('accepted')));
  assert.deepEqual(countLines(shown), { added: 2, removed: 1 }, 'a known proposal comes first');
});

test('a version of the user that is too large is not replaced by the proposed text', () => {
  const details = { state: 'applied', accepted: 1, hunks: 1, changesOmitted: true };
  const call = item({ args: { old_string: 'a', new_string: 'b' }, details });
  assert.deepEqual(editedFiles(call, undefined), []);
  assert.match(omissionNote(call, undefined), /not shown/);
  const known = proposal('applied', hunk('accepted'));
  assert.equal(editedFiles(call, known).length, 1);
  assert.equal(omissionNote(call, known), '');
  assert.equal(omissionNote(item(), undefined), '');
});

test('a proposal that several edits share is shown only by the first edit', () => {
  assert.deepEqual(
    editedFiles(item({ itemId: 'other', args: {} }), proposal('proposed', hunk('pending'))),
    [],
  );
});

test('a decision is shown with counts', () => {
  assert.equal(decision(item(), proposal('proposed', hunk('pending'))), '');
  assert.equal(decision(item(), proposal('applied', hunk('accepted'))), 'Applied');
  assert.equal(
    decision(item(), proposal('partiallyApplied', hunk('accepted'), hunk('rejected'))),
    '1 accepted, 1 rejected',
  );
  assert.equal(decision(item(), proposal('rejected', hunk('rejected'))), 'Rejected');
  assert.equal(
    decision(item(), proposal('withdrawn', hunk('rejected'))),
    'Withdrawn before you decided',
  );
  assert.equal(
    decision(item({ details: { state: 'partiallyApplied', accepted: 2, hunks: 3 } }), undefined),
    '2 accepted, 1 rejected',
  );
  assert.match(decision(item({ status: 'failed' }), undefined), /^Not applied/);
});

test("a decision says that the user's own changes are included", () => {
  const diff = '--- proposed\n+++ user\n@@ -1 +1 @@\n-b\n+mine; hunk 7 changed by the user:\n';
  const one = `Edit a.js: applied 1/1 hunks; hunk 1 changed by the user:\n${diff}`;
  const both = `${one}; hunk 2 (a.js) changed by the user: "so":\n${diff}`;
  const applied = (result: string, ...hunks: Hunk[]) =>
    decision(item({ result }), proposal('applied', ...hunks));
  const accepted = hunk('accepted');
  assert.equal(applied(one, accepted), '1 accepted with your changes');
  assert.equal(applied(one, accepted, accepted), '2 accepted, 1 with your changes');
  assert.equal(applied(both, accepted, accepted), '2 accepted with your changes');
  const comment = 'applied 1/2 hunks; hunk 2 rejected: "hunk 1 changed by the user:"';
  assert.equal(applied(comment, accepted), 'Applied');
  assert.equal(
    decision(item({ result: one }), proposal('partiallyApplied', accepted, hunk('rejected'))),
    '1 accepted with your changes, 1 rejected',
  );
  const details = { state: 'applied', accepted: 2, hunks: 2, changesOmitted: true };
  assert.equal(decision(item({ details }), undefined), '2 accepted, some with your changes');
});

test('only comments are extracted from a result', () => {
  const result =
    'Edit a.js: applied 1/3 hunks; hunk 1 accepted: "fine \\"so\\""; hunk 2 (a.js) rejected: "no"\nThe user says: "shorter"\nThe proposed text:\nhunk 9 rejected: "text of the file"';
  assert.deepEqual(commentsIn(result), ['fine "so"', 'no', 'shorter']);
  assert.deepEqual(commentsIn('Edit a.js: applied 1/1 hunks'), []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HunkLenses } from '../../src/review/lenses';
import { EventEmitter, fake, Uri } from './vscode';

/** Returns the rows above pending changes in a side of a diff. The test decides the changes. */
function shownRows() {
  const changes = new EventEmitter<void>();
  const at = { start: { line: 1, character: 0 }, end: { line: 2, character: 0 } };
  const file = { placement: 'proposed', op: 'create' };
  let hunks = [
    { proposal: { proposalId: 'p' }, file, mark: { hunk: { hunkId: '1' }, range: at } },
    { proposal: { proposalId: 'p' }, file, mark: { hunk: { hunkId: '2' }, range: at } },
  ];
  const files = () =>
    hunks.slice(0, 1).map((first) => ({ ...first, marks: hunks.map(({ mark }) => mark) }));
  const sides = { hunksOfSide: async () => hunks };
  const lenses = new HunkLenses({ onChange: changes.event, files } as never, sides as never);
  const document = { uri: Uri.parse('agent-proposed:///a.js') };
  fake.editors = [{ document }];
  let told = 0;
  lenses.onDidChangeCodeLenses(() => told++);
  return {
    decide: () => {
      hunks = hunks.slice(1);
      changes.fire();
    },
    changes,
    asked: async () => {
      const rows = await lenses.provideCodeLenses(document as never);
      return rows.map(({ command }) => command?.title);
    },
    told: () => told,
  };
}

test('each change has two buttons, a menu and its number, and a new file is named', async () => {
  const titles = (await shownRows().asked()).map((title) => title?.replace(/^.*\u00a0/, ''));
  assert.deepEqual(titles.slice(0, 4), ['Accept', 'Reject', '$(ellipsis)', '1 of 2, new file']);
  assert.equal(titles.length, 8);
});

test('the editor is told again if it lost the focus before it asked for the rows', async () => {
  const rows = shownRows();
  await rows.asked();
  fake.activated.fire();
  assert.equal(rows.told(), 0, 'nothing has changed');
  rows.decide();
  assert.equal(rows.told(), 1);
  fake.activated.fire();
  assert.equal(rows.told(), 2, 'the editor has not asked');
  rows.changes.fire();
  assert.equal(rows.told(), 3, 'the result of the decision arrives, and the editor has not asked');
  await rows.asked();
  fake.activated.fire();
  rows.changes.fire();
  assert.equal(rows.told(), 3, 'the editor has asked');
  rows.decide();
  assert.equal(rows.told(), 4);
  assert.deepEqual(await rows.asked(), []);
  fake.activated.fire();
  assert.equal(rows.told(), 4, 'a document without rows is not old');
});

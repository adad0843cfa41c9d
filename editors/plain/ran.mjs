// node ran.mjs NAME EDITOR STEP...: what a test did, and in which editor, is what testdata/editors.json says of it. The tables of editors
// are made from that list, so they tell of tests that ran.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

const list = path.join(import.meta.dirname, '..', '..', 'testdata', 'editors.json');
const steps = ['prompt', 'watch', 'permit', 'review', 'undo', 'stop'];

export function ran(name, editor, told) {
  const unknown = told.filter((step) => !steps.includes(step));
  assert.deepEqual(unknown, [], `the steps of a test are some of ${steps.join(', ')}`);
  const did = steps.filter((step) => told.includes(step));
  const row = JSON.parse(fs.readFileSync(list, 'utf8')).real[name];
  assert.ok(row, `testdata/editors.json knows no test ${name}`);
  assert.deepEqual(
    { editor, did },
    { editor: row.editor, did: row.did },
    `testdata/editors.json tells otherwise of ${name}`,
  );
}

if (process.argv[1] === import.meta.filename)
  ran(process.argv[2], process.argv[3], process.argv.slice(4));

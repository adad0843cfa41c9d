// node ran.mjs NAME EDITOR STEP... checks that testdata/editors.json lists exactly the steps that a
// test performed, and the editor in which the test ran. The tables of editors are generated from
// that list.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

const list = path.join(import.meta.dirname, '..', '..', 'testdata', 'editors.json');
const steps = ['prompt', 'watch', 'permit', 'review', 'undo', 'stop'];

export function ran(name, editor, reported) {
  const unknown = reported.filter((step) => !steps.includes(step));
  assert.deepEqual(unknown, [], `the steps of a test are some of ${steps.join(', ')}`);
  const did = steps.filter((step) => reported.includes(step));
  const row = JSON.parse(fs.readFileSync(list, 'utf8')).real[name];
  assert.ok(row, `testdata/editors.json knows no test ${name}`);
  assert.deepEqual(
    { editor, did },
    { editor: row.editor, did: row.did },
    `testdata/editors.json differs for ${name}`,
  );
}

if (process.argv[1] === import.meta.filename)
  ran(process.argv[2], process.argv[3], process.argv.slice(4));

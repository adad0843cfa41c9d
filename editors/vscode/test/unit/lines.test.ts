import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lineDiff, lineStat, patchLines } from '../../src/lines';

const shown = (before: string, after: string) =>
  lineDiff(before, after).map(({ kind, text }) => kind + text);

test('lines that are in both texts are kept', () => {
  assert.deepEqual(shown('a\nb\nc\n', 'a\nB\nc\n'), [' a', '-b', '+B', ' c']);
  assert.deepEqual(shown('', 'a\nb\n'), ['+a', '+b']);
  assert.deepEqual(shown('a\r\nb\r\n', ''), ['-a', '-b']);
  assert.deepEqual(shown('a\nb\nc\nd\n', 'b\nx\nd\n'), ['-a', ' b', '-c', '+x', ' d']);
  assert.deepEqual(shown('same', 'same'), [' same']);
});

test('the counts include only changed lines', () => {
  assert.deepEqual(lineStat('a\nb\nc\n', 'a\nc\nd\ne\n'), { added: 2, removed: 1 });
  const many = Array.from({ length: 3000 }, (_, i) => `${i}\n`).join('');
  assert.deepEqual(lineStat(many, many.replaceAll('\n', 'x\n')), { added: 3000, removed: 3000 });
});

test('a diff is shown without its file names, and a patch in another format is shown whole', () => {
  const lines = (diff: string) => patchLines(diff).map(({ kind, text }) => `${kind}|${text}`);
  assert.deepEqual(lines('--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@ f()\n a\n--- b\n++++ c\n'), [
    '@|Line 1',
    ' |a',
    '-|-- b',
    '+|+++ c',
  ]);
  assert.deepEqual(
    lines('--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n\\ No newline at end of file\n'),
    ['@|Line 1', '-|a', '@|\\ No newline at end of file'],
  );
  assert.deepEqual(lines('*** Add File: y\n+a\n'), ['@|*** Add File: y', '+|a']);
  const unplaced = '--- a/x\n+++ b/x\n@@ @@\n-a\n+b\n@@\n-c\n@@ f()\n+d\n';
  assert.deepEqual(lines(unplaced), ['-|a', '+|b', '@|', '-|c', '@|@@ f()', '+|d']);
});

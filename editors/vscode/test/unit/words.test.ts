import assert from 'node:assert/strict';
import { test } from 'node:test';
import { changedWords } from '../../src/review/words';

const parts = (text: string, spans: { start: number; end: number }[]) =>
  spans.map(({ start, end }) => text.slice(start, end));

function check(before: string, after: string, removed: string[], added: string[]): void {
  const changed = changedWords(before, after);
  assert.deepEqual(parts(before, changed.before), removed);
  assert.deepEqual(parts(after, changed.after), added);
}

test('one word', () => check('return a - b;', 'return a + b;', ['-'], ['+']));
test('added words', () => check('f(a)', 'f(a, b)', [], [', b']));
test('a hunk with an empty side is colored by line', () => check('', 'x', [], []));
test('white space alone is not colored', () => check('a  b', 'a b', [], []));
test('a huge hunk is colored by line', () => check('x '.repeat(2000), 'y '.repeat(2000), [], []));

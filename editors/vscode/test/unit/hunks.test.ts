import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Hunk, ProposalFile } from '../../src/protocol';
import {
  endOf,
  grow,
  marksFrom,
  nearestMark,
  nextMark,
  Offsets,
  shift,
  shownBase,
  sidesOf,
  type Change,
} from '../../src/review/hunks';

const at = (line: number, character: number) => ({ line, character });
const range = (a: number, b: number, c: number, d: number) => ({ start: at(a, b), end: at(c, d) });
const change = (a: number, b: number, c: number, d: number, text: string): Change => ({
  range: range(a, b, c, d),
  text,
});

test('a range moves with text typed before it', () => {
  assert.deepEqual(shift(range(2, 0, 3, 0), change(0, 0, 0, 0, 'x\ny\n')), range(4, 0, 5, 0));
  assert.deepEqual(shift(range(2, 4, 2, 8), change(2, 0, 2, 2, 'abc')), range(2, 5, 2, 9));
  assert.deepEqual(shift(range(2, 0, 3, 0), change(0, 0, 2, 0, '')), range(0, 0, 1, 0));
});

test('a range does not move when text is typed after it or at its end', () => {
  assert.deepEqual(shift(range(2, 0, 3, 0), change(3, 0, 3, 0, 'x\n')), range(2, 0, 3, 0));
  assert.deepEqual(shift(range(2, 0, 3, 0), change(5, 0, 6, 0, '')), range(2, 0, 3, 0));
});

test('text typed at the start of a range moves the range', () => {
  assert.deepEqual(shift(range(2, 0, 3, 0), change(2, 0, 2, 0, 'x\n')), range(3, 0, 4, 0));
});

test('a range grows with text typed inside it', () => {
  assert.deepEqual(shift(range(2, 0, 4, 0), change(3, 1, 3, 1, 'a\nb')), range(2, 0, 5, 0));
});

test('a deleted range becomes empty', () => {
  assert.deepEqual(shift(range(2, 0, 3, 0), change(1, 0, 4, 0, '')), range(1, 0, 1, 0));
});

test('an empty range does not move when text is inserted at its position', () => {
  assert.deepEqual(shift(range(2, 0, 2, 0), change(2, 0, 2, 0, 'x\n')), range(2, 0, 2, 0));
});

test('an editable range includes text typed at its edges', () => {
  assert.deepEqual(grow(range(2, 0, 3, 0), change(3, 0, 3, 0, 'x\n')), range(2, 0, 4, 0));
  assert.deepEqual(grow(range(2, 0, 3, 0), change(2, 0, 2, 0, 'x\n')), range(2, 0, 4, 0));
});

test('marks agree with a marker text under random edits', () => {
  let seed = 7;
  const random = (n: number) => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % n;
  for (let round = 0; round < 300; round++) {
    let text = 'aa\nbb\ncc\n<M>\ndd\nee\n';
    let place = range(3, 0, 4, 0);
    for (let i = 0; i < 8; i++) {
      const offsets = new Offsets(text);
      const mark = text.indexOf('<M>\n');
      const before = random(2) === 0;
      const low = before ? 0 : mark + 4;
      const high = before ? mark : text.length;
      const a = low + random(high - low + 1);
      const b = a + random(high - a + 1);
      const inserted = ['', 'x', '\n', 'long\nlines\n', 'y\n'][random(5)] ?? '';
      // This edit would join the marker's line to the inserted text.
      if (before && b === mark && inserted !== '' && !inserted.endsWith('\n')) continue;
      if (before && b === mark && inserted === '' && a > 0 && text[a - 1] !== '\n') continue;
      place = shift(place, {
        range: { start: offsets.positionAt(a), end: offsets.positionAt(b) },
        text: inserted,
      });
      text = text.slice(0, a) + inserted + text.slice(b);
    }
    const offsets = new Offsets(text);
    assert.equal(
      text.slice(offsets.at(place.start), offsets.at(place.end)),
      '<M>\n',
      JSON.stringify(text),
    );
  }
});

test('positions and offsets agree, CRLF and lone CR included', () => {
  const text = 'a\r\nbb\rc\n\n😀d';
  const offsets = new Offsets(text);
  assert.equal(offsets.at(at(1, 1)), 4);
  assert.equal(offsets.at(at(2, 0)), 6);
  assert.equal(offsets.at(at(4, 2)), text.indexOf('d'));
  assert.equal(offsets.at(at(99, 0)), text.length);
  for (const offset of [0, 3, 6, 8, 9, 11])
    assert.equal(offsets.at(offsets.positionAt(offset)), offset);
});

test('endOf returns the position after a text', () => {
  assert.deepEqual(endOf(at(1, 2), 'abc'), at(1, 5));
  assert.deepEqual(endOf(at(1, 2), 'a\r\nbc'), at(2, 2));
});

const hunk = (
  hunkId: string,
  r: Hunk['range'],
  oldText: string,
  newText: string,
  state: Hunk['state'] = 'pending',
): Hunk => ({ hunkId, range: r, oldText, newText, state, matchTier: 'T0' });
const file = (placement: ProposalFile['placement'], ...hunks: Hunk[]): ProposalFile => ({
  op: 'modify',
  uri: 'file:///a',
  placement,
  version: 1,
  base: { sha256: '', eol: 'lf', bom: false },
  hunks,
});

test('both sides of a proposed file', () => {
  const f = file(
    'proposed',
    hunk('1', range(1, 0, 2, 0), 'b\n', 'B\nB2\n'),
    hunk('2', range(3, 0, 3, 0), '', 'new\n'),
    hunk('3', range(0, 0, 1, 0), 'a\n', 'A\n', 'rejected'),
  );
  const sides = sidesOf('a\nb\nc\n', f, marksFrom(f));
  assert.equal(sides.base, 'a\nb\nc\n');
  assert.equal(sides.proposed, 'a\nB\nB2\nc\nnew\n');
  assert.deepEqual(
    sides.marks.map((m) => m.range),
    [range(1, 0, 3, 0), range(4, 0, 5, 0)],
  );
});

test('both sides of an applied file', () => {
  const f = file('applied', hunk('1', range(1, 0, 3, 0), 'b\n', 'B\nB2\n'));
  const sides = sidesOf('a\nB\nB2\nc\n', f, marksFrom(f));
  assert.equal(sides.base, 'a\nb\nc\n');
  assert.equal(sides.proposed, 'a\nB\nB2\nc\n');
});

test('a diff of a new file has no removed line', () => {
  const sides = (base: string, proposed: string) => ({ base, proposed, marks: [], baseMarks: [] });
  // The line equals the empty last line of the new text, because the diff ignores the space.
  assert.equal(shownBase(sides('', 'a\nb\n'), true), ' ');
  assert.equal(shownBase(sides('', 'a\nb\n'), false), '');
  assert.equal(shownBase(sides('', 'a'), true), '', 'this text has no line that is equal');
  assert.equal(shownBase(sides('a\n', 'b\n'), true), 'a\n');
});

test('both sides keep the line endings of the file', () => {
  const f = file('proposed', hunk('1', range(1, 0, 2, 0), 'b\n', 'B\nB2\n'));
  assert.equal(sidesOf('a\r\nb\r\nc\r\n', f, marksFrom(f)).proposed, 'a\r\nB\r\nB2\r\nc\r\n');
});

test('a stale hunk is on neither side', () => {
  const f = file('proposed', hunk('1', range(0, 0, 1, 0), 'a\n', 'A\n', 'stale'));
  assert.equal(sidesOf('x\n', f, marksFrom(f)).proposed, 'x\n');
});

test('the hunk at a line of a side is found by its position on that side', () => {
  const text = Array.from({ length: 40 }, (_, i) => `${i}\n`).join('');
  const more = 'new\n'.repeat(20);
  const f = file(
    'proposed',
    hunk('1', range(1, 0, 1, 0), '', more),
    hunk('2', range(20, 0, 21, 0), '20\n', 'x\n'),
    hunk('3', range(35, 0, 36, 0), '35\n', 'y\n'),
  );
  const { marks, baseMarks } = sidesOf(text, f, marksFrom(f));
  // By its line number in the file, this would be hunk 3.
  assert.equal(nearestMark(marks, 40)?.hunk.hunkId, '2');
  assert.equal(nearestMark(baseMarks, 34)?.hunk.hunkId, '3');
  assert.equal(nextMark(marks, 21, 1)?.hunk.hunkId, '2');
  assert.equal(nextMark(marks, 40, -1)?.hunk.hunkId, '1');
  assert.equal(nextMark(marks, 55, 1), undefined);
});

test('an applied file has marks on both sides', () => {
  const f = file(
    'applied',
    hunk('1', range(0, 0, 3, 0), 'b\n', 'B\nB2\nB3\n'),
    hunk('2', range(4, 0, 5, 0), 'd\n', 'D\n'),
  );
  const sides = sidesOf('B\nB2\nB3\nc\nD\n', f, marksFrom(f));
  assert.equal(sides.base, 'b\nc\nd\n');
  assert.deepEqual(
    sides.baseMarks.map((m) => m.range),
    [range(0, 0, 1, 0), range(2, 0, 3, 0)],
  );
  assert.deepEqual(
    sides.marks.map((m) => m.range),
    [range(0, 0, 3, 0), range(4, 0, 5, 0)],
  );
});

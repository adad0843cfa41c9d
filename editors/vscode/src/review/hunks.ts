// Tracks the ranges of pending hunks while the user types. The functions are pure and only convert
// positions.
import type { Hunk, Position, ProposalFile, Range } from '../protocol';

export interface Change {
  range: Range;
  text: string;
}

/** A hunk and its current range. */
export interface Mark {
  hunk: Hunk;
  range: Range;
}

export function compare(a: Position, b: Position): number {
  return a.line - b.line || a.character - b.character;
}

/** Reports whether a hunk is undecided. */
export function isOpen(hunk: Hunk): boolean {
  return hunk.state === 'pending' || hunk.state === 'stale';
}

/** Returns marks for a file's undecided hunks, at the positions that the daemon reported. */
export function marksFrom(file: ProposalFile): Mark[] {
  return file.hunks.filter(isOpen).map((hunk) => ({ hunk, range: hunk.range }));
}

/**
 * Moves a range after a change to its document. A change inside the range extends the range. A
 * change that only touches an edge of the range does not extend it.
 */
export function shift(range: Range, change: Change): Range {
  const empty = compare(range.start, range.end) === 0;
  const start = shiftPosition(
    range.start,
    change,
    !empty || compare(change.range.start, range.start) < 0,
  );
  const end = shiftPosition(range.end, change, false);
  return compare(start, end) <= 0 ? { start, end } : { start, end: start };
}

/**
 * Moves a range as shift does, but text that is typed at an edge becomes part of the range. It is
 * used for text that the user may edit.
 */
export function grow(range: Range, change: Change): Range {
  const start = shiftPosition(range.start, change, false);
  const end = shiftPosition(range.end, change, true);
  return { start, end };
}

function shiftPosition(position: Position, change: Change, insertMoves: boolean): Position {
  const { start, end } = change.range;
  if (compare(position, start) < 0) return position;
  if (compare(position, start) === 0 && !(insertMoves && compare(end, position) <= 0))
    return position;
  const inserted = endOf(start, change.text);
  if (compare(position, end) < 0) return insertMoves ? inserted : minPosition(position, inserted);
  if (position.line !== end.line)
    return { line: position.line + inserted.line - end.line, character: position.character };
  return {
    line: inserted.line,
    character: inserted.character + position.character - end.character,
  };
}

function minPosition(a: Position, b: Position): Position {
  return compare(a, b) <= 0 ? a : b;
}

/** Returns the end position of text that begins at a position. */
export function endOf(start: Position, text: string): Position {
  const lines = text.split(/\r\n|\r|\n/);
  const last = lines[lines.length - 1] ?? '';
  if (lines.length === 1) return { line: start.line, character: start.character + last.length };
  return { line: start.line + lines.length - 1, character: last.length };
}

/** Returns the mark at or nearest to a line. */
export function nearestMark(marks: Mark[], line: number): Mark | undefined {
  const distance = ({ range }: Mark) => Math.max(range.start.line - line, line - range.end.line, 0);
  return [...marks].sort((a, b) => distance(a) - distance(b))[0];
}

/** Returns the first mark below a line if `by` is 1, or the last mark above it if `by` is -1. */
export function nextMark(marks: Mark[], line: number, by: 1 | -1): Mark | undefined {
  const sorted = [...marks].sort((a, b) => compare(a.range.start, b.range.start));
  return by > 0
    ? sorted.find(({ range }) => range.start.line > line)
    : sorted.findLast(({ range }) => range.start.line < line);
}

/** Converts positions in one text to offsets in UTF-16 units. */
export class Offsets {
  private readonly starts: number[] = [0];

  constructor(private readonly text: string) {
    for (let i = 0; i < text.length; i++) {
      const c = text.charCodeAt(i);
      if (c === 13 && text.charCodeAt(i + 1) === 10) i++;
      else if (c !== 10 && c !== 13) continue;
      this.starts.push(i + 1);
    }
  }

  at(position: Position): number {
    if (position.line >= this.starts.length) return this.text.length;
    const start = this.starts[position.line] ?? 0;
    const next = this.starts[position.line + 1] ?? this.text.length;
    return Math.min(start + position.character, next);
  }

  positionAt(offset: number): Position {
    let low = 0;
    let high = this.starts.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if ((this.starts[middle] ?? 0) <= offset) low = middle;
      else high = middle - 1;
    }
    return { line: low, character: offset - (this.starts[low] ?? 0) };
  }
}

export interface Sides {
  base: string;
  proposed: string;
  /** The shown hunks and their ranges in the proposed text. */
  marks: Mark[];
  /** The shown hunks and their ranges in the base text. */
  baseMarks: Mark[];
}

/**
 * Returns both sides of a file's pending hunks, from the current text and the hunks' ranges in it.
 */
export function sidesOf(text: string, file: ProposalFile, marks: Mark[]): Sides {
  if (file.op === 'create') return whole('', marks[0]?.hunk.newText ?? '', marks);
  if (file.op === 'delete') return whole(marks[0]?.hunk.oldText ?? text, '', marks);
  const offsets = new Offsets(text);
  const eol = file.base.eol === 'crlf' || /\r\n/.test(text) ? '\r\n' : '\n';
  const inText = (s: string) => (eol === '\n' ? s : s.replace(/\r?\n/g, eol));
  let base = '';
  let proposed = '';
  let from = 0;
  const placed: { mark: Mark; base: Span; proposed: Span }[] = [];
  for (const mark of [...marks].sort((a, b) => compare(a.range.start, b.range.start))) {
    if (mark.hunk.state !== 'pending') continue;
    const start = offsets.at(mark.range.start);
    const end = offsets.at(mark.range.end);
    if (start < from) continue; // this hunk overlaps the previous one, so one of them will be stale
    const kept = text.slice(from, start);
    const own = text.slice(start, end);
    base += kept;
    proposed += kept;
    const [baseAt, proposedAt] = [base.length, proposed.length];
    base += file.placement === 'applied' ? inText(mark.hunk.oldText) : own;
    proposed += file.placement === 'applied' ? own : inText(mark.hunk.newText);
    placed.push({ mark, base: [baseAt, base.length], proposed: [proposedAt, proposed.length] });
    from = end;
  }
  base += text.slice(from);
  proposed += text.slice(from);
  const marked = (side: string, spans: [Mark, Span][]): Mark[] => {
    const to = new Offsets(side);
    return spans.map(([{ hunk }, [start, end]]) => ({
      hunk,
      range: { start: to.positionAt(start), end: to.positionAt(end) },
    }));
  };
  return {
    base,
    proposed,
    marks: marked(
      proposed,
      placed.map((p) => [p.mark, p.proposed]),
    ),
    baseMarks: marked(
      base,
      placed.map((p) => [p.mark, p.base]),
    ),
  };
}

/**
 * Returns the base text as a diff shows it. If a side of a diff is empty, VS Code treats its only
 * line as changed, and shows an empty removed line above the text of a new file. If the diff ignores
 * spaces at the ends of lines, a line with a space equals the empty last line of the new text.
 */
export function shownBase({ base, proposed }: Sides, ignoresSpace: boolean): string {
  return base === '' && ignoresSpace && proposed.endsWith('\n') ? ' ' : base;
}

/** The start and end offsets of a part of a text. */
type Span = [number, number];

function whole(base: string, proposed: string, marks: Mark[]): Sides {
  const start = { line: 0, character: 0 };
  const over = (side: string) =>
    marks.map(({ hunk }) => ({ hunk, range: { start, end: endOf(start, side) } }));
  return { base, proposed, marks: over(proposed), baseMarks: over(base) };
}

// Compares two texts line by line. The functions are pure.

export interface Line {
  kind: ' ' | '+' | '-';
  text: string;
}

/**
 * The maximum number of cells in the comparison table. If a comparison needs more, the whole middle
 * is treated as replaced.
 */
const maxCells = 1_000_000;

/** Splits text into lines. A final line ending does not start another line. */
export function splitLines(text: string): string[] {
  if (text === '') return [];
  return text.replace(/\r?\n$/, '').split(/\r?\n/);
}

/**
 * Returns the difference between two texts as kept, removed and added lines, in order. Removed
 * lines precede added ones.
 */
export function lineDiff(before: string, after: string): Line[] {
  const a = splitLines(before);
  const b = splitLines(after);
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (
    tail < a.length - head &&
    tail < b.length - head &&
    a[a.length - 1 - tail] === b[b.length - 1 - tail]
  )
    tail++;
  const kept = (text: string): Line => ({ kind: ' ', text });
  return [
    ...a.slice(0, head).map(kept),
    ...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail).map(kept),
  ];
}

/** A line of a diff. The kind `@` is a heading between changes. */
export interface PatchLine {
  kind: Line['kind'] | '@';
  text: string;
}

/**
 * Splits a unified diff of one file, or a patch in another format, into lines. The names of the
 * file at its beginning are omitted, and positions become headings such as "Line 3". A change
 * without a position has no heading, and an empty line separates it from the previous change.
 */
export function patchLines(diff: string): PatchLine[] {
  const lines = splitLines(diff);
  const named = lines[0]?.startsWith('--- ') && lines[1]?.startsWith('+++ ');
  return lines.slice(named ? 2 : 0).flatMap((line, index): PatchLine[] => {
    const kind = line[0];
    if (kind === ' ' || kind === '+' || kind === '-') return [{ kind, text: line.slice(1) }];
    if (/^@@\s*(@@)?$/.test(line)) return index === 0 ? [] : [{ kind: '@', text: '' }];
    const [, first] = /^@@ -\S+ \+(\d+)\S* @@/.exec(line) ?? [];
    // Line 0 in a position means that the file has no text.
    return [{ kind: '@', text: first === undefined ? line : `Line ${Number(first) || 1}` }];
  });
}

/** Returns the number of added lines and the number of removed lines. */
export function lineStat(before: string, after: string): { added: number; removed: number } {
  const lines = lineDiff(before, after);
  return {
    added: lines.filter(({ kind }) => kind === '+').length,
    removed: lines.filter(({ kind }) => kind === '-').length,
  };
}

function middle(a: string[], b: string[]): Line[] {
  const removed = (text: string): Line => ({ kind: '-', text });
  const added = (text: string): Line => ({ kind: '+', text });
  if (a.length === 0 || b.length === 0 || a.length * b.length > maxCells)
    return [...a.map(removed), ...b.map(added)];
  const width = b.length + 1;
  // Each cell contains the length of the longest common subsequence of the remaining lines.
  const common = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      common[i * width + j] =
        a[i] === b[j]
          ? common[(i + 1) * width + j + 1]! + 1
          : Math.max(common[(i + 1) * width + j]!, common[i * width + j + 1]!);
    }
  }
  const out: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      out.push({ kind: ' ', text: a[i++]! });
      j++;
    } else if (
      i < a.length &&
      (j === b.length || common[(i + 1) * width + j]! >= common[i * width + j + 1]!)
    ) {
      out.push(removed(a[i++]!));
    } else {
      out.push(added(b[j++]!));
    }
  }
  return out;
}

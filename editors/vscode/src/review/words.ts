// Finds the words that differ between a replaced text and the new text. The functions are pure.

export interface Span {
  start: number;
  end: number;
}

/** The maximum number of words in a text. In a longer hunk, only whole lines are colored. */
const maxWords = 600;

/**
 * Returns the parts of each text that are not in the longest common sequence of words. If a text is
 * empty or has too many words, there are none.
 */
export function changedWords(before: string, after: string): { before: Span[]; after: Span[] } {
  const a = wordsOf(before);
  const b = wordsOf(after);
  if (a.length > maxWords || b.length > maxWords || a.length === 0 || b.length === 0)
    return { before: [], after: [] };
  const common = longest(
    a.map((w) => w.text),
    b.map((w) => w.text),
  );
  return {
    before: spans(a, new Set(common.map(([i]) => i))),
    after: spans(b, new Set(common.map(([, j]) => j))),
  };
}

function wordsOf(text: string): { text: string; start: number }[] {
  return [...text.matchAll(/\w+|\s+|[^\w\s]/gu)].map((m) => ({ text: m[0], start: m.index }));
}

/** Returns the longest common subsequence as pairs of indexes. */
function longest(a: string[], b: string[]): [number, number][] {
  const width = b.length + 1;
  const table = new Uint16Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      table[i * width + j] =
        a[i] === b[j]
          ? (table[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(table[(i + 1) * width + j] ?? 0, table[i * width + j + 1] ?? 0);
    }
  }
  const pairs: [number, number][] = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if ((table[(i + 1) * width + j] ?? 0) >= (table[i * width + j + 1] ?? 0)) i++;
    else j++;
  }
  return pairs;
}

function spans(words: { text: string; start: number }[], kept: Set<number>): Span[] {
  const out: Span[] = [];
  words.forEach(({ text, start }, i) => {
    const last = out[out.length - 1];
    if (kept.has(i)) return;
    if (last && last.end === start) last.end = start + text.length;
    else out.push({ start, end: start + text.length });
  });
  return out.filter(({ start, end }) =>
    words.some((w) => w.start >= start && w.start < end && w.text.trim() !== ''),
  );
}

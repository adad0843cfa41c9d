/**
 * The maximum number of table cells. Each row has as many cells as the header, so a short text can
 * become a table that needs gigabytes.
 */
const mostCells = 500_000;
/** The maximum sum of the squared lengths of words. The search for mail addresses is quadratic. */
const mostWords = 100_000_000;
/** Quotes and lists that are nested so deeply that the parser's stack would overflow. */
const deep = /^[ \t]*(?:(?:>|(?:[-*+]|\d{1,9}[.)])[ \t])[ \t]*){100}/m;

/** Reports whether Markdown would need too much time, memory or stack. */
export function isCostly(text: string): boolean {
  return deep.test(text) || cells(text) > mostCells || words(text) > mostWords;
}

/** Returns the maximum number of cells that a table in the text could have. */
function cells(text: string): number {
  let rows = 1;
  let columns = 0;
  let pipes = 0;
  for (const c of text) {
    if (c === '|') columns = Math.max(columns, ++pipes);
    else if (c === '\n') {
      rows++;
      pipes = 0;
    }
  }
  return rows * columns;
}

function words(text: string): number {
  let sum = 0;
  for (const [word] of text.matchAll(/\S{100,}/g)) sum += word.length ** 2;
  return sum;
}

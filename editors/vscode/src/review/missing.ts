// Formats the text of a hunk that the buffer does not contain, which is either proposed text or
// text that was replaced.
import type { Hunk, ProposalFile } from '../protocol';

/** The maximum number of characters of the text that is shown in a row between two lines. */
const rowLength = 100;
/** The maximum number of lines of the text that is shown in the hover. */
const hoverLines = 40;

export interface Missing {
  sign: '+' | '−';
  lines: string[];
}

export function missingOf({ placement }: ProposalFile, { oldText, newText }: Hunk): Missing {
  const text = placement === 'applied' ? oldText : newText;
  const lines = text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/);
  return { sign: placement === 'applied' ? '−' : '+', lines };
}

/**
 * Returns the missing text as one row, because the editor has room for only one row between two
 * lines. The result is empty if there is nothing to show.
 */
export function rowOf({ sign, lines }: Missing): string {
  if (lines.length === 0) return '';
  const text = lines.map((line) => line.trim()).join(' ⏎ ');
  const cut = text.length > rowLength ? `${text.slice(0, rowLength - 1)}…` : text;
  return `${sign}\u00a0${cut.replace(/ (?= )/g, '\u00a0')}`;
}

/** Returns the missing text as Markdown, highlighted as code in the given language. */
export function missingMarkdown({ sign, lines }: Missing, languageId: string): string {
  const ticks = [...lines.join('\n').matchAll(/`+/g)].map(([run]) => run.length + 1);
  const fence = '`'.repeat(Math.max(3, ...ticks));
  const block = `${fence}${languageId}\n${lines.slice(0, hoverLines).join('\n')}\n${fence}`;
  const more = lines.length > hoverLines ? `\n\n… ${lines.length - hoverLines} more lines` : '';
  return `${sign === '+' ? 'Proposed text' : 'Replaced text'}\n\n${block}${more}`;
}

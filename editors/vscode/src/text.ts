// Words for the user.

/** A number with its noun. */
export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}

/** What fits into a row of a list. */
export function firstLine(text: string, most = 80): string {
  const line = text.trim().split('\n')[0] ?? '';
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

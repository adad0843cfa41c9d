// Words for the user.

/** What happens with edits, by the value of the setting. */
export const policyWords: Record<string, string> = {
  ask: 'ask first',
  review: 'review after',
  collect: 'collect',
  auto: 'automatic',
  confirm: 'confirm',
};

/** What commands may do, by the value of the setting. */
export const profileWords: Record<string, string> = {
  readOnly: 'read-only', ask: 'ask', workspace: 'in the sandbox', trust: 'all allowed',
};

/** A number with its noun. */
export function counted(count: number, thing: string): string {
  return `${count} ${thing}${count === 1 ? '' : 's'}`;
}

/** What fits into a row of a list. */
export function firstLine(text: string, most = 80): string {
  const line = text.trim().split('\n')[0] ?? '';
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
}

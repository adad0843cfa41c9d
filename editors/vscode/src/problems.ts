// What went wrong, in the words that the panel shows, and the kind of help that it needs.
import { NoProgramError } from './bootstrap';
import { sentenceOf } from './text';
import type { Problem } from './webview/messages';

/** The code of an error that says that no provider is configured. */
const notConfigured = 1006;

export function problemOf(error: unknown): Problem {
  const {
    code,
    message = String(error),
    data,
  } = (error ?? {}) as { code?: number; message?: string; data?: { hint?: string } };
  const hint = data?.hint ?? '';
  if (error instanceof NoProgramError) return { text: message, kind: 'program' };
  // What the hint names, variables and files, is for a terminal. The panel has buttons for it.
  if (code === notConfigured)
    return { text: sentenceOf(message.replace(`: ${hint}`, '')), kind: 'setup' };
  return { text: hint && !message.includes(hint) ? `${message} ${hint}` : message, kind: 'other' };
}

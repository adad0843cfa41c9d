// Converts errors to the problems that the panel shows, with the kind of help that each needs.
import { NoProgramError } from './bootstrap';
import { sentenceOf } from './text';
import type { Problem } from './webview/messages';

/** The error code for a missing provider configuration. */
const notConfigured = 1006;

export function problemOf(error: unknown): Problem {
  const {
    code,
    message = String(error),
    data,
  } = (error ?? {}) as { code?: number; message?: string; data?: { hint?: string } };
  const hint = data?.hint ?? '';
  if (error instanceof NoProgramError) return { text: message, kind: 'program' };
  // The hint names variables and files, which are meant for a terminal. The panel has buttons
  // instead.
  if (code === notConfigured)
    return { text: sentenceOf(message.replace(`: ${hint}`, '')), kind: 'setup' };
  return { text: hint && !message.includes(hint) ? `${message} ${hint}` : message, kind: 'other' };
}

// Problems as the panel describes them, and the kind of help that they need.
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
  // The variables and files in the hint are for a terminal. The panel has buttons for them.
  if (code === notConfigured)
    return { text: sentenceOf(message.replace(`: ${hint}`, '')), kind: 'setup' };
  return { text: hint && !message.includes(hint) ? `${message} ${hint}` : message, kind: 'other' };
}

// What Enter in the input means while the agent waits for the user. Pure, so that it can be tested.
import type { FromPanel, Waiting } from './messages';

/** A choice in a question, with the digit that the panel shows next to it. */
export interface Choice {
  digit: string;
  label: string;
  message: FromPanel;
}

/** The choices of a question in the order in which they are shown. At most nine have a digit. */
export function choicesOf(waiting: Waiting): Choice[] {
  const { requestId } = waiting.params;
  if (waiting.kind === 'permission') {
    return waiting.params.options.slice(0, 9).map(({ optionId, name }, index) => ({ digit: String(index + 1), label: name, message: { type: 'permission', requestId, optionId } }));
  }
  if (waiting.params.multi) return [];
  return (waiting.params.options ?? []).slice(0, 9).map(({ label }, index) => ({ digit: String(index + 1), label, message: { type: 'answer', requestId, answer: label } }));
}

/** The answer that a text gives: only a whole text that is one of the digits, or yes or no to a permission, is an answer. */
export function answerOf(text: string, waiting: Waiting): FromPanel | undefined {
  const word = text.trim().toLowerCase();
  const byDigit = choicesOf(waiting).find(({ digit }) => digit === word);
  if (byDigit) return byDigit.message;
  if (waiting.kind !== 'permission') return undefined;
  const kind = /^y(es)?$/.test(word) ? 'allow_once' : /^no?$/.test(word) ? 'reject_once' : undefined;
  const option = kind && waiting.params.options.find((o) => o.kind === kind);
  return option ? { type: 'permission', requestId: waiting.params.requestId, optionId: option.optionId } : undefined;
}

/** Rejects a permission with a comment, or answers a question with the user's own words. */
export function replyWith(text: string, waiting: Waiting): FromPanel {
  const { requestId } = waiting.params;
  if (waiting.kind === 'ask') return { type: 'answer', requestId, answer: text };
  const option = waiting.params.options.find((o) => o.kind === 'reject_once');
  return { type: 'permission', requestId, optionId: option?.optionId ?? '', feedback: text }; // without an option it is a refusal
}

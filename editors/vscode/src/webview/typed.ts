// Determines what Enter means while the agent is waiting for the user. The functions are pure, so
// that they can be tested.
import type { PermissionOption } from '../protocol';
import type { FromPanel, Waiting } from './messages';

/** A choice in a question, with the digit that the panel shows next to it. */
export interface Choice {
  digit: string;
  label: string;
  message: FromPanel;
}

/**
 * Groups the options of a permission request as the panel shows them. The options to allow or
 * reject once are shown first, and the others are in a menu. If there are no such options, all are
 * shown.
 */
export function optionGroups(options: PermissionOption[]): {
  shown: PermissionOption[];
  menu: PermissionOption[];
} {
  const first = (kind: string) => options.find((o) => o.kind === kind);
  const shown = [first('allow_once'), first('reject_once')].filter((o) => o !== undefined);
  if (shown.length === 0) return { shown: options, menu: [] };
  return { shown, menu: options.filter((o) => !shown.includes(o)) };
}

/** The characters that the server also replaces in titles (`internal/visible`). */
const hidden = /(?![ \t\n])[\p{Cc}\p{Cf}\p{Z}\p{Co}\p{Cs}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/**
 * Returns text in which invisible characters, characters that look like an ordinary space, and
 * characters that change the text direction are replaced with escape sequences.
 */
export function visible(text: string): string {
  return text.replace(hidden, (c) => {
    const code = c.codePointAt(0) ?? 0;
    const digits = code < 0x100 ? 2 : code < 0x10000 ? 4 : 8;
    return `\\${{ 2: 'x', 4: 'u', 8: 'U' }[digits]}${code.toString(16).padStart(digits, '0')}`;
  });
}

/**
 * Returns the choices of a question that have a digit. These are the first nine in display order,
 * or none if the question allows several answers.
 */
export function choicesOf(waiting: Waiting): Choice[] {
  const { requestId } = waiting.params;
  if (waiting.kind === 'permission') {
    const { shown, menu } = optionGroups(waiting.params.options);
    return [...shown, ...menu].slice(0, 9).map(({ optionId, name }, index) => ({
      digit: String(index + 1),
      label: name,
      message: { type: 'permission', requestId, optionId },
    }));
  }
  if (waiting.params.multi) return [];
  return (waiting.params.options ?? []).slice(0, 9).map(({ label }, index) => ({
    digit: String(index + 1),
    label,
    message: { type: 'answer', requestId, answer: label },
  }));
}

/**
 * Returns the answer that the text gives, or undefined. The whole text must be one of the shown
 * digits or, for a permission request, yes or no. The digits in a permission request's menu are
 * valid while `menuOpen` is true.
 */
export function answerOf(text: string, waiting: Waiting, menuOpen = false): FromPanel | undefined {
  const word = text.trim().toLowerCase();
  const hidden =
    waiting.kind === 'permission' && !menuOpen
      ? optionGroups(waiting.params.options).menu.length
      : 0;
  const choices = choicesOf(waiting);
  const all = waiting.kind === 'permission' ? waiting.params.options.length : choices.length;
  const byDigit = choices.slice(0, all - hidden).find(({ digit }) => digit === word);
  if (byDigit) return byDigit.message;
  if (waiting.kind !== 'permission') return undefined;
  const kind = /^y(es)?$/.test(word)
    ? 'allow_once'
    : /^no?$/.test(word)
      ? 'reject_once'
      : undefined;
  const option = kind && waiting.params.options.find((o) => o.kind === kind);
  return option
    ? { type: 'permission', requestId: waiting.params.requestId, optionId: option.optionId }
    : undefined;
}

/** Returns the placeholder for a question. It names the answers that count. */
function answerHint(waiting: Waiting): string {
  if (waiting.kind === 'ask')
    return choicesOf(waiting).length > 0
      ? 'Answer with a digit or in your own words'
      : 'Answer in your own words';
  const { shown } = optionGroups(waiting.params.options);
  const has = (kind: string) => shown.some((option) => option.kind === kind);
  const words = [
    ...shown.slice(0, 9).map((_, index) => String(index + 1)),
    ...(has('allow_once') ? ['y'] : []),
    ...(has('reject_once') ? ['n'] : []),
  ];
  const all = [...words.slice(0, -2), words.slice(-2).join('\u00a0or\u00a0')].join(', ');
  return `Answer with ${all}, or write a\u00a0message`;
}

/**
 * Returns the input's placeholder while Enter does not simply send the text, or undefined.
 * `discards` is the number of undecided changes that a message would reject.
 */
export function inputHint(waiting: Waiting | undefined, discards: number): string | undefined {
  if (waiting) return answerHint(waiting);
  return discards > 0
    ? 'Enter asks before it rejects changes; Alt+Enter sends after this\u00a0turn'
    : undefined;
}

/** Rejects a permission request with a comment, or answers a question with the user's own words. */
export function replyWith(text: string, waiting: Waiting): FromPanel {
  const { requestId } = waiting.params;
  if (waiting.kind === 'ask') return { type: 'answer', requestId, answer: text };
  const option = waiting.params.options.find((o) => o.kind === 'reject_once');
  // If there is no such option, an empty option id still rejects the request.
  return { type: 'permission', requestId, optionId: option?.optionId ?? '', feedback: text };
}

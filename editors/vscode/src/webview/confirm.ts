// Shows a question from the panel itself above the input. It asks how the user's text is meant, or
// whether Stop may discard changes.
import { h, hasFocus } from './dom';

/**
 * One of the possible answers. Exactly one answer is safe. The safe answer has the focus, and
 * Escape chooses it.
 */
export interface Answer {
  label: string;
  action: () => void;
  safe?: boolean;
}

/** Shows one question at a time. A new question replaces the previous one. */
export class Confirm {
  readonly element = h('div', { class: 'confirms' });
  /** The subject of the open question, or undefined if no question is open. */
  about: string | undefined;

  constructor(private readonly focusInput: () => void) {}

  ask(about: string, question: string, answers: Answer[]): void {
    this.about = about;
    const buttons = answers.map(({ label, action, safe }) => {
      const choose = () => {
        this.close();
        action();
      };
      return {
        safe,
        choose,
        element: h(
          'button',
          { type: 'button', class: safe ? 'primary' : undefined, onclick: choose },
          label,
        ),
      };
    });
    const safe = buttons.find((b) => b.safe);
    const box = h(
      'section',
      { class: 'ask confirm', role: 'alertdialog', 'aria-label': question },
      h('div', { class: 'caption' }, question),
      h('div', { class: 'row' }, ...buttons.map((b) => b.element)),
    );
    box.addEventListener('keydown', (event) => {
      if (event.key !== 'Escape' || event.isComposing) return;
      event.preventDefault();
      safe?.choose();
    });
    this.element.replaceChildren(box);
    safe?.element.focus();
  }

  /** Closes the question without an answer. */
  close(): void {
    this.about = undefined;
    const focused = hasFocus(this.element);
    this.element.replaceChildren();
    if (focused) this.focusInput();
  }
}

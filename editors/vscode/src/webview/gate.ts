// Asks the user before text or a stop causes an irreversible action.
import { counted } from '../text';
import type { Gate } from './composer';
import type { Answer, Confirm } from './confirm';
import type { FromPanel, Waiting } from './messages';
import { answerOf, replyWith } from './typed';

/** The agent's oldest question and the number of undecided changes. */
interface Pending {
  waiting: Waiting | undefined;
  /** Whether the question's menu is open, so that the digits in the menu are shown. */
  menuOpen: boolean;
  discards: number;
}

/**
 * Handles Enter while the agent is waiting. If the whole text is an answer, it is sent as the
 * answer. Otherwise, the panel asks the user what the text is for.
 */
export function enterGate(
  confirm: Confirm,
  send: (message: FromPanel) => void,
  pending: () => Pending,
): Gate {
  const subject = () => {
    const { waiting, discards } = pending();
    return waiting?.params.requestId ?? (discards > 0 ? 'changes' : '');
  };
  return {
    subject,
    holds(text, asked, take, deliver) {
      const { waiting, discards, menuOpen } = pending();
      const now = subject();
      if (now === '' || text.startsWith('/')) return false;
      // Text that was typed for an earlier question does not answer the current one.
      const answer = waiting && asked === now ? answerOf(text, waiting, menuOpen) : undefined;
      if (answer) {
        take();
        send(answer);
        return true;
      }
      const reply = (message: FromPanel) => () => {
        take();
        send(message);
      };
      const keep: Answer = { label: 'Keep typing', action: () => {}, safe: true };
      if (!waiting) {
        confirm.ask(
          now,
          `The agent is waiting for your review of ${counted(discards, 'change')}.`,
          [
            {
              label: `Reject ${counted(discards, 'change')} with this comment`,
              action: () => deliver('send'),
            },
            { label: 'Send after this turn', action: () => deliver('queue') },
            keep,
          ],
        );
      } else {
        const words: Answer = {
          label: waiting.kind === 'ask' ? 'Answer with this' : 'Reject with this comment',
          action: reply(replyWith(text, waiting)),
        };
        confirm.ask(
          now,
          waiting.kind === 'ask'
            ? 'The agent is waiting for an answer.'
            : 'The agent is waiting for your permission.',
          [
            ...(text === '' ? [] : [words]), // an image without text is not a comment
            { label: 'Steer', action: () => deliver('send') },
            keep,
          ],
        );
      }
      return true;
    },
  };
}

/** Asks the user before a stop discards changes. */
export class StopQuestion {
  constructor(
    private readonly confirm: Confirm,
    private readonly send: (message: FromPanel) => void,
  ) {}

  ask(changes: number): void {
    const those = counted(changes, 'change');
    this.confirm.ask('stop', `Stopping discards ${those} that you have not reviewed.`, [
      {
        label: `Stop and discard ${those}`,
        action: () => this.send({ type: 'abort', discard: changes }),
      },
      { label: 'Keep reviewing', action: () => {}, safe: true },
    ]);
  }
}

// Draws the bar above the input, with the number of changes and the actions on all of them.
import { counted } from '../text';
import { button, h } from './dom';
import type { ChangesBar, FromPanel } from './messages';

/** Draws the numbers of added and removed lines. A screen reader reads them as words. */
export function counts(added: number, removed: number): HTMLElement {
  const words = `${counted(added, 'line')} added, ${removed} removed`;
  return h(
    'span',
    { class: 'counts', role: 'img', 'aria-label': words, title: words },
    h('span', { class: 'plus' }, `+${added}`),
    ' ',
    h('span', { class: 'minus' }, `−${removed}`),
  );
}

export function drawChanges(
  bar: ChangesBar,
  sessionId: string,
  send: (message: FromPanel) => void,
): Node[] {
  const run = (label: string, command: string, args: unknown[], attributes = {}) =>
    button(label, () => send({ type: 'command', command, args }), {
      class: 'small',
      ...attributes,
    });
  const files = counted(bar.files, 'file');
  const words =
    bar.kind === 'done' ? `${files} changed` : `${counted(bar.changes, 'change')} in ${files}`;
  const of = { sessionId };
  const actions = {
    proposed: () => [
      run('Accept all', 'agentLsp.acceptAll', [of]),
      run('Reject all', 'agentLsp.rejectAll', [of]),
      run('Review', 'agentLsp.review', [of]),
    ],
    applied: () => [
      run('Keep all', 'agentLsp.acceptAll', [of]),
      run('Undo all', 'agentLsp.rejectAll', [of]),
      run('Review', 'agentLsp.review', [of]),
    ],
    done: () => [
      button('Keep all', () => send({ type: 'keepTurn' }), {
        class: 'small',
        title: 'Keep the changes and hide this bar',
      }),
      run('Undo all', 'agentLsp.restoreCheckpoint', [bar.checkpointId, 'files'], {
        title: 'Restore the files to their state before the turn',
      }),
      run('Review', 'agentLsp.diffCheckpoint', [bar.checkpointId], {
        title: 'Show the changes made in the turn',
      }),
    ],
  };
  return [
    h('span', { class: 'label' }, `${words}, `, counts(bar.added, bar.removed)),
    h('span', { class: 'row' }, ...actions[bar.kind]()),
  ];
}

/**
 * Draws the offer to apply edits first and review them afterwards. It is shown when the first edits
 * are pending.
 */
export function drawOffer(send: (message: FromPanel) => void): Node[] {
  const run = (label: string, command: string, ...args: unknown[]) => {
    return button(label, () => send({ type: 'command', command, args }), { class: 'small' });
  };
  const actions = [
    run('In this session', 'agentLsp.applyEditsFirst', 'session'),
    run('Make this my default', 'agentLsp.applyEditsFirst', 'default'),
    run('Keep asking', 'agentLsp.keepAsking'),
  ];
  const words = 'Apply edits immediately from now on, and keep or undo them afterwards?';
  return [h('span', { class: 'label' }, words), h('span', { class: 'row' }, ...actions)];
}

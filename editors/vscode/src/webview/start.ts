// Draws the panel's content before the first prompt, and its help when something fails outside a
// turn.
import { button, h } from './dom';
import type { FromPanel, Problem, SetupState } from './messages';

type Send = (message: FromPanel) => void;

const command =
  (send: Send, name: string, ...args: unknown[]) =>
  () =>
    send({ type: 'command', command: `agentLsp.${name}`, args });

const about =
  'The agent reads your files, including unsaved changes. Every edit is shown as a diff that you accept or reject, hunk by hunk.';

export function drawWelcome(setup: SetupState | undefined, send: Send): HTMLElement[] {
  const link = (label: string, name: string) =>
    button(label, command(send, name), { class: 'link' });
  if (setup?.kind !== 'missing') {
    const found =
      setup &&
      h(
        'p',
        {},
        `${setup.provider} is running on this machine with the model ${setup.model}. ` +
          'No setup is needed.',
      );
    const others = setup ? [link('Choose another provider', 'chooseProvider')] : [];
    return [
      h('h2', {}, 'Ask for a change'),
      h('p', {}, about),
      ...(found ? [found] : []),
      ...others,
      link('Try the demo', 'tryDemo'),
      link('First steps', 'walkthrough'),
      link('Earlier sessions', 'sessions'),
    ];
  }
  return [
    h('h2', {}, 'Choose a model first'),
    h('p', {}, 'No model provider is set up, and no model server is running on this machine.'),
    h(
      'div',
      { class: 'row' },
      button('Choose a provider', command(send, 'chooseProvider'), { class: 'primary' }),
      button('Try the demo', command(send, 'tryDemo')),
    ),
    h('p', {}, 'The demo needs no key and no network.'),
    link('First steps', 'walkthrough'),
    link('Earlier sessions', 'sessions'),
  ];
}

/** Draws an error that occurred outside a turn, with help for its kind. */
export function drawProblem({ text, kind }: Problem, send: Send): (string | HTMLElement)[] {
  const small = (label: string, name: string, ...args: unknown[]) =>
    button(label, command(send, name, ...args), { class: 'small' });
  const log = small('Log', 'showLog');
  const restart = small('Restart', 'restartServer');
  const ways = {
    setup: [small('Choose a provider', 'chooseProvider'), small('Try the demo', 'tryDemo')],
    program: [
      small('Locate…', 'locateProgram'),
      small('Download', 'downloadProgram'),
      small('Settings', 'openSettings', 'server.path'),
      restart,
      log,
    ],
    other: [small('Settings', 'openSettings'), restart, log],
  };
  return [h('div', {}, text), h('div', { class: 'row' }, ...ways[kind])];
}

// Draws the elements around the conversation: title, pickers, context gauge, queue, questions and
// jobs.
import type {
  AskParams,
  Job,
  PermissionOption,
  QueueEntry,
  RequestPermissionParams,
  Subject,
} from '../protocol';
import { counted, policyWords, profileWords } from '../text';
import { drawPatch } from './diff';
import { button, h, reachable } from './dom';
import { renderMarkdown } from './markdown';
import type { FromPanel, PanelState, Waiting } from './messages';
import { wordsOf } from './model';
import { optionGroups, visible } from './typed';

type Send = (message: FromPanel) => void;

const statusWords: Record<string, string> = {
  idle: '',
  running: 'Working…',
  awaiting: 'Waiting for you',
  paused: 'Paused',
};

export function drawHead(state: PanelState, send: Send): Node[] {
  const command =
    (name: string, ...args: unknown[]) =>
    () =>
      send({ type: 'command', command: name, args });
  const status =
    state.daemon === 'failed' ? 'Not running' : (statusWords[state.status] ?? state.status);
  return [
    button(state.title || 'New session', command('agentLsp.sessions'), {
      class: 'title',
      title: 'Sessions',
    }),
    h('span', { class: `state ${state.status}`, role: 'status' }, status),
  ];
}

type Picker = [label: string, words: string, command: string, title?: string];

function drawPicker([label, words, command, title = words]: Picker, send: Send): HTMLElement {
  const open = () => send({ type: 'command', command, args: [] });
  const attributes = {
    class: `picker ${label.toLowerCase()}${words === 'default' ? ' unset' : ''}`,
    title: `${label}: ${title}`,
  };
  const key = h('span', { class: 'key' }, `${label}: `);
  return h('button', { type: 'button', ...attributes, onclick: open }, key, words);
}

/**
 * Returns a model's name without its provider, because otherwise the end of a long reference would
 * be cut off.
 */
function modelName(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1) || reference;
}

/**
 * Draws the pickers below the input on one line. In a narrow panel, the model picker shows the
 * model's name without the word "Model", and a long name is shortened.
 */
export function drawPickers({ model, policy, profile }: PanelState, send: Send): Node[] {
  const pickers: Picker[] = [
    model
      ? ['Model', modelName(model), 'agentLsp.selectModel', model]
      : ['Model', 'default', 'agentLsp.selectModel'],
    ['Edits', policyWords[policy] ?? (policy || 'default'), 'agentLsp.selectEditPolicy'],
    ['Commands', profileWords[profile] ?? (profile || 'default'), 'agentLsp.selectPermissions'],
  ];
  return pickers.map((picker) => drawPicker(picker, send));
}

export function drawMode({ mode }: PanelState, send: Send): Node[] {
  return [drawPicker(['Mode', mode || 'default', 'agentLsp.selectMode'], send)];
}

/** Draws how full the context is and how much the session has cost. */
export function drawGauge({ contextTokens, contextWindow, usage }: PanelState): Node[] {
  const cost = usage?.cost ? `$${usage.cost.toFixed(usage.cost < 0.1 ? 4 : 2)}` : '';
  const parts: Node[] = [];
  if (contextTokens && contextWindow) {
    const share = Math.min(1, contextTokens / contextWindow);
    const percent = Math.round(share * 100);
    const meter = h('meter', {
      min: '0',
      max: '1',
      high: '0.85',
      value: String(share),
      'aria-label': 'Context used',
    });
    const title = `${contextTokens.toLocaleString()} of ${contextWindow.toLocaleString()} tokens of context`;
    // An empty gauge shows nothing useful.
    if (percent > 0)
      parts.push(h('span', { class: 'share', title }, 'Context ', meter, ` ${percent} %`));
  } else if (contextTokens) {
    parts.push(
      h('span', { title: 'Context used' }, `Context ${contextTokens.toLocaleString()} tokens`),
    );
  }
  if (cost)
    parts.push(
      h(
        'span',
        {
          class: 'cost',
          title: 'Estimated cost of this session in US dollars, based on token prices',
        },
        cost,
      ),
    );
  return parts;
}

export function drawQueue(queue: QueueEntry[], send: Send): Node[] {
  if (queue.length === 0) return [];
  const text = (entry: QueueEntry) => wordsOf(entry.prompt);
  const row = (entry: QueueEntry) => {
    const edit = () => {
      send({ type: 'removeQueued', messageId: entry.messageId });
      send({ type: 'command', command: 'agentLsp.insertIntoPrompt', args: [text(entry)] });
    };
    return h(
      'li',
      {},
      h('span', { class: 'delivery' }, entry.delivery === 'steer' ? 'steer' : 'next'),
      h('span', { class: 'label', title: text(entry) }, text(entry)),
      button('Edit', edit, { class: 'small' }),
      button('Remove', () => send({ type: 'removeQueued', messageId: entry.messageId }), {
        class: 'small',
      }),
    );
  };
  return [
    h('div', { class: 'caption' }, `Queue (${queue.length})`),
    h('ul', { 'aria-label': 'Queued messages' }, ...queue.map(row)),
  ];
}

export function drawJobs(jobs: Job[], send: Send): Node[] {
  const running = jobs.filter((job) => job.status === 'running');
  if (running.length === 0) return [];
  const row = (job: Job) =>
    h(
      'li',
      {},
      h('span', { class: 'sign running', 'aria-hidden': 'true' }, '◐'),
      h('span', { class: 'label', title: job.title }, job.title),
      button('Stop', () => send({ type: 'killJob', jobId: job.jobId }), { class: 'small stop' }),
    );
  return [
    h('div', { class: 'caption' }, 'In the background'),
    h('ul', { 'aria-label': 'Background jobs' }, ...running.map(row)),
  ];
}

export function drawWaiting(waiting: Waiting, send: Send): HTMLElement {
  return waiting.kind === 'permission'
    ? permission(waiting.params, send)
    : question(waiting.params, send);
}

function permission(params: RequestPermissionParams, send: Send): HTMLElement {
  const feedback = h('input', {
    type: 'text',
    placeholder: 'Tell the agent why (optional)',
    'aria-label': 'Feedback',
  });
  const { subject } = params;
  const { shown, menu } = optionGroups(params.options);
  const choice = (option: PermissionOption, index: number) => {
    const answer = () =>
      send({
        type: 'permission',
        requestId: params.requestId,
        optionId: option.optionId,
        feedback: feedback.value || undefined,
      });
    const rule =
      option.pattern !== undefined && h('code', { class: 'pattern' }, visible(option.pattern));
    return h(
      'button',
      {
        type: 'button',
        class: index === 0 ? 'primary' : undefined,
        'data-kind': option.kind,
        onclick: answer,
      },
      option.name,
      index < 9 && digit(index),
      rule,
    );
  };
  // The complete command is shown below.
  const title = subject.command === undefined ? visible(params.title) : 'Allow this command?';
  return h(
    'section',
    { class: 'ask', role: 'group', 'aria-label': params.title, 'data-request': params.requestId },
    h('div', { class: 'caption' }, title),
    subject.command !== undefined &&
      reachable(h('pre', { class: 'command' }, ...wordsOfCommand(subject.command))),
    subject.command !== undefined && h('div', { class: 'unsaved' }),
    subject.cwd !== undefined && where(subject.cwd, 'in '),
    ...(subject.uris ?? []).map((uri) => where(uri)),
    params.reason !== '' && h('div', { class: 'reason' }, params.reason),
    params.preview !== undefined && preview(params.preview, subject),
    h('div', { class: 'row decisions' }, ...shown.map(choice)),
    menu.length > 0 &&
      h(
        'details',
        { class: 'more' },
        h('summary', {}, 'More choices'),
        h(
          'div',
          { class: 'row choices' },
          ...menu.map((option, index) => choice(option, shown.length + index)),
        ),
      ),
    feedback,
  );
}

/**
 * Returns the nodes that show a command. Each word with a hyphen stays on one line if it fits, so
 * that an option is not broken after "--".
 */
function wordsOfCommand(command: string): (Node | string)[] {
  return visible(command)
    .split(/(\s+)/)
    .map((word) => (word.includes('-') ? h('span', { class: 'word' }, word) : word));
}

/** Shows the names of the unsaved files in the questions about commands. */
export function nameUnsaved(asks: Element, names: string[]): void {
  const text =
    names.length > 0 ? `Saves ${counted(names.length, 'file')}: ${names.join(', ')}` : '';
  for (const line of asks.querySelectorAll('.unsaved')) line.textContent = text;
}

/**
 * Draws the digit that the user can type in the input to choose an answer. Only the oldest question
 * shows its digits.
 */
function digit(index: number): HTMLElement {
  return h(
    'kbd',
    {
      class: 'digit',
      'aria-hidden': 'true',
      title: `Type ${index + 1} in the input, then press Enter`,
    },
    String(index + 1),
  );
}

/**
 * Draws the preview in a permission request. The changes of an edit are drawn in color. The preview
 * of another request with a command or files, such as a folder's settings, is shown unchanged. Any
 * other preview is a plan, which is drawn as Markdown.
 */
function preview(text: string, { kind, command, uris = [] }: Subject): HTMLElement {
  if (kind === 'edit' && uris.length > 0) return drawPatch(text);
  if (command || uris.length > 0) return reachable(h('pre', { class: 'preview' }, text));
  const box = h('div', { class: 'preview markdown', role: 'group', 'aria-label': 'Plan' });
  box.append(renderMarkdown(text));
  return reachable(box);
}

/** Shows a path in one line. If the path is too long, its end stays visible. */
function where(uri: string, before = ''): HTMLElement {
  const path = decodeURIComponent(uri.replace(/^file:\/\//, ''));
  return h(
    'div',
    { class: 'where', title: path },
    before,
    h('span', { class: 'path' }, h('bdi', { dir: 'ltr' }, path)),
  );
}

/**
 * Draws a question. The user clicks a button, selects checkboxes, or types an answer. An empty
 * answer is not sent.
 */
function question(params: AskParams, send: Send): HTMLElement {
  const answer = (text?: string) =>
    send({ type: 'answer', requestId: params.requestId, answer: text });
  const own = h('input', {
    type: 'text',
    placeholder: 'Your own answer',
    'aria-label': 'Your own answer',
  });
  const options = params.options ?? [];
  const boxes = params.multi
    ? options.map(({ label }) => h('input', { type: 'checkbox', value: label }))
    : [];
  const submit = () => {
    const text = [
      ...boxes.filter(({ checked }) => checked).map(({ value }) => value),
      own.value.trim(),
    ]
      .filter(Boolean)
      .join(', ');
    if (text) answer(text);
    else (boxes[0] ?? own).focus();
  };
  own.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !event.isComposing) submit();
  });
  const choices = options.map(({ label, description }, index) => {
    const words = h(
      'span',
      { class: 'label' },
      label,
      !params.multi && index < 9 && digit(index),
      description !== undefined &&
        description !== '' &&
        h('span', { class: 'detail' }, description),
    );
    return params.multi
      ? h('label', {}, boxes[index], words)
      : h('button', { type: 'button', onclick: () => answer(label) }, words);
  });
  return h(
    'section',
    {
      class: 'ask',
      role: 'group',
      'aria-label': `Question: ${params.question}`,
      'data-request': params.requestId,
    },
    h('div', { class: 'caption' }, params.question),
    h('div', { class: 'row choices' }, ...choices),
    own,
    h(
      'div',
      { class: 'row' },
      button('Answer', submit, { class: 'primary' }),
      button('Decline', () => answer()),
    ),
  );
}

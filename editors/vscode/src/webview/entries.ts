// Draws one entry of the conversation. The entry is drawn again after each change, so drawing does
// little work while the entry streams.
import type { Item, PlanEntry, Proposal } from '../protocol';
import type { FromPanel } from './messages';
import { button, drawWhenChanged, h } from './dom';
import { renderMarkdown } from './markdown';
import { splitStable, type Conversation, type Entry } from './model';
import { errorParts, firstLine } from '../text';
import { drawTool } from './tool';

/** The functions and data of the panel that drawing needs. */
export interface Context {
  conversation: Conversation;
  send: (message: FromPanel) => void;
  /** The state of each fold that the user has toggled, by ID: true if the fold is open. */
  folds: Map<string, boolean>;
  checkpointOf: (entry: Entry) => string | undefined;
  /** Returns an edit's proposal. If the proposal is unknown, the panel requests it. */
  proposalOf: (item: Item) => Proposal | undefined;
}

/** The amount of text that each element already shows. */
const drawn = new WeakMap<Element, { stable: number; tail: HTMLElement; length: number }>();

export function drawEntry(entry: Entry, into: HTMLElement, context: Context): void {
  into.className =
    `entry ${entry.kind} ${entry.item?.type ?? ''} ${entry.item?.source ?? ''}`.trim();
  if (entry.kind === 'turn') return drawTurn(entry, into, context);
  if (entry.kind === 'retry') return drawRetry(entry, into);
  if (entry.kind === 'compaction')
    return into.replaceChildren(h('div', { class: 'note' }, entry.note ?? ''));
  if (entry.kind === 'restore') return drawRestore(entry, into, context);
  const item = entry.item;
  if (!item) return;
  into.dataset.status = item.status ?? '';
  switch (item.type) {
    case 'userMessage':
      return drawUser(entry, item, into, context);
    case 'assistantMessage':
      return drawStream(entry, into);
    case 'reasoning':
      return drawReasoning(entry, into, context);
    case 'toolCall':
      return drawTool(entry, item, into, context);
    case 'plan':
      return into.replaceChildren(planList(item.entries ?? []));
    case 'notice':
      return drawNotice(item, into);
    default:
      return into.replaceChildren(h('div', { class: 'note' }, item.text ?? ''));
  }
}

/**
 * Draws streamed Markdown. Finished blocks are drawn once, and only the unfinished end is drawn
 * again.
 */
function drawStream(entry: Entry, into: HTMLElement): void {
  const text = entry.text;
  let state = drawn.get(into);
  if (!state || !into.contains(state.tail) || text.length < state.length) {
    const tail = h('div', { class: 'tail' });
    into.replaceChildren(tail);
    state = { stable: 0, tail, length: 0 };
    drawn.set(into, state);
  }
  const stable = entry.done ? text.length : splitStable(text, state.stable);
  if (stable > state.stable) {
    state.tail.before(renderMarkdown(text.slice(state.stable, stable)));
    state.stable = stable;
  }
  const open = text.slice(state.stable);
  if (open.length > 4_000) growText(state.tail, open);
  else state.tail.replaceChildren(renderMarkdown(open, true));
  state.length = text.length;
  into.classList.toggle('streaming', !entry.done);
  if (entry.item?.status === 'retracted') into.classList.add('retracted');
}

/**
 * Shows a long unfinished end as plain text until it is complete, so that the cost of an update
 * depends only on the added text.
 */
export function growText(tail: HTMLElement, text: string): void {
  const node = tail.firstChild;
  if (tail.childNodes.length === 1 && node instanceof Text && text.length >= node.length)
    node.appendData(text.slice(node.length));
  else tail.replaceChildren(document.createTextNode(text));
}

function drawUser(entry: Entry, item: Item, into: HTMLElement, context: Context): void {
  if (into.querySelector('textarea.edit')) return; // the user is editing the text
  const checkpoint = context.checkpointOf(entry);
  const images = (item.content ?? []).filter((block) => block.type === 'image' && block.data);
  const source =
    item.source === 'steer'
      ? 'steered'
      : item.source === 'followUp'
        ? 'queued'
        : item.source === 'job'
          ? 'background job'
          : '';
  const who = entry.parent ? 'Task' : source ? `You (${source})` : 'You';
  drawWhenChanged(
    into,
    [entry.text, images.length, source, checkpoint, entry.done, item.pinned],
    () => [
      h('div', { class: 'who' }, item.pinned ? `${who} · pinned` : who),
      h('div', { class: 'user-text' }, entry.text),
      ...images.map((block) =>
        h('img', {
          class: 'attached',
          alt: 'attached image',
          src: `data:${safeImage(block.mimeType)};base64,${block.data ?? ''}`,
        }),
      ),
      !entry.parent && userActions(entry, into, context, checkpoint),
    ],
  );
}

function userActions(
  entry: Entry,
  into: HTMLElement,
  context: Context,
  checkpoint: string | undefined,
): HTMLElement {
  const command =
    (name: string, ...args: unknown[]) =>
    () =>
      context.send({ type: 'command', command: name, args });
  return h(
    'div',
    { class: 'actions' },
    checkpoint !== undefined &&
      button('Restore', command('agentLsp.restoreCheckpoint', checkpoint), {
        class: 'small',
        title: 'Restore the files, the conversation or both to the state before this prompt',
      }),
    checkpoint !== undefined &&
      button('Changes since', command('agentLsp.diffCheckpoint', checkpoint), { class: 'small' }),
    entry.done &&
      button('Resend', () => editMessage(entry, into, context), {
        class: 'small',
        'aria-label': 'Edit and resend',
        title: 'Edit the message and resend it in a fork of the session',
      }),
    entry.done &&
      button(
        entry.item?.pinned ? 'Unpin' : 'Pin',
        () => context.send({ type: 'pin', itemId: entry.id, on: !entry.item?.pinned }),
        {
          class: 'small',
          title: 'A pinned message stays in the context unchanged, even in a long conversation',
        },
      ),
    entry.done &&
      button('Fork', () => context.send({ type: 'fork', itemId: entry.id }), {
        class: 'small',
        title: 'Continue from here in a new session',
      }),
  );
}

function safeImage(mimeType: string | undefined): string {
  return /^image\/(png|jpeg|gif|webp)$/.test(mimeType ?? '') ? (mimeType ?? '') : 'image/png';
}

function editMessage(entry: Entry, into: HTMLElement, context: Context): void {
  const area = h('textarea', { class: 'edit', rows: '3', 'aria-label': 'Edit the message' });
  area.value = entry.text;
  const redraw = () => {
    into.replaceChildren();
    drawEntry(entry, into, context);
    into.querySelector('button')?.focus();
  };
  area.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || event.isComposing) return;
    event.preventDefault();
    redraw();
  });
  const send = () => {
    context.send({ type: 'resend', itemId: entry.id, text: area.value });
    redraw();
  };
  into.replaceChildren(
    area,
    h(
      'div',
      { class: 'row' },
      button('Send from here', send, { class: 'primary' }),
      button('Cancel', redraw),
    ),
  );
  area.focus();
}

/**
 * Draws reasoning. The element is kept while it streams, because a click on its title must not hit
 * another title.
 */
function drawReasoning(entry: Entry, into: HTMLElement, context: Context): void {
  const title = entry.done ? thoughtTitle(entry.text) : 'Thinking…';
  const known = into.firstElementChild;
  if (!(known instanceof HTMLDetailsElement))
    return into.replaceChildren(
      fold(entry.id, title, false, context, () =>
        drawThought(entry, h('div', { class: 'thought' })),
      ),
    );
  const [summary, body] = known.children;
  if (summary && summary.textContent !== title) summary.textContent = title;
  if (body) drawThought(entry, body as HTMLElement);
}

/**
 * Draws the text of a thought. Finished lines are drawn once, with their code. The last line is
 * plain text until it is finished.
 */
function drawThought({ text, done }: Entry, into: HTMLElement): HTMLElement {
  let state = drawn.get(into);
  if (!state || text.length < state.length) {
    const tail = h('span');
    into.replaceChildren(tail);
    state = { stable: 0, tail, length: 0 };
    drawn.set(into, state);
  }
  const stable = done ? text.length : text.lastIndexOf('\n') + 1;
  if (stable > state.stable) {
    state.tail.before(...withCode(text.slice(state.stable, stable)));
    state.tail.replaceChildren();
    state.stable = stable;
  }
  growText(state.tail, text.slice(state.stable));
  state.length = text.length;
  return into;
}

/** Returns the title of a folded thought, which begins with the first words of the thought. */
function thoughtTitle(text: string): string {
  const begin = firstLine(text.replace(/[*`#]/g, ''));
  return begin ? `Thought: ${begin}` : 'Thought';
}

/** Creates a fold. Its body is created when the fold is opened. */
export function fold(
  id: string,
  title: string | Node,
  openAtFirst: boolean,
  context: Context,
  body: () => Node,
): HTMLDetailsElement {
  const details = h('details', {}, h('summary', {}, title));
  const fill = () => {
    if (details.open && details.childElementCount === 1) details.append(body());
  };
  details.open = context.folds.get(id) ?? openAtFirst;
  details.addEventListener('toggle', fill);
  details.firstElementChild?.addEventListener('click', () => context.folds.set(id, !details.open));
  fill();
  return details;
}

const planSigns: Record<string, string> = { pending: '○', inProgress: '◐', completed: '✓' };

function planList(entries: PlanEntry[]): HTMLElement {
  const list = h('ul', { class: 'plan-list', 'aria-label': 'Plan' });
  for (const { content, status } of entries) {
    list.append(
      h(
        'li',
        { class: status },
        h('span', { class: 'sign', 'aria-hidden': 'true' }, planSigns[status] ?? '○'),
        h('span', { class: 'label' }, ...withCode(content)),
        h('span', { class: 'sr' }, ` (${status})`),
      ),
    );
  }
  return list;
}

/** Returns a text whose parts between backticks on one line are drawn as code. */
function withCode(text: string): (Node | string)[] {
  return text.split(/`([^`\n]+)`/).map((part, i) => (i % 2 ? h('code', {}, part) : part));
}

function drawNotice(item: Item, into: HTMLElement): void {
  into.replaceChildren(
    h(
      'div',
      { class: `note ${item.level ?? 'info'}`, role: item.level === 'error' ? 'alert' : 'note' },
      item.text ?? '',
    ),
  );
}

/** Draws a restore. Each restore has its own Undo button, even after later restores. */
function drawRestore(entry: Entry, into: HTMLElement, { send }: Context): void {
  const { note, restored } = entry;
  const args = [restored?.undoCheckpointId, restored?.scope];
  const press = () => send({ type: 'command', command: 'agentLsp.redoRestore', args });
  const undo = button('Undo', press, { class: 'small', 'aria-label': `Undo: ${note ?? ''}` });
  into.replaceChildren(h('div', { class: 'note', role: 'status' }, `${note ?? ''} `, undo));
}

function drawRetry({ retry }: Entry, into: HTMLElement): void {
  if (!retry) return;
  const { attempt, maxRetries, delayMs, error } = retry;
  into.replaceChildren(
    h(
      'div',
      { class: 'note warning', role: 'status' },
      `${errorParts(error.message).what} Trying again in ${Math.ceil(delayMs / 1000)} s (${attempt} of ${maxRetries}).`,
    ),
  );
}

const endWords: Record<string, string> = {
  max_model_calls: 'Stopped at the model call limit.',
  budget: 'Stopped at the budget limit.',
  length: 'The reply was cut off at the length limit.',
  content_filter: 'The provider withheld the reply.',
  aborted: 'Stopped.',
};

/**
 * A button that helps the user after an error: its label, its command and the command's arguments.
 */
type Way = [label: string, command: string, ...args: string[]];

const ways: Record<string, { text?: string; buttons?: Way[] }> = {
  auth: {
    text: 'Enter the key again, or choose another provider.',
    buttons: [
      ['Set API Key', 'agentLsp.setApiKey'],
      ['Choose Provider', 'agentLsp.chooseProvider'],
    ],
  },
  quota: {
    text: 'The account has no quota left. Choose another model or provider.',
    buttons: [['Choose Model', 'agentLsp.selectModel']],
  },
  rate_limit: { text: 'Wait a moment, then continue.' },
  overloaded: {
    text: 'The provider is overloaded. Continue later, or choose another model.',
    buttons: [['Choose Model', 'agentLsp.selectModel']],
  },
  context_overflow: {
    text: 'Compact the session, then continue.',
    buttons: [['Compact', 'agentLsp.compact']],
  },
  client: {
    buttons: [
      ['Choose Model', 'agentLsp.selectModel'],
      ['Settings', 'agentLsp.openSettings', 'model', 'provider', 'providers'],
    ],
  },
  transient: { buttons: [['Settings', 'agentLsp.openSettings', 'provider', 'providers']] },
};

function drawTurn({ turn }: Entry, into: HTMLElement, context: Context): void {
  if (!turn) return into.replaceChildren();
  const { status, endReason, error } = turn;
  if (status === 'completed' && (endReason ?? 'stop') === 'stop') return into.replaceChildren();
  drawWhenChanged(into, [status, endReason, error], () => {
    const press = (label: string, command: string, ...args: string[]) =>
      button(label, () => context.send({ type: 'command', command, args }), { class: 'small' });
    const again = press('Continue', 'agentLsp.continue');
    if (!error)
      return [
        h('div', { class: 'note' }, `${endWords[endReason ?? ''] ?? `Turn ${status}.`} `, again),
      ];
    const way = ways[error.kind];
    const { what, help } = errorParts(error.message);
    const helps = way?.text ?? help;
    const row = h(
      'div',
      { class: 'row' },
      ...(way?.buttons ?? []).map((entry) => press(...entry)),
      again,
    );
    return [
      h(
        'div',
        { class: 'note error', role: 'alert' },
        h('div', { class: 'what' }, what),
        helps !== '' && h('div', {}, helps),
        row,
      ),
    ];
  });
}

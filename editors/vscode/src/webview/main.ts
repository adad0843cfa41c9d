// Runs the panel's page. It receives messages from the extension, draws them, and sends the user's
// actions.
import { Announcer } from './announce';
import { drawChanges, drawOffer } from './changes';
import { Composer, type ComposerState } from './composer';
import { Confirm } from './confirm';
import { button, drawWhenChanged, h, hasFocus, keepFocus } from './dom';
import type { Context } from './entries';
import { drawGauge, drawHead, drawMode, drawPickers } from './frame';
import { drawJobs, drawQueue, drawWaiting, nameUnsaved } from './frame';
import { heldText } from './markdown';
import { measure } from './measure';
import { enterGate, StopQuestion } from './gate';
import type { Item } from '../protocol';
import { drawProblem, drawWelcome } from './start';
import type { FromPanel, PanelState, ToPanel, Waiting } from './messages';
import { Conversation, type Entry } from './model';
import { Transcript } from './transcript';
import { inputHint } from './typed';

declare function acquireVsCodeApi(): {
  postMessage(message: FromPanel): void;
  getState(): ComposerState | undefined;
  setState(state: ComposerState): void;
};

const api = acquireVsCodeApi();
const send = (message: FromPanel) => api.postMessage(message);
const saved: ComposerState = { draft: '', history: [], ...api.getState() };
const conversation = new Conversation();
const checkpoints = new Map<string, string>();
/**
 * Returns the checkpoint before a prompt, by the prompt's id or by the id of the turn that it
 * began.
 */
const checkpointOf = (entry: Entry) =>
  checkpoints.get(entry.id) ??
  (entry.item?.source === 'steer' ? undefined : checkpoints.get(entry.turnId ?? ''));
const askedFor = new Set<string>();
const proposalOf = ({ proposalId }: Item) => {
  if (proposalId === undefined) return undefined;
  const known = conversation.proposals.get(proposalId);
  if (!known && !askedFor.has(proposalId)) send({ type: 'proposal', proposalId });
  askedFor.add(proposalId);
  return known;
};
const context: Context = { conversation, send, folds: new Map(), checkpointOf, proposalOf };
const transcript = new Transcript(context);
const announcer = new Announcer();
let waitingNow: Waiting[] = [];
let discards = 0;
const confirm: Confirm = new Confirm(() => composer.focus());
const stopQuestion = new StopQuestion(confirm, send);
const composer: Composer = new Composer(
  send,
  saved,
  () => api.setState(saved),
  enterGate(confirm, send, () => ({
    waiting: waitingNow[0],
    menuOpen:
      asks.querySelector<HTMLDetailsElement>('.ask:first-child details.more')?.open ?? false,
    discards: discardsNow(),
  })),
);
/** Returns the number of undecided changes that a message to the running turn would reject. */
const discardsNow = () => (composer.isBusy ? discards : 0);
const describeInput = () => composer.setHint(inputHint(waitingNow[0], discardsNow()));

const head = h('header');
const problem = h('div', { class: 'problem', role: 'alert', hidden: true });
const asks = h('div', { class: 'asks' });
const queue = h('div', { class: 'queue' });
const jobs = h('div', { class: 'jobs' });
const changes = h('div', { class: 'changes', role: 'group', 'aria-label': 'Changes' });
const run = (command: string) => () => send({ type: 'command', command, args: [] });
const demo = h(
  'div',
  { class: 'demo', role: 'group', 'aria-label': 'Demo', hidden: true },
  h('span', { class: 'label' }, 'Demo: a scripted model in a sample folder.'),
  h('span', { class: 'row' }, button('End the demo', run('agentLsp.endDemo'), { class: 'small' })),
);
const offer = h('div', { class: 'offer', role: 'group', 'aria-label': 'Edit policy' });
const pickers = h('div', { class: 'pickers' });
const gauge = h('div', { class: 'gauge' });
const foot = h('div', { class: 'foot' }, pickers);
const modePicker = h('div', { class: 'pickers' });
composer.tools.append(modePicker, gauge);
const welcome = h('div', { class: 'welcome' });
drawWhenChanged(welcome, [undefined], () => drawWelcome(undefined, send));

const parts = [
  head,
  transcript.element,
  welcome,
  jobs,
  problem,
  asks,
  queue,
  confirm.element,
  demo,
  offer,
  changes,
  composer.element,
  foot,
  announcer.polite,
  announcer.assertive,
];
document.getElementById('app')?.append(...parts);
keepFocus(() => composer.focus());

function drawState(state: PanelState): void {
  Object.assign(document.body.dataset, { session: state.sessionId ?? '', daemon: state.daemon });
  drawWhenChanged(head, [state.title, state.status, state.daemon], () => drawHead(state, send));
  const { model, mode, policy, profile, contextTokens, contextWindow, usage } = state;
  drawWhenChanged(pickers, [model, policy, profile], () => drawPickers(state, send));
  drawWhenChanged(modePicker, [mode], () => drawMode(state, send));
  drawWhenChanged(gauge, [contextTokens, contextWindow, usage?.cost], () => drawGauge(state));
  drawWhenChanged(queue, state.queue, () => drawQueue(state.queue, send));
  problem.hidden = !state.problem;
  drawWhenChanged(problem, [state.problem], () =>
    state.problem ? drawProblem(state.problem, send) : [],
  );
  drawWhenChanged(welcome, [state.setup], () => drawWelcome(state.setup, send));
  changes.hidden = !state.changes;
  drawWhenChanged(changes, [state.sessionId, state.changes], () =>
    state.changes ? drawChanges(state.changes, state.sessionId ?? '', send) : [],
  );
  demo.hidden = !state.isDemo;
  offer.hidden = !state.offersReview;
  drawWhenChanged(offer, [state.offersReview], () => (state.offersReview ? drawOffer(send) : []));
  discards = state.discards;
  composer.setBusy(state.status === 'running' || state.status === 'awaiting');
  describeInput();
  dropOldConfirm();
}

/**
 * Closes a confirmation in the panel when it no longer applies, because the agent's request or the
 * turn has ended.
 */
function dropOldConfirm(): void {
  const gone =
    confirm.about === 'stop'
      ? !composer.isBusy || discards === 0
      : confirm.about !== undefined &&
        confirm.about !== (waitingNow[0]?.params.requestId ?? (discards > 0 ? 'changes' : ''));
  if (gone) confirm.close();
}

/**
 * Draws the open questions. Boxes that are already shown are kept, because typed text must not be
 * lost.
 */
function drawAsks(waiting: Waiting[], unsaved: string[]): void {
  waitingNow = waiting;
  describeInput();
  dropOldConfirm();
  const wanted = new Map(waiting.map((w) => [w.params.requestId, w]));
  for (const box of [...asks.children] as HTMLElement[]) {
    if (wanted.delete(box.dataset.request ?? '')) continue;
    const focused = hasFocus(box);
    box.remove();
    if (focused) composer.focus(); // the keyboard focus must not disappear with the box
  }
  for (const w of wanted.values()) {
    asks.append(drawWaiting(w, send));
    announcer.asked(w);
  }
  nameUnsaved(asks, unsaved);
}

function showWelcome(): void {
  welcome.hidden = conversation.order.length > 0;
  transcript.element.hidden = !welcome.hidden;
}

function reset(): void {
  conversation.clear();
  transcript.clear();
  checkpoints.clear();
  askedFor.clear();
  announcer.clear();
  drawWhenChanged(jobs, [], () => []);
  showWelcome();
}

function receive(message: ToPanel): void {
  switch (message.type) {
    case 'reset':
      return reset();
    case 'events': {
      const ids = new Set(message.events.flatMap((event) => conversation.take(event)));
      showWelcome();
      announcer.events(message.events);
      return transcript.changed([...ids]);
    }
    case 'loaded':
      return transcript.toEnd();
    case 'state':
      return drawState(message.state);
    case 'waiting':
      return drawAsks(message.waiting, message.unsaved);
    case 'checkpoints':
      for (const { messageId, turnId, checkpointId } of message.checkpoints)
        checkpoints.set(messageId || turnId, checkpointId);
      return transcript.redraw();
    case 'jobs':
      return drawWhenChanged(jobs, message.jobs, () => drawJobs(message.jobs, send));
    case 'restored':
      transcript.changed(conversation.takeRestore(message.restored));
      // Show the entry and its Undo button, because the user pressed Restore farther up.
      return transcript.toEnd();
    case 'proposal':
      return transcript.changed(conversation.takeProposal(message.proposal));
    case 'completions':
      return composer.complete(message.query, message.items);
    case 'confirmStop':
      return stopQuestion.ask(message.changes);
    case 'insert':
      return composer.insert(message.text, message.blocks);
    case 'options':
      return composer.choose(message.options);
    case 'focus':
      return composer.focus();
    case 'measure':
      return void measure(message.items, message.deltas).then((figures) => {
        document.body.dataset.figures = JSON.stringify(figures);
        send({ type: 'measured', figures });
      });
  }
}

addEventListener('message', ({ data }: MessageEvent<ToPanel>) => receive(data));

// The page never navigates to a link from the model. This listener runs before the editor's own
// listener, which would open the link a second time.
addEventListener(
  'click',
  (event) => {
    const link = (event.target as Element).closest('a');
    if (!link) return;
    event.preventDefault();
    event.stopPropagation();
    send({ type: 'link', href: link.getAttribute('href') ?? '' });
  },
  true,
);

// In a text field, Escape moves the focus out of the field. Elsewhere in the panel, it stops the
// running turn. The user is asked first if this would discard changes. Elements that use Escape
// themselves handle it first.
document.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape' || event.defaultPrevented || event.isComposing) return;
  if ((event.target as Element).matches('textarea, input[type="text"]'))
    return (transcript.element.hidden ? head.querySelector('button') : transcript.element)?.focus();
  if (composer.isBusy) send({ type: 'abort' });
});

// One listener handles the buttons in rendered Markdown.
document.addEventListener('click', (event) => {
  const action = (event.target as Element).closest<HTMLElement>('button[data-action]');
  if (action?.dataset.action === 'copy') send({ type: 'copy', text: heldText(action) });
  if (action?.dataset.action === 'insertText') send({ type: 'insertText', text: heldText(action) });
});

showWelcome();
requestAnimationFrame(() =>
  requestAnimationFrame(() => {
    document.body.dataset.firstPaint = performance.now().toFixed(0);
    send({ type: 'ready', firstPaintMs: performance.now() });
  }),
);

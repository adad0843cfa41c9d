// Draws one tool call. While the call runs, its elements are kept and only changes are written. A
// click on the title or on a button therefore hits the intended element, and the output keeps its
// scroll position.
import type { Item } from '../protocol';
import { button, drawWhenChanged, h, reachable, reachableNow } from './dom';
import { counts } from './changes';
import { drawDiff } from './diff';
import { commentsIn, countLines, decision, editedFiles, isEdit, omissionNote } from './edits';
import { drawEntry, fold, growText, type Context } from './entries';
import { argumentsText, type Entry } from './model';

/** The maximum number of characters that are shown of a tool's result. */
const shownResult = 8_000;

const statusWords: Record<string, string> = {
  pending: 'waiting',
  awaitingPermission: 'needs permission',
  awaitingReview: 'needs review',
  awaitingAnswer: 'needs answer',
  running: 'running',
  completed: 'done',
  failed: 'failed',
  denied: 'denied',
  skipped: 'skipped',
  cancelled: 'cancelled',
};

const statusSigns: Record<string, string> = {
  pending: '○',
  awaitingPermission: '?',
  awaitingReview: '?',
  awaitingAnswer: '?',
  running: '◐',
  completed: '✓',
  failed: '✗',
  denied: '⊘',
  skipped: '–',
  cancelled: '–',
};

/**
 * Returns the word for a status. Only the user rejects an edit, whereas a command may also be
 * denied by a rule.
 */
function statusWord(item: Item, status: string): string {
  return status === 'denied' && isEdit(item) ? 'rejected' : (statusWords[status] ?? status);
}

interface Parts {
  details: HTMLDetailsElement;
  title: HTMLElement;
  /** The element with the user's decision on an edit, which is shown below the fold. */
  decided: HTMLElement;
  /** The buttons below the decision. */
  buttons: HTMLElement;
  /** The newest entry, which is the content of the fold. The fold's body may be created later. */
  entry: Entry;
  item: Item;
}

const drawn = new WeakMap<Element, Parts>();

export function drawTool(entry: Entry, item: Item, into: HTMLElement, context: Context): void {
  const status = item.status ?? 'pending';
  const parts = partsOf(entry, item, into, context);
  Object.assign(parts, { entry, item });
  const time = timeOf(item.durationMs ?? 0);
  const label = item.label ?? item.name ?? 'tool';
  // The tool that asks the user runs until the user answers.
  const shown = status === 'running' && item.name === 'ask_user' ? 'awaitingAnswer' : status;
  const words = [status === 'completed' ? '' : statusWord(item, shown), time]
    .filter(Boolean)
    .join(' · ');
  const files = isEdit(item) ? editedFiles(item, context.proposalOf(item)) : [];
  const changed = countLines(files);
  const below = saidBelow(item, status, context);
  drawWhenChanged(parts.title, [status, label, words, changed, below], () => [
    h('span', { class: `sign ${shown}`, 'aria-hidden': 'true' }, statusSigns[shown] ?? '•'),
    h('span', { class: 'label', title: label }, ...labelParts(label)),
    changed.added + changed.removed > 0 && counts(changed.added, changed.removed),
    h('span', { class: below ? 'status below' : 'status' }, words),
  ]);
  drawDecided(parts.decided, item, context);
  openByItself(parts, status, context);
  const body = parts.details.querySelector<HTMLElement>(':scope > .tool-body');
  if (body) fillBody(body, entry, item, context);
  const review = status === 'awaitingReview' ? item.proposalId : undefined;
  const stoppable =
    ['running', 'awaitingPermission', 'awaitingReview'].includes(status) &&
    entry.children.length > 0;
  const ofFile = (context.proposalOf(item)?.files.length ?? 0) === 1;
  drawWhenChanged(parts.buttons, [review, ofFile, stoppable], () => [
    review !== undefined && reviewRow(review, ofFile ? 'file' : 'all', context),
    stoppable &&
      button('Stop', () => context.send({ type: 'abort', itemId: entry.id }), {
        class: 'small stop',
        'aria-label': 'Stop the sub-agent',
      }),
  ]);
}

/** Reports whether the card of an edit repeats its status below the changes. */
function saidBelow(item: Item, status: string, context: Context): boolean {
  if (!isEdit(item)) return false;
  if (status === 'awaitingReview') return true;
  return status === 'denied' && decision(item, context.proposalOf(item)) !== '';
}

/** Formats a duration in seconds, with tenths below 10 s. A duration below 50 ms is omitted. */
function timeOf(ms: number): string {
  return ms < 50 ? '' : `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}

/**
 * Splits a label that ends in a path. If the label is too long, its folders are shortened first. A
 * pattern in quotes is not a path.
 */
function labelParts(label: string): Node[] {
  const [, verb = '', folders = '', name] = /^(\S+ )?(\S.*\/)([^\s/"]+)$/.exec(label) ?? [];
  if (name === undefined) return [h('span', {}, label)];
  const path = h('span', { class: 'path' }, h('span', {}, folders), h('span', {}, name));
  return [h('span', { class: 'verb' }, verb), path];
}

function partsOf(entry: Entry, item: Item, into: HTMLElement, context: Context): Parts {
  const known = drawn.get(into);
  if (known && into.contains(known.details)) return known;
  const title = h('span', { class: 'tool-title' });
  const body = () => {
    const made = h('div', { class: 'tool-body' });
    const now = drawn.get(into) ?? parts;
    fillBody(made, now.entry, now.item, context);
    return made;
  };
  const details = fold(entry.id, title, false, context, body);
  const decided = h('div', { class: 'decided' });
  const buttons = h('div', { class: 'tool-buttons' });
  const parts: Parts = { details, title, decided, buttons, entry, item };
  into.replaceChildren(details, parts.decided, parts.buttons);
  drawn.set(into, parts);
  return parts;
}

/**
 * Opens or closes a fold unless the user has done so. An edit is open from the time its arguments
 * are known. Live output and a sub-agent are open while they run.
 */
function openByItself({ details, entry, item }: Parts, status: string, { folds }: Context): void {
  if (folds.has(entry.id)) return;
  const grows = entry.children.length > 0 ? !entry.done : status === 'running' && entry.text !== '';
  const open = isEdit(item) ? item.args !== undefined : grows;
  if (details.open !== open) details.open = open;
}

/** Draws an edit's buttons. The bar above the input has the buttons for all pending changes. */
function reviewRow(proposalId: string, what: 'file' | 'all', context: Context): HTMLElement {
  const command = (name: string) => () =>
    context.send({ type: 'command', command: name, args: [{ proposalId }] });
  return h(
    'div',
    { class: 'row review' },
    button('Review', command('agentLsp.review'), { class: 'primary' }),
    button(`Accept ${what}`, command('agentLsp.acceptAll')),
    button(`Reject ${what}`, command('agentLsp.rejectAll')),
  );
}

/** Draws the user's decision on an edit, together with the user's comments. */
function drawDecided(into: HTMLElement, item: Item, context: Context): void {
  const words = isEdit(item) ? decision(item, context.proposalOf(item)) : '';
  const comments = words === '' ? [] : commentsIn(item.result ?? '');
  drawWhenChanged(into, [words, comments], () => {
    const quotes = comments.map((comment) => h('em', {}, comment));
    return [words, ...quotes.flatMap((quote, index) => [index === 0 ? ': ' : '; ', quote])];
  });
}

function fillBody(body: HTMLElement, entry: Entry, item: Item, context: Context): void {
  const part = (name: string) =>
    body.querySelector<HTMLElement>(`:scope > .${name}`) ??
    body.appendChild(h('div', { class: name }));
  if (isEdit(item)) {
    const files = editedFiles(item, context.proposalOf(item));
    const note = omissionNote(item, context.proposalOf(item));
    return drawWhenChanged(part('edits'), [files, note], () => [
      ...files.map((file) => drawDiff(file, context)),
      note,
    ]);
  }
  const input =
    entry.children.length > 0
      ? ''
      : item.args === undefined
        ? entry.toolInput
        : // The label of a sub-agent call is its task, which is already shown elsewhere.
          argumentsText(item.args);
  drawWhenChanged(part('arguments'), input, () => [
    input !== '' &&
      reachable(
        h('pre', { class: 'input', role: 'group', 'aria-label': 'Arguments' }, clip(input)),
      ),
  ]);
  drawWhenChanged(part('places'), item.locations ?? [], () => places(item, context));
  drawChildren(part('inner'), entry, context);
  drawOutput(part('out'), item, item.result ?? entry.text);
}

function places(item: Item, context: Context): HTMLElement[] {
  return (item.locations ?? []).map(({ uri, range }) => {
    const line = range?.start.line;
    const name =
      decodeURIComponent(uri.split('/').pop() ?? uri) + (line === undefined ? '' : `:${line + 1}`);
    return button(name, () => context.send({ type: 'open', uri, line }), { class: 'link' });
  });
}

function drawChildren(into: HTMLElement, entry: Entry, context: Context): void {
  entry.children.forEach((id, index) => {
    const child = context.conversation.entries.get(id);
    if (child)
      drawEntry(
        child,
        (into.children[index] as HTMLElement | undefined) ?? into.appendChild(h('div')),
        context,
      );
  });
}

function drawOutput(into: HTMLElement, item: Item, output: string): void {
  if (output === '') return into.replaceChildren();
  let pre = into.firstElementChild as HTMLElement | null;
  if (!pre) into.append((pre = reachable(h('pre', { role: 'group', 'aria-label': 'Output' }))));
  pre.className = item.isError ? 'output error' : 'output';
  const atEnd = pre.scrollHeight - pre.scrollTop - pre.clientHeight < 8;
  const text = clip(output);
  if (pre.textContent === text) return;
  if (text.startsWith(pre.textContent ?? '')) growText(pre, text);
  else pre.textContent = text;
  if (atEnd && item.result === undefined) pre.scrollTop = pre.scrollHeight;
  reachableNow(pre);
}

function clip(text: string): string {
  if (text.length <= shownResult) return text;
  return `${text.slice(0, shownResult / 2)}\n… ${text.length - shownResult} characters …\n${text.slice(-shownResult / 2)}`;
}

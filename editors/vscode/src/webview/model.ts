// Converts notifications to the entries of the conversation. The conversion draws nothing. A
// repeated notification changes nothing, except for a delta.
import type { Delta, Item, Proposal, QueueEntry, RetryScheduled, Turn } from '../protocol';
import type { AgentEvent, Restored } from './messages';

/** One entry of the conversation. */
export interface Entry {
  id: string;
  kind: 'item' | 'turn' | 'retry' | 'compaction' | 'restore';
  turnId?: string;
  item?: Item;
  /**
   * The text streamed so far. This is the text of a message, reasoning, or a tool's live output.
   */
  text: string;
  toolInput: string;
  done: boolean;
  children: string[];
  parent?: string;
  turn?: Turn;
  retry?: RetryScheduled;
  note?: string;
  restored?: Restored;
}

/**
 * The number of characters that are kept when a tool's live output is shortened. It is shortened
 * when it is twice as long.
 */
const liveOutput = 64 * 1024;

export class Conversation {
  readonly entries = new Map<string, Entry>();
  /** The ids of the top-level entries in display order. */
  readonly order: string[] = [];
  /** The proposals of edits, including closed ones. */
  readonly proposals = new Map<string, Proposal>();
  private pinned = new Set<string>();

  clear(): void {
    this.entries.clear();
    this.proposals.clear();
    this.order.length = 0;
    this.pinned.clear();
  }

  /** Processes one notification, and returns the ids of the changed entries. */
  take(event: AgentEvent): string[] {
    switch (event.method) {
      case 'agent/item/started':
      case 'agent/item/updated':
        return this.put(event.params.item, event.params.turnId, false);
      case 'agent/item/completed':
        return this.put(event.params.item, event.params.turnId, true);
      case 'agent/delta':
        return this.append(event.params);
      case 'agent/session/updated':
        return this.pin(new Set(event.params.pinned ?? []));
      case 'agent/turn/completed':
        return this.endTurn(event.params.turnId, event.params.turn);
      case 'agent/retry':
        return this.retry(event.params);
      case 'agent/proposal/created':
      case 'agent/proposal/updated':
      case 'agent/proposal/closed':
        return this.takeProposal(event.params.proposal);
      case 'agent/compaction': {
        const { seq, tokensBefore, tokensAfter } = event.params;
        return this.add({
          ...blank(`compaction-${seq}`, 'compaction'),
          note: `Context compacted: ${tokensBefore} → ${tokensAfter} tokens`,
          done: true,
        });
      }
      default:
        return [];
    }
  }

  private put(item: Item, turnId: string, done: boolean): string[] {
    const known = this.entries.get(item.itemId);
    const entry = known ?? { ...blank(item.itemId, 'item'), parent: item.parentItemId };
    if (entry.done && !done) return [];
    entry.item = item;
    if (item.pinned) this.pinned.add(item.itemId);
    entry.turnId = turnId;
    entry.done = done;
    if (item.text !== undefined && (done || item.text.length > entry.text.length))
      entry.text = item.text;
    const cleared = this.dropRetry(turnId);
    if (known) return [item.itemId, ...cleared];
    return [...this.add(entry), ...cleared];
  }

  takeRestore(restored: Restored): string[] {
    const entry = blank(`restore-${restored.undoCheckpointId}`, 'restore');
    return this.add({ ...entry, note: restored.text, restored, done: true });
  }

  /**
   * Stores a proposal unless a newer revision is known. If the edit of the proposal is in the
   * conversation, its id is returned.
   */
  takeProposal(proposal: Proposal): string[] {
    const { proposalId, revision, itemId } = proposal;
    if ((this.proposals.get(proposalId)?.revision ?? 0) > revision) return [];
    this.proposals.set(proposalId, proposal);
    return this.entries.has(itemId) ? [itemId] : [];
  }

  /** Updates the pinned items. Returns the ids of the items whose state has changed. */
  private pin(now: Set<string>): string[] {
    const changed = [...new Set([...now, ...this.pinned])].filter(
      (id) => now.has(id) !== this.pinned.has(id),
    );
    this.pinned = now;
    return changed.filter((id) => {
      const entry = this.entries.get(id);
      if (entry?.item) entry.item = { ...entry.item, pinned: now.has(id) };
      return entry?.item;
    });
  }

  private append({ itemId, kind, text }: Delta): string[] {
    const entry = this.entries.get(itemId);
    if (!entry || entry.done) return [];
    if (kind === 'toolInput') entry.toolInput += text;
    else entry.text += text;
    if (kind === 'toolOutput' && entry.text.length > 2 * liveOutput)
      entry.text = entry.text.slice(-liveOutput);
    return [itemId];
  }

  private endTurn(turnId: string, turn: Turn): string[] {
    const cleared = this.dropRetry(turnId);
    for (const entry of this.entries.values()) if (entry.turnId === turnId) entry.done = true;
    return [
      ...this.add({ ...blank(`turn-${turnId}`, 'turn'), turn, turnId, done: true }),
      ...cleared,
    ];
  }

  private retry(retry: RetryScheduled): string[] {
    const id = `retry-${retry.turnId}`;
    const entry = this.entries.get(id);
    if (!entry) return this.add({ ...blank(id, 'retry'), retry });
    entry.retry = retry;
    return [id];
  }

  /** Removes a retry that is no longer pending. */
  private dropRetry(turnId: string): string[] {
    const id = `retry-${turnId}`;
    if (!this.entries.delete(id)) return [];
    this.order.splice(this.order.indexOf(id), 1);
    return [id];
  }

  /**
   * Returns the position for a new entry. A replay lists parallel calls in the order in which they
   * ended, so the position depends on the times at which they began.
   */
  private slotOf(entry: Entry): number {
    let slot = this.order.length;
    while (slot > 0 && isLater(this.entries.get(this.order[slot - 1] ?? ''), entry)) slot--;
    return slot;
  }

  private add(entry: Entry): string[] {
    if (this.entries.has(entry.id)) return [];
    this.entries.set(entry.id, entry);
    const parent = entry.parent ? this.entries.get(entry.parent) : undefined;
    if (!parent) {
      this.order.splice(this.slotOf(entry), 0, entry.id);
      return [entry.id];
    }
    parent.children.push(entry.id);
    return [parent.id, entry.id];
  }
}

/** Reports whether a call was made after another call in the same turn. */
function isLater(a: Entry | undefined, b: Entry): boolean {
  if (a?.item?.type !== 'toolCall' || b.item?.type !== 'toolCall') return false;
  return a.turnId === b.turnId && compareTimes(a.item.createdAt, b.item.createdAt) > 0;
}

/**
 * Compares two times to the nanosecond, because parallel calls often begin in the same millisecond.
 */
function compareTimes(a: string, b: string): number {
  const fraction = (time: string) => Number((/\.(\d+)/.exec(time)?.[1] ?? '').padEnd(9, '0'));
  return Date.parse(a) - Date.parse(b) || fraction(a) - fraction(b);
}

function blank(id: string, kind: Entry['kind']): Entry {
  return { id, kind, text: '', toolInput: '', done: false, children: [] };
}

/**
 * Returns the offset of the unfinished end of streamed Markdown. Only finished blocks precede it.
 */
export function splitStable(text: string, from: number): number {
  let stable = from;
  let fence = '';
  let position = from;
  while (position < text.length) {
    const end = text.indexOf('\n', position);
    if (end < 0) break;
    const line = text.slice(position, Math.min(end, position + 200));
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(line)?.[1];
    if (mark && !fence) fence = mark;
    else if (mark && mark[0] === fence[0] && mark.length >= fence.length) fence = '';
    position = end + 1;
    // A list or an indented block may continue after an empty line. Only a line that begins at the
    // left margin ends it.
    if (
      !fence &&
      line.trim() === '' &&
      /^\S/.test(text.slice(position, position + 1)) &&
      !/^([-*+>|]|\d+[.)])/.test(text.slice(position, position + 4))
    )
      stable = position;
  }
  return stable;
}

/**
 * Formats arguments for reading, one per line. Strings are unchanged, and only nested values are
 * JSON. A single string is shown without its name.
 */
export function argumentsText(args: unknown): string {
  if (typeof args !== 'object' || args === null || Array.isArray(args))
    return typeof args === 'string' ? args : JSON.stringify(args, null, 2);
  const text = (value: unknown) =>
    typeof value === 'string'
      ? value
      : typeof value === 'object'
        ? JSON.stringify(value, null, 2)
        : String(value);
  const named = Object.entries(args);
  if (named.length === 1 && typeof named[0]?.[1] === 'string') return named[0][1];
  return named
    .map(
      ([name, value]) =>
        `${name}:${text(value).includes('\n') ? `\n${text(value).replace(/^/gm, '  ')}` : ` ${text(value)}`}`,
    )
    .join('\n');
}

/**
 * Returns a message from another program. A period is added if the message has no final
 * punctuation.
 */
export function sentence(text: string): string {
  return /[.!?…:]$/.test(text.trimEnd()) ? text : `${text}.`;
}

/**
 * Returns the user's words in a queued prompt, without the content of attached files. If the prompt
 * has no words, it returns a description of the content.
 */
export function wordsOf(prompt: QueueEntry['prompt']): string {
  if (typeof prompt === 'string') return prompt;
  const words = prompt.filter((block) => block.type === 'text').map((block) => block.text ?? '');
  return (
    words.length > 0 ? words : prompt.map((block) => block.name ?? block.uri ?? block.type)
  ).join(' ');
}

// Announcements to a screen reader: short, once, in the order in which things happened. The
// conversation itself is read on request: a stream that is announced as it grows would never be
// silent.
import { h } from './dom';
import type { AgentEvent, Waiting } from './messages';
import { sentence } from './model';

/** Characters of a reply that are read out; the rest is in the conversation. */
const spoken = 600;

const endings: Record<string, string> = {
  completed: 'The agent is done.',
  aborted: 'Stopped.',
  interrupted: 'Stopped.',
};

/** The announcement for a notification; nothing for most, and nothing for replayed ones. */
export function announcement(event: AgentEvent): string {
  if ('replay' in event.params && event.params.replay) return '';
  if (event.method === 'agent/turn/started') return 'The agent works.';
  if (event.method === 'agent/retry')
    return `${sentence(event.params.error.message)} Trying again.`;
  if (event.method === 'agent/turn/completed') {
    const { status, error } = event.params.turn;
    return error ? `The agent stopped: ${error.message}` : (endings[status] ?? `Turn ${status}.`);
  }
  if (event.method !== 'agent/item/completed') return '';
  const { type, text, status, label, name, level, parentItemId } = event.params.item;
  if (type === 'assistantMessage' && !parentItemId) return plain(text ?? '');
  if (type === 'toolCall' && (status === 'failed' || status === 'denied'))
    return `${label ?? name ?? 'A tool'}: ${status}.`;
  if (type === 'notice' && level !== 'info') return text ?? '';
  return '';
}

/** What a question says when it comes. */
export function askAnnouncement(waiting: Waiting): string {
  if (waiting.kind === 'ask') return `The agent asks: ${waiting.params.question}`;
  const { title, subject, options } = waiting.params;
  return `The agent waits for your permission: ${title}. ${subject.command ?? ''} ${options.map(({ name }) => name).join(', ')}.`;
}

/** Markdown as it is spoken: no marks, no code beyond a mention of it. */
function plain(text: string): string {
  const words = text
    .replace(/^(```|~~~)[^]*?^\1.*$/gm, ' Code. ')
    .replace(/[`*_#>|]/g, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\s+/g, ' ')
    .trim();
  return words.length > spoken ? `${words.slice(0, spoken)}…` : words;
}

/** Two live regions out of sight: what can wait for a pause, and what cannot. */
export class Announcer {
  readonly polite = h('div', { class: 'sr', role: 'status', 'aria-live': 'polite' });
  readonly assertive = h('div', { class: 'sr', role: 'alert', 'aria-live': 'assertive' });

  events(events: AgentEvent[]): void {
    this.say(this.polite, events.map(announcement).filter(Boolean));
  }

  asked(waiting: Waiting): void {
    this.say(this.assertive, [askAnnouncement(waiting)]);
  }

  clear(): void {
    this.polite.replaceChildren();
    this.assertive.replaceChildren();
  }

  /** Each saying is a node of its own: only what is added is read. */
  private say(region: HTMLElement, texts: string[]): void {
    for (const text of texts) region.append(h('p', {}, text));
    while (region.childElementCount > 8) region.firstElementChild?.remove();
  }
}

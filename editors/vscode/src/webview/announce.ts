// Makes announcements to a screen reader. The announcements are short, and each is made once and in
// order. The user reads the conversation itself on request, because announcing a growing stream
// would never end.
import { h } from './dom';
import type { AgentEvent, Waiting } from './messages';
import { sentence } from './model';

/**
 * The maximum number of characters of a reply that are read aloud. The rest is in the conversation.
 */
const spoken = 600;

const endings: Record<string, string> = {
  completed: 'The agent is done.',
  aborted: 'Stopped.',
  interrupted: 'Stopped.',
};

/**
 * Returns the announcement for a notification. The result is empty for most notifications and for
 * replayed ones.
 */
export function announcement(event: AgentEvent): string {
  if ('replay' in event.params && event.params.replay) return '';
  if (event.method === 'agent/turn/started') return 'The agent is working.';
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

/** Returns the announcement for a new question. */
export function askAnnouncement(waiting: Waiting): string {
  if (waiting.kind === 'ask') return `The agent asks: ${waiting.params.question}`;
  const { title, subject, options } = waiting.params;
  return `The agent is waiting for your permission: ${title}. ${subject.command ?? ''} ${options.map(({ name }) => name).join(', ')}.`;
}

/** Converts Markdown to spoken text without markup. Each code block becomes the word "Code". */
function plain(text: string): string {
  const words = text
    .replace(/^(```|~~~)[^]*?^\1.*$/gm, ' Code. ')
    .replace(/[`*_#>|]/g, '')
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\s+/g, ' ')
    .trim();
  return words.length > spoken ? `${words.slice(0, spoken)}…` : words;
}

/**
 * Creates two invisible live regions. One is for announcements that can wait for a pause, and the
 * other is for announcements that cannot wait.
 */
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

  /** Adds a separate node for each announcement, because only added nodes are read. */
  private say(region: HTMLElement, texts: string[]): void {
    for (const text of texts) region.append(h('p', {}, text));
    while (region.childElementCount > 8) region.firstElementChild?.remove();
  }
}

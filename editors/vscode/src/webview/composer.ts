// Implements the input, with history, @ mentions, / commands and images. It handles Enter,
// Alt+Enter and Escape.
import type { ContentBlock } from '../protocol';
import { button, h, hasFocus } from './dom';
import type { Completion, Delivery, FromPanel, PromptOptions } from './messages';

/** The maximum number of prompts in the history. */
const historySize = 100;
/** The maximum size of an attached image, in bytes. */
const maxImage = 10 * 1024 * 1024;

const whileIdle = 'Ask for a change… @\u00a0adds context; /\u00a0runs a command';
const whileBusy = 'Enter sends now; Alt+Enter sends after this\u00a0turn';

export interface ComposerState {
  draft: string;
  history: string[];
}

/** Returns the action for a key press. It is pure, so that it can be tested. */
export function keyAction(key: {
  key: string;
  shiftKey: boolean;
  altKey: boolean;
  ctrlKey: boolean;
  isComposing: boolean;
}): Delivery | 'escape' | undefined {
  if (key.isComposing) return undefined;
  if (key.key === 'Escape') return 'escape';
  if (key.key !== 'Enter' || key.shiftKey || key.ctrlKey) return undefined;
  return key.altKey ? 'queue' : 'send';
}

/** Returns the @ or / word that ends at the caret. */
export function wordAt(text: string, caret: number): { start: number; query: string } | undefined {
  const before = text.slice(0, caret);
  const mention = /(?:^|\s)(@[^\s@]*)$/.exec(before)?.[1];
  if (mention !== undefined) return { start: caret - mention.length, query: mention };
  if (/^\/[\w-]*$/.test(before)) return { start: 0, query: before };
  return undefined;
}

/** Lets the panel handle text before it is sent. */
export interface Gate {
  /**
   * Identifies what the agent is waiting for. This is the ID of the oldest question, or `changes`
   * for pending changes. It is empty if the agent is not waiting.
   */
  subject(): string;
  /**
   * Reports whether the panel handles the text itself. `asked` is the subject for which the agent
   * was waiting when the user began to type. `take` empties the input, and `send` sends the text to
   * the agent.
   */
  holds(text: string, asked: string, take: () => void, send: (delivery: Delivery) => void): boolean;
}

export class Composer {
  readonly element: HTMLElement;
  private readonly input = h('textarea', {
    rows: '2',
    placeholder: whileIdle,
    'aria-label': 'Message to the agent',
    'aria-autocomplete': 'list',
    'aria-controls': 'completions',
  });
  private readonly menu = h('div', {
    class: 'menu',
    id: 'completions',
    role: 'listbox',
    'aria-label': 'Suggestions',
    tabindex: '0',
    hidden: true,
  });
  private readonly chips = h('div', { class: 'chips', role: 'group', 'aria-label': 'Attached' });
  /** The elements next to the buttons. */
  readonly tools = h('div', { class: 'tools' });
  private readonly sendButton = button('Send', () => this.submit('send'), {
    class: 'primary send',
  });
  private readonly stopButton = button('Stop', () => this.send({ type: 'abort' }), {
    class: 'stop',
    title: 'Stop the turn',
  });
  private blocks: { label: string; block: ContentBlock }[] = [];
  /** The options for the next prompt only. */
  private options: PromptOptions = {};
  private items: Completion[] = [];
  private chosen = 0;
  private recalled = -1;
  private busy = false;
  private hint: string | undefined;
  /**
   * The question or changes that the agent was waiting for when the user typed the first character.
   */
  private askedAtFirst = '';

  constructor(
    private readonly send: (message: FromPanel) => void,
    private readonly saved: ComposerState,
    private readonly save: () => void,
    private readonly gate: Gate,
  ) {
    this.input.value = saved.draft;
    this.element = h(
      'div',
      { class: 'composer' },
      this.menu,
      this.chips,
      this.input,
      h('div', { class: 'row' }, this.tools, this.stopButton, this.sendButton),
    );
    this.input.addEventListener('keydown', (event) => this.key(event));
    this.input.addEventListener('beforeinput', () => {
      if (this.input.value === '') this.askedAtFirst = this.gate.subject();
    });
    this.input.addEventListener('input', () => this.edited());
    this.input.addEventListener('blur', () => this.close());
    // A click on the menu's scroll bar must not take the focus from the input either.
    this.menu.addEventListener('mousedown', (event) => event.preventDefault());
    this.input.addEventListener('paste', (event) => this.files(event, event.clipboardData));
    this.element.addEventListener('dragover', (event) => event.preventDefault());
    this.element.addEventListener('drop', (event) => this.files(event, event.dataTransfer));
    this.setBusy(false);
  }

  focus(): void {
    this.input.focus();
  }

  get isBusy(): boolean {
    return this.busy;
  }

  setBusy(busy: boolean): void {
    this.busy = busy;
    if (!busy && hasFocus(this.stopButton)) this.focus();
    this.sendButton.textContent = busy ? 'Steer' : 'Send';
    this.sendButton.title = busy ? 'Send the message to the running turn' : '';
    this.stopButton.hidden = !busy;
    this.describe();
  }

  /** Shows what Enter does while the agent waits for the user. */
  setHint(hint: string | undefined): void {
    this.hint = hint;
    this.describe();
  }

  private describe(): void {
    this.input.placeholder = this.hint ?? (this.busy ? whileBusy : whileIdle);
  }

  insert(text: string, blocks: ContentBlock[]): void {
    const gap = this.input.value && !/\s$/.test(this.input.value) ? ' ' : '';
    this.input.value += gap + text;
    for (const block of blocks) this.attach(block, block.name ?? shortName(block.uri));
    this.edited();
    this.focus();
  }

  /** Adds options for the next prompt. */
  choose(options: PromptOptions): void {
    this.options = { ...this.options, ...options };
    this.drawChips();
    this.focus();
  }

  complete(query: string, items: Completion[]): void {
    if (wordAt(this.input.value, this.input.selectionStart)?.query !== query) return;
    this.items = items;
    this.chosen = 0;
    this.drawMenu();
  }

  private edited(): void {
    this.saved.draft = this.input.value;
    this.recalled = -1;
    this.save();
    const word = wordAt(this.input.value, this.input.selectionStart);
    if (word) this.send({ type: 'complete', query: word.query });
    else this.close();
  }

  private key(event: KeyboardEvent): void {
    if (!this.menu.hidden && this.menuKey(event)) return event.preventDefault();
    const action = keyAction(event);
    if (action === 'escape') return; // the page handles Escape
    if (action) {
      event.preventDefault();
      this.submit(action);
    } else if (
      (event.key === 'ArrowUp' || event.key === 'ArrowDown') &&
      this.recall(event.key === 'ArrowUp' ? 1 : -1)
    ) {
      event.preventDefault();
    }
  }

  private menuKey(event: KeyboardEvent): boolean {
    if (event.key === 'Enter' && this.isWhole()) {
      this.close();
      return false; // a completely typed command runs immediately
    }
    if (event.key === 'Escape') this.close();
    else if (event.key === 'ArrowDown') this.step(1);
    else if (event.key === 'ArrowUp') this.step(-1);
    else if ((event.key === 'Enter' || event.key === 'Tab') && !event.altKey)
      this.take(this.chosen);
    else return false;
    return true;
  }

  /** Reports whether the input contains exactly the selected command. */
  private isWhole(): boolean {
    return this.input.value.startsWith('/') && this.items[this.chosen]?.insert === this.input.value;
  }

  private step(by: number): void {
    this.chosen = (this.chosen + by + this.items.length) % this.items.length;
    this.drawMenu();
  }

  private take(index: number): void {
    const item = this.items[index];
    const word = wordAt(this.input.value, this.input.selectionStart);
    if (!item || !word) return;
    this.input.setRangeText(`${item.insert} `, word.start, this.input.selectionStart, 'end');
    if (item.block) this.attach(item.block, item.label);
    this.edited();
    this.close();
  }

  private drawMenu(): void {
    this.menu.hidden = this.items.length === 0;
    this.menu.replaceChildren(
      ...this.items.map((item, index) => {
        const option = h(
          'div',
          {
            class: 'option',
            role: 'option',
            id: `option-${index}`,
            'aria-selected': String(index === this.chosen),
          },
          h('span', {}, item.label),
          h('span', { class: 'detail' }, item.detail ?? ''),
        );
        option.addEventListener('mousedown', () => this.take(index));
        return option;
      }),
    );
    if (!this.menu.hidden)
      this.input.setAttribute('aria-activedescendant', `option-${this.chosen}`);
    this.menu.children[this.chosen]?.scrollIntoView({ block: 'nearest' });
  }

  private close(): void {
    this.items = [];
    this.menu.hidden = true;
    this.input.removeAttribute('aria-activedescendant');
  }

  private recall(by: number): boolean {
    if (by > 0 && this.recalled < 0 && this.input.value !== '') return false;
    if (this.recalled < 0 && by < 0) return false;
    this.recalled = Math.min(this.recalled + by, this.saved.history.length - 1);
    this.input.value = this.saved.history[this.recalled] ?? '';
    return true;
  }

  private submit(delivery: Delivery): void {
    const text = this.input.value.trim();
    if (!text && this.blocks.length === 0) return;
    if (
      delivery === 'send' &&
      this.gate.holds(
        text,
        this.askedAtFirst,
        () => this.clear(),
        (as) => this.deliver(text, as),
      )
    )
      return;
    this.deliver(text, delivery);
  }

  private deliver(text: string, delivery: Delivery): void {
    this.saved.history = [text, ...this.saved.history.filter((old) => old !== text)].slice(
      0,
      historySize,
    );
    // A steer joins the running turn, so the chosen options are kept for the next prompt.
    const isSteer = this.busy && delivery === 'send';
    const chosen =
      !isSteer && Object.keys(this.options).length > 0 && !text.startsWith('/options')
        ? this.options
        : undefined;
    this.send({
      type: 'prompt',
      text,
      blocks: this.blocks.map(({ block }) => block),
      delivery,
      options: chosen,
    });
    if (chosen) this.options = {};
    this.clear();
  }

  private clear(): void {
    this.blocks = [];
    this.drawChips();
    this.input.value = '';
    this.edited();
  }

  private attach(block: ContentBlock, label: string): void {
    this.blocks.push({ block, label });
    this.drawChips();
  }

  private drawChips(): void {
    const blocks = this.blocks.map((entry) =>
      this.chip(entry.label, () => (this.blocks = this.blocks.filter((b) => b !== entry))),
    );
    const { model, thinking } = this.options;
    const options = [
      model !== undefined &&
        this.chip(`Model: ${model}`, () => delete this.options.model, 'For this prompt only'),
      thinking !== undefined &&
        this.chip(
          `Thinking: ${thinking}`,
          () => delete this.options.thinking,
          'For this prompt only',
        ),
    ];
    this.chips.replaceChildren(...blocks, ...options.filter((chip) => chip !== false));
  }

  private chip(label: string, drop: () => unknown, title?: string): HTMLElement {
    const remove = () => {
      drop();
      this.drawChips();
      this.focus();
    };
    return h(
      'span',
      { class: 'chip', title },
      label,
      button('×', remove, { 'aria-label': `Remove ${label}` }),
    );
  }

  private files(event: Event, data: DataTransfer | null): void {
    const images = [...(data?.files ?? [])].filter(
      (file) => /^image\/(png|jpeg|gif|webp)$/.test(file.type) && file.size <= maxImage,
    );
    if (images.length === 0) return;
    event.preventDefault();
    for (const file of images) void this.image(file);
  }

  private async image(file: File): Promise<void> {
    const reader = new FileReader();
    const url = await new Promise<string>((resolve) => {
      reader.onload = () => resolve(String(reader.result));
      reader.readAsDataURL(file);
    });
    this.attach(
      { type: 'image', mimeType: file.type, data: url.slice(url.indexOf(',') + 1) },
      file.name || 'image',
    );
  }
}

function shortName(uri: string | undefined): string {
  return decodeURIComponent(uri?.split('/').pop() ?? 'context');
}

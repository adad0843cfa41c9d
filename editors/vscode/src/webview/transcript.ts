// Manages the list of entries. Only entries near the visible area are drawn. The others are empty
// boxes that keep their height.
import { h } from './dom';
import { drawEntry, type Context } from './entries';
import type { Entry } from './model';

/** The distance from the visible area within which entries are drawn. */
const margin = '1200px 0px';
/** The distance from the end, in pixels, within which new text keeps the end visible. */
const stickiness = 40;

export class Transcript {
  readonly element = h('div', {
    class: 'transcript',
    role: 'log',
    'aria-live': 'off',
    'aria-label': 'Conversation',
    tabindex: '0',
  });
  private readonly list = h('div', { class: 'entries' });
  private readonly boxes = new Map<string, HTMLElement>();
  private readonly near = new Set<string>();
  private readonly dirty = new Set<string>();
  private readonly watcher: IntersectionObserver;
  private frame = 0;
  private follow = true;
  private opened = false;
  /** The scroll position at the last scroll event. */
  private scrolled = 0;

  constructor(private readonly context: Context) {
    this.element.append(this.list);
    this.watcher = new IntersectionObserver((seen) => this.see(seen), {
      root: this.element,
      rootMargin: margin,
    });
    this.element.addEventListener('scroll', () => this.moved());
    // If the user opens a block, the block stays visible. If a block grows on its own, or the list
    // shrinks because a question is shown, the end stays visible.
    this.element.addEventListener('click', (event) => {
      if (!(event.target as Element).closest('summary')) return;
      this.opened = true;
      this.follow = false;
    });
    const sizes = new ResizeObserver(() => this.resized());
    for (const element of [this.list, this.element]) sizes.observe(element);
  }

  /** The number of entries whose content is currently in the page. */
  get drawnCount(): number {
    return this.near.size;
  }

  clear(): void {
    this.watcher.disconnect();
    this.boxes.clear();
    this.near.clear();
    this.dirty.clear();
    this.list.replaceChildren();
    this.follow = true;
  }

  /** Marks entries as changed. They are drawn with the next frame. */
  changed(ids: string[]): void {
    for (const id of ids) this.dirty.add(this.top(id));
    this.schedule();
  }

  redraw(): void {
    this.changed(this.context.conversation.order);
  }

  toEnd(): void {
    this.follow = true;
    this.schedule();
  }

  private atEnd(): boolean {
    const { scrollHeight, scrollTop, clientHeight } = this.element;
    return scrollHeight - scrollTop - clientHeight < stickiness;
  }

  /**
   * Handles a scroll event. Only an upward scroll leaves the end. The event for a scroll to the end
   * may arrive after the input has grown, so the end may be farther away although the user did not
   * scroll.
   */
  private moved(): void {
    const { scrollTop } = this.element;
    const up = scrollTop < this.scrolled;
    this.scrolled = scrollTop;
    if (this.atEnd()) this.follow = true;
    else if (up) this.follow = false;
  }

  private resized(): void {
    if (this.opened) this.follow = this.atEnd();
    else if (this.follow) this.element.scrollTop = this.element.scrollHeight;
    this.opened = false;
  }

  private schedule(): void {
    this.frame ||= requestAnimationFrame(() => this.draw());
  }

  private top(id: string): string {
    let entry = this.context.conversation.entries.get(id);
    while (entry?.parent && this.context.conversation.entries.has(entry.parent))
      entry = this.context.conversation.entries.get(entry.parent);
    return entry?.id ?? id;
  }

  private draw(): void {
    this.frame = 0;
    const { entries } = this.context.conversation;
    const added = document.createDocumentFragment();
    for (const id of this.dirty) {
      const entry = entries.get(id);
      if (!entry) this.remove(id);
      else if (!this.boxes.has(id)) added.append(this.box(id));
      if (entry && this.near.has(id)) this.fill(entry);
    }
    this.dirty.clear();
    const newest = [...added.children] as HTMLElement[];
    this.list.append(added);
    for (const box of newest) this.order(box);
    for (const box of newest) this.watcher.observe(box);
    // The user sees the end, so the last entries are drawn immediately. The observer removes
    // entries that are not visible.
    for (const box of newest.slice(-20)) this.show(box);
    if (this.follow) this.element.scrollTop = this.element.scrollHeight;
  }

  /** Moves a new box if its entry is not the last one of the conversation. */
  private order(box: HTMLElement): void {
    const next = this.boxAfter(box);
    if (next !== box.nextSibling) this.list.insertBefore(box, next);
  }

  private boxAfter(box: HTMLElement): HTMLElement | null {
    const { order } = this.context.conversation;
    for (let i = order.lastIndexOf(box.dataset.id ?? '') + 1; i > 0 && i < order.length; i++) {
      const next = this.boxes.get(order[i] ?? '');
      if (next) return next;
    }
    return null;
  }

  private box(id: string): HTMLElement {
    const box = h('div', { class: 'entry', 'data-id': id });
    box.style.minHeight = '24px';
    this.boxes.set(id, box);
    return box;
  }

  private remove(id: string): void {
    const box = this.boxes.get(id);
    if (!box) return;
    this.watcher.unobserve(box);
    box.remove();
    this.boxes.delete(id);
    this.near.delete(id);
  }

  private see(seen: IntersectionObserverEntry[]): void {
    for (const { target, isIntersecting } of seen) {
      // Ignore a late event for a box that has been removed.
      if (this.boxes.get((target as HTMLElement).dataset.id ?? '') !== target) continue;
      if (isIntersecting) this.show(target as HTMLElement);
      else this.hide(target as HTMLElement);
    }
    if (this.follow) this.element.scrollTop = this.element.scrollHeight;
  }

  private show(box: HTMLElement): void {
    const id = box.dataset.id ?? '';
    const entry = this.context.conversation.entries.get(id);
    if (this.near.has(id) || !entry) return;
    this.near.add(id);
    box.style.minHeight = '';
    this.fill(entry);
  }

  private hide(box: HTMLElement): void {
    if (!this.near.delete(box.dataset.id ?? '')) return;
    if (box.contains(document.activeElement)) return void this.near.add(box.dataset.id ?? '');
    box.style.minHeight = `${box.offsetHeight}px`;
    box.replaceChildren();
  }

  private fill(entry: Entry): void {
    const box = this.boxes.get(entry.id);
    if (box) drawEntry(entry, box, this.context);
  }
}

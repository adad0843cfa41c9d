// The smallest way to build elements. Text is text: nothing here parses HTML.

type Child = Node | string | undefined | false;

/** An element with attributes and children. Keys that begin with on are listeners, class and text are what they say. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Record<string, string | boolean | undefined | ((event: Event) => void)> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, '');
    else element.setAttribute(name, value);
  }
  for (const child of children) if (child !== undefined && child !== false) element.append(child);
  return element;
}

/** A button with a label that a screen reader reads and an action. */
export function button(
  label: string,
  action: () => void,
  attributes: Record<string, string | boolean | undefined> = {},
): HTMLButtonElement {
  return h('button', { type: 'button', ...attributes, onclick: action }, label);
}

/** What scrolls is a stop of the Tab key while it does, so that it can be read without a mouse; what does not is none. */
let scrolls: ResizeObserver | undefined;

/** To be called where the content alone has changed: the size may be the same. */
export function reachableNow(element: HTMLElement): void {
  if (element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight)
    element.tabIndex = 0;
  else element.removeAttribute('tabindex');
}

/** Makes what may come to scroll reachable by keys. */
export function reachable<E extends HTMLElement>(element: E): E {
  scrolls ??= new ResizeObserver((seen) =>
    seen.forEach(({ target }) => reachableNow(target as HTMLElement)),
  );
  scrolls.observe(element);
  return element;
}

const keys = new WeakMap<Element, string>();

/** Draws the children again only when their content has changed: a click must end on the button where it began, and focus stays. */
export function drawWhenChanged(into: Element, key: unknown, children: () => Child[]): void {
  const text = JSON.stringify(key);
  if (keys.get(into) === text && into.firstChild) return;
  keys.set(into, text);
  const focused = hasFocus(into)
    ? focusables(into).indexOf(document.activeElement as HTMLElement)
    : -1;
  into.replaceChildren(
    ...children().filter((child): child is Node | string => child !== undefined && child !== false),
  );
  if (focused >= 0)
    (focusables(into)[focused] ?? focusables(into).at(-1) ?? { focus: fallback }).focus();
}

/** Whether the keyboard is in an element. False while the editor has it: the page keeps a focus of its own, which must not claim the keyboard. */
export function hasFocus(within: Element): boolean {
  return document.hasFocus() && within.contains(document.activeElement);
}

/** Where the focus goes when what had it is gone. */
let fallback = () => {};

export function keepFocus(otherwise: () => void): void {
  fallback = otherwise;
}

function focusables(within: Element): HTMLElement[] {
  return [...within.querySelectorAll<HTMLElement>('button, input, textarea, summary, a[href]')];
}

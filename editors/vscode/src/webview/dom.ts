// Provides minimal helpers that build elements. Text is always inserted as text and never parsed as
// HTML.

type Child = Node | string | undefined | false;

/** Creates an element with attributes and children. Keys that begin with `on` are listeners. */
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

/** Creates a button with a label and an action. */
export function button(
  label: string,
  action: () => void,
  attributes: Record<string, string | boolean | undefined> = {},
): HTMLButtonElement {
  return h('button', { type: 'button', ...attributes, onclick: action }, label);
}

/**
 * Observes the sizes of elements. While an element is scrollable, it can be reached with Tab, so
 * that it can be read without a mouse.
 */
let scrolls: ResizeObserver | undefined;

/**
 * Makes an element reachable with Tab only while it is scrollable. Call this after a change of its
 * content, because the observer reports only changes of its size.
 */
export function reachableNow(element: HTMLElement): void {
  if (element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight)
    element.tabIndex = 0;
  else element.removeAttribute('tabindex');
}

/** Makes an element reachable with Tab whenever it is scrollable. */
export function reachable<E extends HTMLElement>(element: E): E {
  scrolls ??= new ResizeObserver((seen) =>
    seen.forEach(({ target }) => reachableNow(target as HTMLElement)),
  );
  scrolls.observe(element);
  return element;
}

const keys = new WeakMap<Element, string>();

/**
 * Redraws the children only if `key` has changed, because a click must end on the button where it
 * began, and the focus must stay.
 */
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

/**
 * Reports whether the keyboard focus is in an element. Returns false while the editor has the
 * focus, because the page remembers its own focus and must not take the keyboard.
 */
export function hasFocus(within: Element): boolean {
  return document.hasFocus() && within.contains(document.activeElement);
}

/** Moves the focus to another element when the focused element is removed. */
let fallback = () => {};

export function keepFocus(otherwise: () => void): void {
  fallback = otherwise;
}

function focusables(within: Element): HTMLElement[] {
  return [...within.querySelectorAll<HTMLElement>('button, input, textarea, summary, a[href]')];
}

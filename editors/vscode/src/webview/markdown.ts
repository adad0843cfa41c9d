// Converts the model's Markdown to safe HTML. Text from the model never becomes a script, a command
// or a request.
import DOMPurify from 'dompurify';
import { Marked } from 'marked';
import { colored } from './colors';
import { isCostly } from './costly';
import { reachable } from './dom';

/**
 * The maximum number of characters in one block. A longer block is shown as plain text, because
 * parsing and layout would freeze the panel.
 */
export const plainFrom = 200_000;
/**
 * The maximum number of characters in one line. A block with a longer line is shown as plain text.
 */
const longLine = 20_000;

const marked = new Marked({ gfm: true, breaks: false, async: false });

const allowed = {
  ALLOWED_TAGS: [
    'p',
    'br',
    'hr',
    'h1',
    'h2',
    'h3',
    'h4',
    'h5',
    'h6',
    'em',
    'strong',
    'del',
    'code',
    'pre',
    'blockquote',
    'ul',
    'ol',
    'li',
    'table',
    'thead',
    'tbody',
    'tr',
    'th',
    'td',
    'a',
    'input',
    'span',
    'sub',
    'sup',
    'kbd',
  ],
  ALLOWED_ATTR: ['href', 'title', 'align', 'start', 'type', 'checked', 'disabled', 'class'],
  /**
   * Allows web pages, mail addresses, and file paths, which may end in a line and column. The
   * extension decides what each link may open.
   */
  ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|[^:]*$|[^:]*[./][^:]*(?::\d+){1,2}$)/i,
  ALLOW_DATA_ATTR: false,
  ALLOW_ARIA_ATTR: false,
  RETURN_DOM_FRAGMENT: true as const,
};

/** The allowed class names: a code block's language, and highlight.js tokens. */
const ownClass = /^(language-[\w+#.-]{1,40}|hljs-[\w-]+( [\w-]+)*)$/;

DOMPurify.addHook('afterSanitizeAttributes', (node) => {
  if (node.tagName === 'INPUT' && node.getAttribute('type') !== 'checkbox') node.remove();
  if (node.tagName === 'INPUT') node.setAttribute('disabled', '');
  if (!ownClass.test(node.getAttribute('class') ?? '')) node.removeAttribute('class');
});

/**
 * Renders finished Markdown. Code that is still growing is not highlighted, because it is drawn
 * again with each word.
 */
export function renderMarkdown(text: string, isOpen = false): DocumentFragment {
  if (text.length > plainFrom || hasLongLine(text) || isCostly(text)) return plain(text);
  let html: string;
  try {
    html = marked.parse(text) as string;
  } catch {
    return plain(text); // a text that cannot be parsed must not stop the panel
  }
  const fragment = DOMPurify.sanitize(html, allowed);
  if (!isOpen) for (const code of fragment.querySelectorAll('pre > code')) addColors(code);
  for (const pre of fragment.querySelectorAll('pre')) addCodeBar(reachable(pre));
  for (const table of fragment.querySelectorAll('table')) reachable(table);
  return fragment;
}

function addColors(code: Element): void {
  const language = code.className.replace('language-', '');
  const html = language && colored(code.textContent ?? '', language);
  const spans = {
    ALLOWED_TAGS: ['span'],
    ALLOWED_ATTR: ['class'],
    RETURN_DOM_FRAGMENT: true as const,
  };
  if (html) code.replaceChildren(DOMPurify.sanitize(html, spans));
}

function hasLongLine(text: string): boolean {
  for (let at = 0; at + longLine < text.length; ) {
    const end = text.indexOf('\n', at);
    if ((end < 0 ? text.length : end) - at > longLine) return true;
    if (end < 0) return false;
    at = end + 1;
  }
  return false;
}

/**
 * Shows text that is too long for Markdown as plain text. If only its beginning is shown, a button
 * copies the full text.
 */
function plain(text: string): DocumentFragment {
  const fragment = document.createDocumentFragment();
  const pre = reachable(document.createElement('pre'));
  pre.className = 'huge';
  const shown = 20_000;
  pre.textContent = text.slice(0, shown);
  fragment.append(pre);
  if (text.length > shown) {
    const more = document.createElement('button');
    more.className = 'link';
    more.dataset.action = 'copy';
    more.textContent = `… ${(text.length - shown).toLocaleString()} more characters (copy the full text)`;
    holdText(more, text);
    fragment.append(more);
  }
  return fragment;
}

/** The texts on which buttons act. They are stored outside the DOM. */
const held = new WeakMap<Element, string>();

export function holdText(element: Element, text: string): void {
  held.set(element, text);
}

export function heldText(element: Element): string {
  return held.get(element) ?? '';
}

function addCodeBar(pre: HTMLPreElement): void {
  const code = pre.querySelector('code');
  const text = (code ?? pre).textContent ?? '';
  const wrap = document.createElement('div');
  wrap.className = 'code';
  const bar = document.createElement('div');
  bar.className = 'code-bar';
  const language = document.createElement('span');
  language.textContent = (code?.className ?? '').replace('language-', '');
  bar.append(
    language,
    codeButton('copy', 'Copy', text),
    codeButton('insertText', 'Insert at cursor', text),
  );
  pre.replaceWith(wrap);
  wrap.append(bar, pre);
}

function codeButton(action: string, label: string, text: string): HTMLButtonElement {
  const button = document.createElement('button');
  button.className = 'small';
  button.dataset.action = action;
  button.textContent = label;
  holdText(button, text);
  return button;
}

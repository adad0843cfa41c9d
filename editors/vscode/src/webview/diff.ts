// Draws the changes of one file as colored lines.
import { patchLines, type PatchLine } from '../lines';
import { button, h, reachable } from './dom';
import type { EditedFile } from './edits';
import type { Context } from './entries';

/** The maximum number of lines that are drawn of a file's diff. */
const shownLines = 400;

const classes: Record<PatchLine['kind'], string> = {
  '+': 'line added',
  '-': 'line removed',
  ' ': 'line',
  '@': 'gap',
};
const opWords: Record<EditedFile['op'], string> = {
  modify: '',
  create: 'new file',
  delete: 'deleted',
  rename: 'renamed',
};

export function drawDiff(file: EditedFile, context: Context): HTMLElement {
  const name = decodeURIComponent(file.uri.split('/').pop() ?? '');
  const line = file.hunks[0]?.line;
  const open = () => context.send({ type: 'open', uri: file.uri, line });
  const lines = linesOf(file);
  const box = h(
    'pre',
    { class: 'diff', role: 'group', 'aria-label': `Changes${name && ` of ${name}`}` },
    h('div', {}, ...lines.slice(0, shownLines)),
  );
  if (lines.length > shownLines)
    box.append(h('div', { class: 'gap' }, `… ${lines.length - shownLines} more lines`));
  return h(
    'div',
    {},
    name !== '' &&
      h(
        'div',
        { class: 'diff-name' },
        button(line === undefined ? name : `${name}:${line + 1}`, open, { class: 'link' }),
        opWords[file.op],
      ),
    lines.length > 0 && reachable(box),
  );
}

function linesOf({ hunks }: EditedFile): HTMLElement[] {
  return hunks.flatMap(({ line, lines }, index) => {
    const gap =
      hunks.length > 1 &&
      h('span', { class: 'gap' }, line === undefined ? `Change ${index + 1}` : `Line ${line + 1}`);
    return [...(gap ? [gap] : []), ...lines.map(drawLine)];
  });
}

function drawLine({ kind, text }: PatchLine): HTMLElement {
  const sign = kind === '-' ? '−' : kind;
  return h('span', { class: classes[kind], 'data-sign': sign }, text || ' ');
}

/** Draws a diff that the daemon has written, without its file names. */
export function drawPatch(diff: string): HTMLElement {
  const lines = patchLines(diff).map(drawLine);
  const box = { class: 'diff', role: 'group', 'aria-label': 'Changes' };
  return reachable(h('pre', box, h('div', {}, ...lines)));
}

// Colors whole lines of pending hunks in the buffers, and the changed words in those lines.
import * as vscode from 'vscode';
import { endOf, type Mark } from './hunks';
import { missingMarkdown, missingOf } from './missing';
import type { PendingHunk, Proposals } from './proposals';
import { changedWords } from './words';

const theme = (id: string) => new vscode.ThemeColor(id);
const ruler = (color: string) => ({
  overviewRulerColor: theme(color),
  overviewRulerLane: vscode.OverviewRulerLane.Left,
});
/**
 * Returns the style of a bar at the left edge. High contrast themes need it, because they do not
 * color lines.
 */
const bar = (color: string) => ({
  borderStyle: 'solid',
  borderWidth: '0 0 0 2px',
  borderColor: theme(color),
});

const kinds = {
  removedLine: {
    isWholeLine: true,
    ...bar('editorGutter.deletedBackground'),
    backgroundColor: theme('diffEditor.removedLineBackground'),
    ...ruler('diffEditorOverview.removedForeground'),
  },
  removedWord: {
    backgroundColor: theme('diffEditor.removedTextBackground'),
    border: '1px solid',
    borderColor: theme('diffEditor.removedTextBorder'),
  },
  addedLine: {
    isWholeLine: true,
    ...bar('editorGutter.addedBackground'),
    backgroundColor: theme('diffEditor.insertedLineBackground'),
    ...ruler('diffEditorOverview.insertedForeground'),
  },
  addedWord: {
    backgroundColor: theme('diffEditor.insertedTextBackground'),
    border: '1px solid',
    borderColor: theme('diffEditor.insertedTextBorder'),
  },
  insertion: {
    isWholeLine: true,
    borderStyle: 'solid',
    borderWidth: '2px 0 0 0',
    borderColor: theme('editorGutter.addedBackground'),
    ...ruler('diffEditorOverview.insertedForeground'),
  },
  stale: {
    isWholeLine: true,
    borderStyle: 'dashed',
    borderWidth: '0 0 1px 0',
    borderColor: theme('editorWarning.foreground'),
  },
} satisfies Record<string, vscode.DecorationRenderOptions>;

type Kind = keyof typeof kinds;
type Drawing = Record<Kind, vscode.DecorationOptions[]>;

export class Decorations implements vscode.Disposable {
  private readonly types = Object.fromEntries(
    Object.entries(kinds).map(([kind, options]) => [
      kind,
      vscode.window.createTextEditorDecorationType(options),
    ]),
  ) as Record<Kind, vscode.TextEditorDecorationType>;
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly proposals: Proposals) {
    this.subscriptions = [
      proposals.onChange(() => this.drawAll()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.drawAll()),
    ];
  }

  dispose(): void {
    for (const d of [...this.subscriptions, ...Object.values(this.types)]) d.dispose();
  }

  private drawAll(): void {
    for (const editor of vscode.window.visibleTextEditors) this.draw(editor);
  }

  private draw(editor: vscode.TextEditor): void {
    const drawing: Drawing = {
      removedLine: [],
      removedWord: [],
      addedLine: [],
      addedWord: [],
      insertion: [],
      stale: [],
    };
    for (const hunk of this.proposals.hunksOf(editor.document.uri))
      collect(hunk, editor.document, drawing);
    for (const [kind, type] of Object.entries(this.types))
      editor.setDecorations(type, drawing[kind as Kind]);
  }
}

/** Returns a range without its last line break. */
export function linesOf(range: vscode.Range): vscode.Range {
  return range.end.character === 0 && range.end.line > range.start.line
    ? new vscode.Range(
        range.start,
        new vscode.Position(range.end.line - 1, Number.MAX_SAFE_INTEGER),
      )
    : range;
}

export function rangeOf({ mark }: { mark: Mark }): vscode.Range {
  const { start, end } = mark.range;
  return new vscode.Range(start.line, start.character, end.line, end.character);
}

function collect(pending: PendingHunk, document: vscode.TextDocument, into: Drawing): void {
  const { mark, file } = pending;
  const range = rangeOf(pending);
  const lines = linesOf(range);
  if (mark.hunk.state === 'stale')
    return void into.stale.push({
      range: lines,
      hoverMessage:
        'This proposed change no longer fits the text. Reject it, or undo your own change.',
    });
  const applied = file.placement === 'applied';
  const hoverMessage = hoverOf(pending, document.languageId);
  if (range.isEmpty) return void into.insertion.push({ range, hoverMessage });
  into[applied ? 'addedLine' : 'removedLine'].push({ range: lines, hoverMessage });
  const { before, after } = changedWords(mark.hunk.oldText, mark.hunk.newText);
  const own = applied ? mark.hunk.newText : mark.hunk.oldText;
  const standing = document.getText(range).replace(/\r\n/g, '\n') === own.replace(/\r\n/g, '\n');
  if (!standing) return;
  for (const span of applied ? after : before)
    into[applied ? 'addedWord' : 'removedWord'].push({
      range: within(range.start, own, span.start, span.end),
    });
}

/**
 * Returns the hover of a hunk. The hover shows the complete text that the buffer does not contain,
 * because the row next to the hunk may be cut off.
 */
function hoverOf(
  { file, mark }: PendingHunk,
  languageId: string,
): vscode.MarkdownString | undefined {
  const missing = missingOf(file, mark.hunk);
  if (missing.lines.length === 0) return undefined;
  return new vscode.MarkdownString(missingMarkdown(missing, languageId));
}

function within(origin: vscode.Position, text: string, start: number, end: number): vscode.Range {
  const a = endOf(origin, text.slice(0, start));
  const b = endOf(origin, text.slice(0, end));
  return new vscode.Range(a.line, a.character, b.line, b.character);
}

// Draws the row above each pending hunk, with two buttons, a menu and a counter. In a file, text
// that the buffer does not contain has its own row. This row is below the lines that the text
// replaces, or above the lines that replaced the text. A diff shows both texts itself.
import * as vscode from 'vscode';
import { linesOf, rangeOf } from './decorations';
import { isSide, type SideDocuments } from './documents';
import { missingOf, rowOf } from './missing';
import type { ProposalFile } from '../protocol';
import { withoutIcons } from '../text';
import type { PendingHunk, Proposals } from './proposals';
import type { HunkRef } from './threads';

export class HunkLenses implements vscode.CodeLensProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly subscriptions: vscode.Disposable[];
  private told = '';
  /** The number of events that were fired. */
  private fired = 0;
  /** For each document with rows, the number of events before the editor last asked for them. */
  private readonly asked = new Map<string, number>();
  readonly onDidChangeCodeLenses = this.changed.event;

  constructor(
    private readonly proposals: Proposals,
    private readonly sides: SideDocuments,
  ) {
    this.subscriptions = [
      proposals.onChange(() => this.tell()),
      vscode.workspace.onDidChangeConfiguration((e) => {
        if (e.affectsConfiguration('agentLsp.review')) this.fire();
      }),
      vscode.window.onDidChangeActiveTextEditor(() => this.tellAgain()),
      vscode.window.onDidChangeVisibleTextEditors(() => this.tellAgain()),
    ];
  }

  async provideCodeLenses(document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    const { fired } = this;
    const rows = await this.rowsOf(document);
    if (rows.length > 0) this.asked.set(document.uri.toString(), fired);
    else this.asked.delete(document.uri.toString());
    return rows;
  }

  private async rowsOf(document: vscode.TextDocument): Promise<vscode.CodeLens[]> {
    if (isSide(document.uri)) {
      const hunks = await this.sides.hunksOfSide(document.uri);
      return hunks.flatMap((hunk, index) => buttons(hunk, index, hunks.length));
    }
    const hunks = this.proposals.hunksOf(document.uri);
    const starts = new Set(hunks.map(({ mark }) => mark.range.start.line));
    return hunks.flatMap((hunk, index) => [
      ...buttons(hunk, index, hunks.length),
      ...text(hunk, document.lineCount, starts),
    ]);
  }

  /**
   * Fires the event only if the rows have changed or the editor missed the last event, because the
   * editor redraws all rows after each event, and a click during the redraw may be lost.
   */
  private tell(): void {
    const rows = this.proposals.files().map(({ uri, file, proposal, marks }) => {
      const places = marks.map(({ hunk, range }) => [
        hunk.hunkId,
        range,
        hunk.oldText,
        hunk.newText,
      ]);
      return [uri, file.placement, proposal.proposalId, places];
    });
    const now = JSON.stringify(rows);
    if (now === this.told) return this.tellAgain();
    this.told = now;
    this.fire();
  }

  /**
   * Fires the event again if a visible document has rows that the editor did not ask for after the
   * last event. The editor asks after a delay, and does not ask if the document loses the focus
   * before. A decision on the last change of a file moves the focus to the next file.
   */
  private tellAgain(): void {
    const isOld = ({ document }: vscode.TextEditor) =>
      (this.asked.get(document.uri.toString()) ?? this.fired) < this.fired;
    if (vscode.window.visibleTextEditors.some(isOld)) this.fire();
  }

  private fire(): void {
    this.fired++;
    this.changed.fire();
  }

  dispose(): void {
    for (const s of this.subscriptions) s.dispose();
    this.changed.dispose();
  }
}

function refOf({ proposal, mark }: PendingHunk): HunkRef {
  return { proposalId: proposal.proposalId, hunkId: mark.hunk.hunkId };
}

function lens(line: number, title: string, command: string, ...args: unknown[]): vscode.CodeLens {
  const at = new vscode.Position(line, 0);
  return new vscode.CodeLens(new vscode.Range(at, at), { title, command, arguments: args });
}

/** Describes a change of a whole file, after the number of the change. */
const whole: Record<ProposalFile['op'], string> = {
  modify: '',
  create: ', new file',
  delete: ', deleted file',
  rename: '',
};

function buttons(pending: PendingHunk, index: number, count: number): vscode.CodeLens[] {
  const ref = refOf(pending);
  const { line } = rangeOf(pending).start;
  const applied = pending.file.placement === 'applied';
  // The editor does not show a plain space after an icon.
  const label = (icon: string, words: string) => `$(${icon})\u00a0${words}`;
  return [
    lens(
      line,
      applied ? label('check', 'Keep') : label('check', 'Accept'),
      'agentLsp.acceptHunk',
      ref,
    ),
    lens(
      line,
      applied ? label('discard', 'Undo') : label('close', 'Reject'),
      'agentLsp.rejectHunk',
      ref,
    ),
    lens(line, '$(ellipsis)', 'agentLsp.hunkMenu', ref),
    lens(line, `${index + 1} of ${count}${whole[pending.file.op]}`, 'agentLsp.nextHunk'),
  ];
}

/** Returns the row with the missing text. A click on the row opens the diff. */
function text(pending: PendingHunk, lineCount: number, starts: Set<number>): vscode.CodeLens[] {
  const inline = vscode.workspace.getConfiguration('agentLsp').get('review.inline', true);
  const row = inline ? rowOf(missingOf(pending.file, pending.mark.hunk)) : '';
  if (row === '') return [];
  const range = rangeOf(pending);
  const below = linesOf(range).end.line + 1;
  const isBelow =
    pending.file.placement === 'proposed' &&
    !range.isEmpty &&
    below < lineCount &&
    !starts.has(below);
  const title = withoutIcons(row);
  return [lens(isBelow ? below : range.start.line, title, 'agentLsp.showDiff', refOf(pending))];
}

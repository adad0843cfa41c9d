// The line above each pending hunk: keep, reject, comment, diff; above the first one also for the whole file.
import * as vscode from 'vscode';
import { rangeOf } from './decorations';
import type { PendingHunk, Proposals } from './proposals';
import type { HunkRef } from './threads';

export class HunkLenses implements vscode.CodeLensProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly subscription: vscode.Disposable;
  private told = '';
  readonly onDidChangeCodeLenses = this.changed.event;

  constructor(private readonly proposals: Proposals) {
    this.subscription = proposals.onChange(() => this.tell());
  }

  provideCodeLenses(document: vscode.TextDocument): vscode.CodeLens[] {
    const hunks = this.proposals.hunksOf(document.uri);
    return hunks.flatMap((hunk, index) => lensesOf(hunk, index, hunks.length));
  }

  /** Only where the lines would be other ones: the editor draws them all anew, and a click on one that goes is lost. */
  private tell(): void {
    const now = JSON.stringify(this.proposals.files().map(({ uri, file, proposal, marks }) => [uri, file.placement, proposal.proposalId, marks.map(({ hunk, range }) => [hunk.hunkId, range.start])]));
    if (now === this.told) return;
    this.told = now;
    this.changed.fire();
  }

  dispose(): void {
    this.subscription.dispose();
    this.changed.dispose();
  }
}

function lensesOf(pending: PendingHunk, index: number, count: number): vscode.CodeLens[] {
  const range = new vscode.Range(rangeOf(pending).start, rangeOf(pending).start);
  const ref: HunkRef = { proposalId: pending.proposal.proposalId, hunkId: pending.mark.hunk.hunkId };
  const lens = (title: string, command: string, ...args: unknown[]) => new vscode.CodeLens(range, { title: title.replace(') ', ')\u00a0'), command, arguments: args }); // a plain space behind an icon is swallowed
  const applied = pending.file.placement === 'applied';
  const lenses = [
    lens(applied ? '$(check) Keep' : '$(check) Accept', 'agentLsp.acceptHunk', ref),
    lens(applied ? '$(discard) Undo' : '$(close) Reject', 'agentLsp.rejectHunk', ref),
    lens('$(comment) Comment', 'agentLsp.commentHunk', ref),
    lens('$(diff) Diff', 'agentLsp.showDiff', ref),
  ];
  if (count > 1) lenses.push(lens(`${index + 1} of ${count}`, 'agentLsp.nextHunk'));
  if (index === 0 && count > 1) lenses.push(lens(`$(check-all) ${applied ? 'Keep' : 'Accept'} file`, 'agentLsp.acceptFile', pending.uri), lens(`$(close-all) ${applied ? 'Undo' : 'Reject'} file`, 'agentLsp.rejectFile', pending.uri));
  return lenses;
}

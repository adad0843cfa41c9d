// Provides the tree of pending changes and the badges in the Explorer.
import * as path from 'node:path';
import * as vscode from 'vscode';
import { rangeOf } from './decorations';
import type { PendingFile, PendingHunk, Proposals } from './proposals';
import type { HunkRef } from './threads';

export type Node =
  | { kind: 'file'; uri: vscode.Uri; files: PendingFile[] }
  | { kind: 'hunk'; pending: PendingHunk };

export class PendingTree implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly subscription: vscode.Disposable;
  readonly onDidChangeTreeData = this.changed.event;

  constructor(private readonly proposals: Proposals) {
    this.subscription = proposals.onChange(() => this.changed.fire());
  }

  getChildren(node?: Node): Node[] {
    if (!node) return byFile(this.proposals.files());
    if (node.kind === 'hunk') return [];
    return this.proposals.hunksOf(node.uri).map((pending) => ({ kind: 'hunk', pending }));
  }

  getTreeItem(node: Node): vscode.TreeItem {
    return node.kind === 'file' ? fileItem(node.uri, node.files) : hunkItem(node.pending);
  }

  dispose(): void {
    this.subscription.dispose();
    this.changed.dispose();
  }
}

function byFile(files: PendingFile[]): Node[] {
  const groups = new Map<string, PendingFile[]>();
  for (const file of files)
    groups.set(file.uri.toString(), [...(groups.get(file.uri.toString()) ?? []), file]);
  return [...groups.values()].map((group) => ({ kind: 'file', uri: group[0]!.uri, files: group }));
}

function fileItem(uri: vscode.Uri, files: PendingFile[]): vscode.TreeItem {
  const item = new vscode.TreeItem(uri, vscode.TreeItemCollapsibleState.Expanded);
  const count = files.reduce((n, file) => n + file.marks.length, 0);
  item.description =
    `${path.posix.dirname(vscode.workspace.asRelativePath(uri)).replace(/^\.$/, '')} ${count} change${count === 1 ? '' : 's'}`.trim();
  item.contextValue = 'file';
  item.command = { command: 'agentLsp.showDiff', title: 'Show Diff', arguments: [uri] };
  return item;
}

function hunkItem(pending: PendingHunk): vscode.TreeItem {
  const { hunk } = pending.mark;
  const shown = (hunk.newText.trim() || hunk.oldText.trim()).split('\n')[0] ?? '';
  const item = new vscode.TreeItem(shown, vscode.TreeItemCollapsibleState.None);
  item.description = `line ${pending.mark.range.start.line + 1}${hunk.state === 'stale' ? ', no longer fits' : ''}`;
  item.iconPath = new vscode.ThemeIcon(
    hunk.state === 'stale'
      ? 'warning'
      : hunk.oldText === ''
        ? 'diff-added'
        : hunk.newText === ''
          ? 'diff-removed'
          : 'diff-modified',
  );
  item.contextValue = 'hunk';
  item.tooltip = new vscode.MarkdownString().appendCodeblock(hunk.newText || hunk.oldText);
  const ref: HunkRef = { proposalId: pending.proposal.proposalId, hunkId: hunk.hunkId };
  item.command = {
    command: 'agentLsp.openHunk',
    title: 'Show',
    arguments: [ref, rangeOf(pending)],
  };
  return item;
}

/** Adds a badge to files with pending changes. */
export class PendingBadges implements vscode.FileDecorationProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri[]>();
  private readonly subscription: vscode.Disposable;
  private marked: vscode.Uri[] = [];
  readonly onDidChangeFileDecorations = this.changed.event;

  constructor(private readonly proposals: Proposals) {
    this.subscription = proposals.onChange(() => {
      const now = proposals.files().map((file) => file.uri);
      this.changed.fire([...this.marked, ...now]);
      this.marked = now;
    });
  }

  provideFileDecoration(uri: vscode.Uri): vscode.FileDecoration | undefined {
    const count =
      uri.scheme === 'file' || uri.scheme === 'vscode-remote'
        ? this.proposals.hunksOf(uri).length
        : 0;
    if (count === 0) return undefined;
    const decoration = new vscode.FileDecoration(
      count > 9 ? '9+' : String(count),
      `${count} pending change${count === 1 ? '' : 's'} by the agent`,
      new vscode.ThemeColor('gitDecoration.modifiedResourceForeground'),
    );
    decoration.propagate = true;
    return decoration;
  }

  dispose(): void {
    this.subscription.dispose();
    this.changed.dispose();
  }
}

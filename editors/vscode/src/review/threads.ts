// Shows the user's comments on pending hunks. A hunk has a thread only if the user wrote a comment
// on it.
import * as vscode from 'vscode';
import { linesOf, rangeOf } from './decorations';
import type { PendingHunk, Proposals } from './proposals';

/** Identifies the hunk for a thread's commands. */
export interface HunkRef {
  proposalId: string;
  hunkId: string;
}

interface Shown extends HunkRef {
  thread: vscode.CommentThread;
  text: string;
}

export class HunkThreads implements vscode.Disposable {
  private readonly controller = vscode.comments.createCommentController(
    'agentLsp.review',
    'agent-lsp',
  );
  private readonly shown = new Map<string, Shown>();
  /** The comments on each hunk, which are sent with the decision on it. */
  private readonly comments = new Map<string, string[]>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly proposals: Proposals) {
    this.controller.options = {
      prompt: 'Comment for the agent',
      placeHolder: 'What should be different?',
    };
    this.subscriptions = [this.controller, proposals.onChange(() => this.draw())];
  }

  refOf(thread: vscode.CommentThread): HunkRef | undefined {
    return [...this.shown.values()].find((shown) => shown.thread === thread);
  }

  commentOf({ proposalId, hunkId }: HunkRef): string | undefined {
    return this.comments.get(key(proposalId, hunkId))?.join('\n');
  }

  /** Stores a comment. It is sent to the agent with the decision on the hunk. */
  comment({ proposalId, hunkId }: HunkRef, text: string): void {
    const id = key(proposalId, hunkId);
    this.comments.set(id, [...(this.comments.get(id) ?? []), text]);
    this.draw();
  }

  dispose(): void {
    for (const { thread } of this.shown.values()) thread.dispose();
    for (const s of this.subscriptions) s.dispose();
  }

  private draw(): void {
    const gone = new Set(this.shown.keys());
    for (const file of this.proposals.files()) {
      for (const mark of file.marks) {
        const id = key(file.proposal.proposalId, mark.hunk.hunkId);
        if (!this.comments.has(id)) continue;
        gone.delete(id);
        this.show(id, { ...file, mark });
      }
    }
    for (const id of gone) {
      this.shown.get(id)?.thread.dispose();
      this.shown.delete(id);
    }
    for (const id of this.comments.keys()) {
      if (!this.proposals.get(id.split(' ')[0] ?? '')) this.comments.delete(id);
    }
  }

  private show(id: string, pending: PendingHunk): void {
    const comments = this.comments.get(id) ?? [];
    const end = linesOf(rangeOf(pending)).end.line;
    const range = new vscode.Range(end, 0, end, 0); // an empty range keeps the hunk's own colors
    const known = this.shown.get(id);
    const text = comments.join('\0');
    if (known && known.thread.uri.toString() === pending.uri.toString()) {
      if (!known.thread.range?.isEqual(range)) known.thread.range = range;
      if (known.text === text) return;
    }
    known?.thread.dispose();
    const thread = this.controller.createCommentThread(pending.uri, range, comments.map(commentOf));
    thread.label = 'Your comment, sent with your decision';
    thread.contextValue = 'hunk';
    thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
    thread.canReply = true;
    const { proposal, mark } = pending;
    this.shown.set(id, { thread, text, proposalId: proposal.proposalId, hunkId: mark.hunk.hunkId });
  }
}

function key(proposalId: string, hunkId: string): string {
  return `${proposalId} ${hunkId}`;
}

function commentOf(body: string): vscode.Comment {
  return { body, mode: vscode.CommentMode.Preview, author: { name: 'You' } };
}

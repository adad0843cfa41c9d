// One comment thread per pending hunk: shows what the buffer does not hold (the proposed or the replaced text),
// carries the buttons, and takes the user's comment.
import * as vscode from 'vscode';
import { linesOf, rangeOf } from './decorations';
import type { PendingHunk, Proposals } from './proposals';

/** Lines of a hunk that a thread shows. */
const shownLines = 40;

/** What a thread's commands get to know which hunk is meant. */
export interface HunkRef {
  proposalId: string;
  hunkId: string;
}

interface Shown extends HunkRef {
  thread: vscode.CommentThread;
  text: string;
}

export class HunkThreads implements vscode.Disposable {
  private readonly controller = vscode.comments.createCommentController('agentLsp.review', 'agent-lsp');
  private readonly shown = new Map<string, Shown>();
  /** Comments that go with the decision, by hunk. */
  private readonly comments = new Map<string, string[]>();
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly proposals: Proposals) {
    this.controller.options = { prompt: 'Comment for the agent', placeHolder: 'What should be different?' };
    this.subscriptions = [
      this.controller,
      proposals.onChange(() => this.draw()),
      vscode.workspace.onDidChangeConfiguration((e) => e.affectsConfiguration('agentLsp.review') && this.draw()),
      vscode.window.onDidChangeActiveColorTheme(() => this.drawAnew()), // the editor keeps the colours of the old theme in what it has drawn of a diff
    ];
  }

  refOf(thread: vscode.CommentThread): HunkRef | undefined {
    return [...this.shown.values()].find((shown) => shown.thread === thread);
  }

  commentOf({ proposalId, hunkId }: HunkRef): string | undefined {
    return this.comments.get(key(proposalId, hunkId))?.join('\n');
  }

  /** Keeps a comment; it reaches the agent with the decision on the hunk. */
  comment({ proposalId, hunkId }: HunkRef, text: string): void {
    const id = key(proposalId, hunkId);
    this.comments.set(id, [...(this.comments.get(id) ?? []), text]);
    this.draw();
  }

  dispose(): void {
    for (const { thread } of this.shown.values()) thread.dispose();
    for (const s of this.subscriptions) s.dispose();
  }

  private drawAnew(): void {
    for (const { thread } of this.shown.values()) thread.dispose();
    this.shown.clear();
    this.draw();
  }

  private draw(): void {
    const gone = new Set(this.shown.keys());
    if (vscode.workspace.getConfiguration('agentLsp').get('review.inline', true)) {
      for (const file of this.proposals.files()) {
        for (const mark of file.marks) {
          const id = key(file.proposal.proposalId, mark.hunk.hunkId);
          gone.delete(id);
          this.show(id, { ...file, mark });
        }
      }
    }
    for (const id of gone) {
      this.shown.get(id)?.thread.dispose();
      this.shown.delete(id);
    }
    for (const id of this.comments.keys()) if (!this.proposals.get(id.split(' ')[0] ?? '')) this.comments.delete(id);
  }

  private show(id: string, pending: PendingHunk): void {
    const text = bodyOf(pending);
    const comments = [text, ...(this.comments.get(id) ?? [])];
    const end = linesOf(rangeOf(pending)).end.line;
    const range = new vscode.Range(end, 0, end, 0); // no wider: VS Code would colour it over the hunk's own colours
    const known = this.shown.get(id);
    const whole = comments.join('\0') + pending.mark.hunk.state;
    if (known && known.thread.uri.toString() === pending.uri.toString()) {
      if (!known.thread.range?.isEqual(range)) known.thread.range = range;
      if (known.text === whole) return;
    }
    known?.thread.dispose();
    const thread = this.controller.createCommentThread(pending.uri, range, comments.map((body, i) => commentOf(body, i === 0)));
    thread.label = labelOf(pending);
    thread.contextValue = 'hunk';
    thread.collapsibleState = vscode.CommentThreadCollapsibleState.Expanded;
    thread.canReply = true;
    this.shown.set(id, { thread, text: whole, proposalId: pending.proposal.proposalId, hunkId: pending.mark.hunk.hunkId });
  }
}

function key(proposalId: string, hunkId: string): string {
  return `${proposalId} ${hunkId}`;
}

function labelOf({ file, mark, proposal }: PendingHunk): string {
  if (mark.hunk.state === 'stale') return 'Proposed change no longer fits';
  if (file.op !== 'modify') return `Proposed: ${file.op} file`;
  return file.placement === 'applied' ? `Changed by the agent: ${proposal.title}` : `Proposed: ${proposal.title}`;
}

function commentOf(body: string | vscode.MarkdownString, isHunk: boolean): vscode.Comment {
  return { body: isHunk ? markdown(String(body)) : body, mode: vscode.CommentMode.Preview, author: { name: isHunk ? 'Agent' : 'You' } };
}

function markdown(text: string): vscode.MarkdownString {
  const body = new vscode.MarkdownString(text);
  body.isTrusted = false;
  body.supportHtml = false;
  return body;
}

/** The text that is not in the buffer, as a diff block. */
function bodyOf({ file, mark }: PendingHunk): string {
  const { oldText, newText } = mark.hunk;
  if (file.op === 'rename') return `Rename to \`${vscode.workspace.asRelativePath(vscode.Uri.parse(file.newUri ?? file.uri)).replace(/`/g, '')}\``;
  if (file.op === 'delete') return 'Delete the file';
  const applied = file.placement === 'applied';
  const missing = applied ? oldText : newText;
  if (missing === '') return applied ? 'Added' : 'Remove these lines';
  const lines = missing.replace(/\r?\n$/, '').split(/\r?\n/);
  const shown = lines.slice(0, shownLines).map((line) => (applied ? '-' : '+') + line);
  if (lines.length > shownLines) shown.push(`… ${lines.length - shownLines} more lines`);
  const fence = '`'.repeat(Math.max(3, ...[...missing.matchAll(/`+/g)].map((m) => m[0].length + 1)));
  return `${fence}diff\n${shown.join('\n')}\n${fence}`;
}

// Stores the pending proposals as the daemon reported them, and tracks the ranges of their hunks in
// the buffers.
import * as vscode from 'vscode';
import type { Daemon } from '../client';
import type { Decision, Proposal, ProposalFile } from '../protocol';
import { counted } from '../text';
import { isOpen, marksFrom, shift, type Change, type Mark } from './hunks';

export interface PendingFile {
  proposal: Proposal;
  file: ProposalFile;
  uri: vscode.Uri;
  marks: Mark[];
}

export interface PendingHunk extends PendingFile {
  mark: Mark;
}

/** Selects all hunks in one proposal or one session. An empty reference selects all hunks. */
export interface ProposalRef {
  proposalId?: string;
  sessionId?: string;
}

interface Logged {
  version: number;
  changes: Change[];
}

/**
 * The number of recent changes to keep for each document. They are used to move a hunk whose
 * position refers to an earlier version of the document.
 */
const keptChanges = 64;

/**
 * Stores the proposals that have at least one undecided hunk. It fires `onChange` after every
 * change, including changes of marks.
 */
export class Proposals implements vscode.Disposable {
  private readonly byId = new Map<string, Proposal>();
  private readonly placed = new Map<string, Mark[]>();
  private readonly logs = new Map<string, Logged[]>();
  /**
   * The hunks for which a decision has been sent. They are no longer offered, so that no hunk is
   * decided twice.
   */
  private readonly deciding = new Set<string>();
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly closed = new vscode.EventEmitter<Proposal>();
  private readonly subscriptions: vscode.Disposable[];
  readonly onChange = this.changed.event;
  readonly onClosed = this.closed.event;

  constructor(private readonly daemon: Daemon) {
    this.subscriptions = [
      daemon.onNotification(({ method, params }) => {
        if (method === 'agent/proposal/created' || method === 'agent/proposal/updated')
          this.take(params.proposal);
        if (method === 'agent/proposal/closed') this.take(params.proposal, true);
      }),
      vscode.workspace.onDidChangeTextDocument((event) => this.follow(event)),
      vscode.workspace.onDidCloseTextDocument((document) =>
        this.logs.delete(document.uri.toString()),
      ),
    ];
  }

  get(proposalId: string): Proposal | undefined {
    return this.byId.get(proposalId);
  }

  all(): Proposal[] {
    return [...this.byId.values()];
  }

  files(): PendingFile[] {
    return this.all()
      .flatMap((proposal) => proposal.files.map((file) => this.pendingFile(proposal, file)))
      .filter((f) => f.marks.length > 0);
  }

  /** Returns the decided files of proposals that also have undecided files. */
  decidedFiles(): PendingFile[] {
    return this.all()
      .flatMap((proposal) => proposal.files.map((file) => this.pendingFile(proposal, file)))
      .filter(({ file }) => !file.hunks.some(isOpen));
  }

  /**
   * Returns the number of a session's undecided changes that are not in the buffers yet. Stopping
   * the session's turn withdraws these changes.
   */
  discardedByStop(sessionId: string | undefined): number {
    return this.files().reduce(
      (n, { proposal, file, marks }) =>
        n + (proposal.sessionId === sessionId && file.placement === 'proposed' ? marks.length : 0),
      0,
    );
  }

  /**
   * Returns the pending files, optionally only those of one proposal or session. If none are known,
   * the proposals are fetched, because a question about a proposal may be shown before the proposal
   * arrives.
   */
  async waiting({ proposalId, sessionId }: ProposalRef = {}): Promise<PendingFile[]> {
    const wanted = () =>
      this.files().filter(
        ({ proposal }) =>
          (proposalId ?? proposal.proposalId) === proposal.proposalId &&
          (sessionId ?? proposal.sessionId) === proposal.sessionId,
      );
    if (wanted().length === 0 && this.daemon.state === 'running') await this.refresh();
    return wanted();
  }

  filesOf(uri: vscode.Uri): PendingFile[] {
    const wanted = uri.toString();
    return this.files().filter((file) => file.uri.toString() === wanted);
  }

  hunksOf(uri: vscode.Uri): PendingHunk[] {
    return this.filesOf(uri)
      .flatMap((file) => file.marks.map((mark) => ({ ...file, mark })))
      .sort((a, b) => a.mark.range.start.line - b.mark.range.start.line);
  }

  find(proposalId: string, hunkId: string): PendingHunk | undefined {
    for (const file of this.files()) {
      if (file.proposal.proposalId !== proposalId) continue;
      const mark = file.marks.find((m) => m.hunk.hunkId === hunkId);
      if (mark) return { ...file, mark };
    }
    return undefined;
  }

  file(proposalId: string, uri: string): PendingFile | undefined {
    const proposal = this.byId.get(proposalId);
    const file = proposal?.files.find(
      (f) => normal(f.uri) === normal(uri) || (f.newUri && normal(f.newUri) === normal(uri)),
    );
    return proposal && file ? this.pendingFile(proposal, file) : undefined;
  }

  /** Replaces the known proposals with the pending ones that the daemon lists. */
  async refresh(): Promise<void> {
    const { proposals } = await this.daemon.request('agent/proposal/list', {});
    this.byId.clear();
    this.placed.clear();
    for (const proposal of proposals.filter(waits)) this.store(proposal);
    this.changed.fire();
  }

  /**
   * Sends decisions on hunks to the daemon. The user is notified of decisions that the daemon could
   * not apply.
   */
  async resolve(proposalId: string, decisions: Decision[], comment?: string): Promise<boolean> {
    const keys = decisions.map(({ hunkId }) => `${proposalId} ${hunkId}`);
    for (const k of keys) this.deciding.add(k);
    this.changed.fire();
    try {
      const result = await this.daemon.request('agent/proposal/resolve', {
        proposalId,
        decisions,
        comment,
      });
      this.take(result.proposal, !hasOpen(result.proposal));
      if (result.conflicts.length > 0) {
        const reasons = [...new Set(result.conflicts.map((c) => c.reason))].join('; ');
        void vscode.window.showWarningMessage(
          `${counted(result.conflicts.length, 'change')} could not be accepted or rejected: ${reasons}`,
        );
      }
      return result.conflicts.length === 0;
    } finally {
      for (const k of keys) this.deciding.delete(k);
      this.changed.fire();
    }
  }

  dispose(): void {
    for (const s of this.subscriptions) s.dispose();
    this.changed.dispose();
    this.closed.dispose();
  }

  private pendingFile(proposal: Proposal, file: ProposalFile): PendingFile {
    const marks = (this.placed.get(key(proposal, file)) ?? []).filter(
      ({ hunk }) => !this.deciding.has(`${proposal.proposalId} ${hunk.hunkId}`),
    );
    return { proposal, file, uri: vscode.Uri.parse(file.newUri ?? file.uri), marks };
  }

  private take(proposal: Proposal, ended = false): void {
    const known = this.byId.get(proposal.proposalId);
    if (known && known.revision > proposal.revision) return;
    if (ended) {
      this.forget(proposal);
      if (known) this.closed.fire(proposal);
    } else {
      this.store(proposal);
    }
    this.changed.fire();
  }

  private store(proposal: Proposal): void {
    this.forget(this.byId.get(proposal.proposalId));
    if (!hasOpen(proposal)) return;
    this.byId.set(proposal.proposalId, proposal);
    for (const file of proposal.files) this.placed.set(key(proposal, file), this.place(file));
  }

  private forget(proposal: Proposal | undefined): void {
    if (!proposal) return;
    this.byId.delete(proposal.proposalId);
    for (const file of proposal.files) this.placed.delete(key(proposal, file));
  }

  /**
   * Returns the marks of a file at their current positions. They are moved by the changes since the
   * version of the document to which the daemon's positions refer.
   */
  private place(file: ProposalFile): Mark[] {
    const since = (this.logs.get(normal(file.uri)) ?? []).filter(
      (l) => file.version !== null && l.version > file.version,
    );
    return since.reduce((marks, { changes }) => moved(marks, changes), marksFrom(file));
  }

  private follow({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    if (contentChanges.length === 0) return;
    const uri = document.uri.toString();
    const changes = contentChanges.map(({ range, text }) => ({ range, text }));
    const log = this.logs.get(uri) ?? [];
    log.push({ version: document.version, changes });
    this.logs.set(uri, log.slice(-keptChanges));
    let any = false;
    for (const proposal of this.all()) {
      for (const file of proposal.files.filter((f) => normal(f.newUri ?? f.uri) === uri)) {
        this.placed.set(
          key(proposal, file),
          moved(this.placed.get(key(proposal, file)) ?? [], changes),
        );
        any = true;
      }
    }
    if (any) this.changed.fire();
  }
}

function moved(marks: Mark[], changes: Change[]): Mark[] {
  return marks.map(({ hunk, range }) => ({ hunk, range: changes.reduce(shift, range) }));
}

/**
 * Reports whether a proposal is pending. A proposal in conflict is pending while any of its hunks
 * is pending.
 */
function waits(proposal: Proposal): boolean {
  return (
    proposal.state === 'proposed' ||
    proposal.files.some((file) => file.hunks.some((hunk) => hunk.state === 'pending'))
  );
}

function hasOpen(proposal: Proposal): boolean {
  return proposal.files.some((file) => file.hunks.some(isOpen));
}

function key(proposal: Proposal, file: ProposalFile): string {
  return `${proposal.proposalId} ${file.uri}`;
}

function normal(uri: string): string {
  return vscode.Uri.parse(uri).toString();
}

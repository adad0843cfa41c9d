// Performs the user's actions on pending hunks. Decisions are sent to the daemon, and only the
// daemon changes text.
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Decision } from '../protocol';
import { linesOf, rangeOf } from './decorations';
import { nearestMark, nextMark, type Mark } from './hunks';
import {
  baseScheme,
  isSide,
  proposedScheme,
  sideOf,
  sideUri,
  type SideDocuments,
} from './documents';
import type { PendingFile, PendingHunk, ProposalRef, Proposals } from './proposals';
import { isReviewShown, reviewTitle, stepInReview } from './tab';
import type { HunkRef, HunkThreads } from './threads';
import type { Node } from './tree';

type Target = HunkRef | vscode.Uri | vscode.CommentThread | vscode.CommentReply | Node | undefined;
type Action = 'accept' | 'reject';

export class ReviewCommands {
  constructor(
    private readonly proposals: Proposals,
    private readonly sides: SideDocuments,
    private readonly threads: HunkThreads,
  ) {}

  async decideHunk(action: Action, target: Target): Promise<void> {
    const pending = await this.hunk(target);
    if (!pending) return nothingPending();
    if (isReply(target) && target.text) this.threads.comment(refOf(pending), target.text);
    // Read this before the decision, because a diff closes with its last hunk.
    const from = { diff: isDiffShown(), tree: isNode(target) };
    if (isReviewShown()) await this.selectInReview(pending);
    await this.decide(pending.proposal.proposalId, [this.decision(action, pending)]);
    await this.showNext(pending, from);
  }

  /**
   * Shows the session's next pending hunk after a decision. The hunk is shown in a diff if the
   * decided hunk was in a diff. Its editor gets the focus, so that the next key decides the hunk.
   * Only the tree of changes keeps the focus.
   */
  private async showNext(
    pending: PendingHunk,
    from: { diff: boolean; tree: boolean },
  ): Promise<void> {
    if (isReviewShown()) return this.showNextInReview(pending);
    const { uri, mark, proposal } = pending;
    const editor = vscode.window.activeTextEditor;
    if (editor && isSide(editor.document.uri)) {
      const marks = await this.sides.marksIn(editor.document.uri);
      const next = nextMark(marks, editor.selection.active.line, 1) ?? marks[0];
      if (next) return show(editor, next);
    }
    const left = this.proposals.hunksOf(uri);
    const next = left.find((p) => p.mark.range.start.line >= mark.range.start.line) ?? left[0];
    const elsewhere = this.proposals
      .files()
      .find((f) => f.proposal.sessionId === proposal.sessionId);
    if (next) await this.open(next, from.tree);
    else if (elsewhere && from.diff) await this.showDiff(elsewhere.uri, from.tree);
    else if (elsewhere?.marks[0])
      await this.open({ ...elsewhere, mark: elsewhere.marks[0] }, from.tree);
  }

  /** Moves the cursor to a hunk in the review of all files, if the hunk is visible there. */
  private async selectInReview({ proposal, uri, mark }: PendingHunk): Promise<void> {
    const editor = sideEditor(proposal.proposalId, uri);
    const marks = editor ? await this.sides.marksIn(editor.document.uri) : [];
    const place = marks.find(({ hunk }) => hunk.hunkId === mark.hunk.hunkId)?.range.start;
    if (editor && place) {
      const position = new vscode.Position(place.line, 0);
      editor.selection = new vscode.Selection(position, position);
    }
  }

  /**
   * Shows the next pending hunk in the review of all files. VS Code moves to the next file, which
   * may have been decided already.
   */
  private async showNextInReview({ proposal, uri }: PendingHunk): Promise<void> {
    const editor = sideEditor(proposal.proposalId, uri);
    const marks = editor ? await this.sides.marksIn(editor.document.uri) : [];
    const next = editor && (nextMark(marks, editor.selection.active.line, 1) ?? marks[0]);
    if (editor && next) return show(editor, next);
    const seen = new Set<string>();
    for (;;) {
      await stepInReview(1);
      const shown = vscode.window.activeTextEditor?.document.uri;
      if (!shown || seen.has(shown.toString())) return;
      if ((await this.sides.marksIn(shown)).length > 0) return;
      seen.add(shown.toString());
    }
  }

  /** Shows the actions for a hunk that have no button above it. */
  async menu(ref: HunkRef): Promise<void> {
    const pending = this.proposals.find(ref.proposalId, ref.hunkId);
    if (!pending) return nothingPending();
    const all = this.proposals.hunksOf(pending.uri).length;
    const applied = pending.file.placement === 'applied';
    const ofFile = `all ${all} changes in the file`;
    const file = (action: Action) => () => this.decideFile(action, pending.uri);
    const rows = [
      { label: '$(comment) Comment', run: () => this.comment(ref) },
      {
        label: '$(diff) Show as diff',
        description: applied ? undefined : 'Edit the right side, then accept',
        run: () => this.showDiff(ref),
      },
      ...(all > 1
        ? [
            { label: `$(check-all) ${applied ? 'Keep' : 'Accept'} ${ofFile}`, run: file('accept') },
            { label: `$(close-all) ${applied ? 'Undo' : 'Reject'} ${ofFile}`, run: file('reject') },
          ]
        : []),
      { label: '$(arrow-down) Next change', run: () => this.step(1) },
      { label: '$(arrow-up) Previous change', run: () => this.step(-1) },
    ];
    const choice = await vscode.window.showQuickPick(rows, { title: 'Change by the agent' });
    await choice?.run();
  }

  async decideFile(action: Action, target: Target): Promise<void> {
    await this.proposals.waiting();
    const uri = this.uri(target);
    const files = uri ? this.proposals.filesOf(uri) : [];
    if (files.length === 0) return nothingPending();
    await this.decideFiles(action, files);
  }

  /** Decides all pending changes, or only those of one proposal or session. */
  async decideAll(action: Action, of?: ProposalRef): Promise<void> {
    const files = await this.proposals.waiting(of);
    if (files.length === 0) return nothingPending();
    await this.decideFiles(action, files);
  }

  async comment(target: Target): Promise<void> {
    const pending = await this.hunk(target);
    if (!pending) return nothingPending();
    const text = isReply(target)
      ? target.text
      : await vscode.window.showInputBox({
          prompt: 'Comment for the agent, sent with your decision',
          placeHolder: 'What should be different?',
        });
    if (!text) return;
    this.threads.comment(refOf(pending), text);
    // A diff does not show the box with the comment.
    if (isDiffShown() || isReviewShown())
      vscode.window.setStatusBarMessage('Your comment is sent with your decision.', 6000);
  }

  /**
   * Goes from the cursor to the next or previous hunk or, if there is none in this file, to a hunk
   * in the next file. In a diff, the next hunk is also shown in a diff. The review of all files has
   * its own steps.
   */
  async step(by: 1 | -1): Promise<void> {
    if (isReviewShown()) return stepInReview(by);
    const editor = vscode.window.activeTextEditor;
    if (editor && (await this.stepInSide(editor, by))) return;
    await this.proposals.waiting();
    const all = uniqueUris(this.proposals.files()).flatMap((uri) => this.proposals.hunksOf(uri));
    if (all.length === 0) return nothingPending();
    const here = editor && all.filter((p) => p.uri.toString() === editor.document.uri.toString());
    const line = editor?.selection.active.line ?? 0;
    const inFile =
      by > 0
        ? here?.find((p) => p.mark.range.start.line > line)
        : here?.findLast((p) => p.mark.range.start.line < line);
    const edge = here?.length ? all.indexOf(here[by > 0 ? here.length - 1 : 0]!) + by : 0;
    await this.open(inFile ?? all[(edge + all.length) % all.length]!);
  }

  private async stepInSide(editor: vscode.TextEditor, by: 1 | -1): Promise<boolean> {
    const { uri } = editor.document;
    if (!isSide(uri)) return false;
    const next = nextMark(await this.sides.marksIn(uri), editor.selection.active.line, by);
    if (next) show(editor, next);
    return next !== undefined;
  }

  async openHunk(ref: HunkRef): Promise<void> {
    const pending = this.proposals.find(ref.proposalId, ref.hunkId);
    if (pending) await this.open(pending);
  }

  async showDiff(target: Target, preserveFocus = false): Promise<boolean> {
    const uri = this.uri(target) ?? this.proposals.files()[0]?.uri;
    const file = uri && this.proposals.filesOf(uri)[0];
    if (!file) {
      nothingPending();
      return false;
    }
    const [base, proposed] = addresses(file);
    // The editor shows the folder names above the text.
    const title = `${path.posix.basename(file.uri.path)}: proposed change`;
    await vscode.commands.executeCommand('vscode.diff', base, proposed, title, {
      preserveFocus,
      preview: true,
    });
    return true;
  }

  /**
   * Shows all pending changes, or only those of one proposal or session, in one multi-file diff.
   */
  async review(of?: ProposalRef): Promise<void> {
    const files = await this.proposals.waiting(of);
    if (files.length === 0) return nothingPending();
    if (files.length === 1) return void (await this.showDiff(files[0]!.uri));
    await vscode.commands.executeCommand(
      'vscode.changes',
      reviewTitle,
      // A new file also has a left side, because an accepted file is equal on both sides.
      files.map((file) => [file.uri, ...addresses(file)]),
    );
  }

  private async open(pending: PendingHunk, preserveFocus = false): Promise<void> {
    if (isNewFile(pending)) return void (await this.showDiff(pending.uri, preserveFocus));
    show(await vscode.window.showTextDocument(pending.uri, { preserveFocus }), pending.mark);
  }

  private async decideFiles(action: Action, files: PendingFile[]): Promise<void> {
    const byProposal = new Map<string, Decision[]>();
    for (const file of files) {
      const decisions = file.marks
        .filter((m) => action === 'reject' || m.hunk.state === 'pending')
        .map((mark) => this.decision(action, { ...file, mark }));
      byProposal.set(file.proposal.proposalId, [
        ...(byProposal.get(file.proposal.proposalId) ?? []),
        ...decisions,
      ]);
    }
    for (const [proposalId, decisions] of byProposal)
      if (decisions.length > 0) await this.decide(proposalId, decisions);
  }

  private decision(action: Action, pending: PendingHunk): Decision {
    const newText =
      action === 'accept' ? this.sides.ownText(pending, pending.mark.hunk.hunkId) : undefined;
    return {
      hunkId: pending.mark.hunk.hunkId,
      action,
      newText,
      comment: this.threads.commentOf(refOf(pending)),
    };
  }

  private async decide(proposalId: string, decisions: Decision[]): Promise<void> {
    await this.proposals.resolve(proposalId, decisions);
  }

  private async hunk(target: Target): Promise<PendingHunk | undefined> {
    await this.proposals.waiting();
    const ref = isReply(target)
      ? this.threads.refOf(target.thread)
      : isThread(target)
        ? this.threads.refOf(target)
        : isRef(target)
          ? target
          : undefined;
    if (ref) return this.proposals.find(ref.proposalId, ref.hunkId);
    if (isNode(target))
      return target.kind === 'hunk' ? target.pending : this.proposals.hunksOf(target.uri)[0];
    return this.atCursor();
  }

  /** Returns the hunk at or nearest to the cursor, in the file or on one side of its diff. */
  private async atCursor(): Promise<PendingHunk | undefined> {
    const editor = vscode.window.activeTextEditor;
    if (!editor) return undefined;
    const { uri } = editor.document;
    const nearest = nearestMark(await this.sides.marksIn(uri), editor.selection.active.line);
    if (nearest && isSide(uri))
      return this.proposals.find(sideOf(uri).proposalId, nearest.hunk.hunkId);
    return nearest && this.proposals.hunksOf(uri).find(({ mark }) => mark === nearest);
  }

  private uri(target: Target): vscode.Uri | undefined {
    if (target instanceof vscode.Uri) return this.sides.fileOf(target);
    if (isNode(target)) return target.kind === 'file' ? target.uri : target.pending.uri;
    if (isReply(target)) return target.thread.uri;
    if (isThread(target)) return target.uri;
    if (isRef(target)) return this.proposals.find(target.proposalId, target.hunkId)?.uri;
    const active = vscode.window.activeTextEditor?.document.uri;
    return active && this.sides.fileOf(active);
  }
}

function show(editor: vscode.TextEditor, mark: Mark): void {
  const range = linesOf(rangeOf({ mark }));
  editor.selection = new vscode.Selection(range.start, range.start);
  editor.revealRange(range, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
}

function isNewFile({ file }: PendingFile): boolean {
  return file.op === 'create' && file.placement === 'proposed';
}

/** Returns the editor of the proposed side of a file, if it is visible. */
function sideEditor(proposalId: string, file: vscode.Uri): vscode.TextEditor | undefined {
  const side = sideUri(proposedScheme, proposalId, file).toString();
  return vscode.window.visibleTextEditors.find(({ document }) => document.uri.toString() === side);
}

function addresses(file: PendingFile): [vscode.Uri, vscode.Uri] {
  const id = file.proposal.proposalId;
  return [sideUri(baseScheme, id, file.uri), sideUri(proposedScheme, id, file.uri)];
}

/** Reports whether the active editor is the diff of one file. */
function isDiffShown(): boolean {
  const input = vscode.window.tabGroups.activeTabGroup.activeTab?.input;
  return input instanceof vscode.TabInputTextDiff && isSide(input.modified);
}

function uniqueUris(files: PendingFile[]): vscode.Uri[] {
  return [...new Map(files.map((file) => [file.uri.toString(), file.uri])).values()];
}

function refOf({ proposal, mark }: PendingHunk): HunkRef {
  return { proposalId: proposal.proposalId, hunkId: mark.hunk.hunkId };
}

function isRef(target: Target): target is HunkRef {
  return typeof (target as HunkRef | undefined)?.hunkId === 'string';
}

function isNode(target: Target): target is Node {
  const kind = (target as Node | undefined)?.kind;
  return kind === 'file' || kind === 'hunk';
}

function isReply(target: Target): target is vscode.CommentReply {
  return target !== undefined && 'thread' in target && 'text' in target;
}

function isThread(target: Target): target is vscode.CommentThread {
  return target !== undefined && 'comments' in target && 'canReply' in target;
}

function nothingPending(): void {
  vscode.window.setStatusBarMessage('There is no pending change here.', 4000);
}

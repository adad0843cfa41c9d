// Provides the two sides of a proposal as documents: agent-base (read-only) and agent-proposed (the
// user may edit it before accepting). Saving the proposed side stores its text here and decides
// nothing.
import * as vscode from 'vscode';
import { grow, isOpen, shownBase, sidesOf, type Mark, type Sides } from './hunks';
import type { PendingFile, PendingHunk, Proposals } from './proposals';
import { isReviewTab } from './tab';

export const baseScheme = 'agent-base';
export const proposedScheme = 'agent-proposed';

/**
 * Returns the URI of one side of a file in a proposal. The URI contains everything that is needed
 * to find the file again after a reload.
 */
export function sideUri(scheme: string, proposalId: string, file: vscode.Uri): vscode.Uri {
  const relative = vscode.workspace.asRelativePath(file);
  return vscode.Uri.from({
    scheme,
    path: relative.startsWith('/') ? relative : `/${relative}`,
    query: JSON.stringify([proposalId, file.toString()]),
  });
}

export function isSide(uri: vscode.Uri): boolean {
  return uri.scheme === baseScheme || uri.scheme === proposedScheme;
}

/** Returns the proposal and the file to which a side belongs. */
export function sideOf(uri: vscode.Uri): { proposalId: string; file: string } {
  try {
    const [proposalId, file] = JSON.parse(uri.query) as [string, string];
    return { proposalId, file };
  } catch {
    return { proposalId: '', file: uri.with({ scheme: 'file', query: '' }).toString() };
  }
}

interface Edited {
  text: string;
  marks: Mark[];
  mtime: number;
  touched: boolean;
}

/** Serves both schemes, and stores the user's edits to the proposed side. */
export class SideDocuments
  implements vscode.TextDocumentContentProvider, vscode.FileSystemProvider, vscode.Disposable
{
  private readonly edited = new Map<string, Edited>();
  /**
   * The ids of decided proposals. They are not loaded again, because they have no pending hunks.
   */
  private readonly decided = new Set<string>();
  private readonly baseChanged = new vscode.EventEmitter<vscode.Uri>();
  private readonly fileChanged = new vscode.EventEmitter<vscode.FileChangeEvent[]>();
  private readonly subscriptions: vscode.Disposable[];
  readonly onDidChange = this.baseChanged.event;
  readonly onDidChangeFile = this.fileChanged.event;

  constructor(
    private readonly proposals: Proposals,
    private readonly load: (proposalId: string) => Promise<unknown>,
  ) {
    this.subscriptions = [
      vscode.workspace.registerTextDocumentContentProvider(baseScheme, this),
      vscode.workspace.registerFileSystemProvider(proposedScheme, this, { isCaseSensitive: true }),
      vscode.workspace.onDidChangeTextDocument((event) => this.follow(event)),
      proposals.onChange(() => void this.refresh()),
      proposals.onClosed((proposal) => void this.close(proposal.proposalId)),
    ];
  }

  async provideTextDocumentContent(uri: vscode.Uri): Promise<string> {
    const pending = await this.pending(uri);
    if (!isUndecided(pending)) return this.decidedText(uri);
    const settings = vscode.workspace.getConfiguration('diffEditor');
    return shownBase(await sides(pending), settings.get('ignoreTrimWhitespace') !== false);
  }

  /**
   * Returns the file that a document represents. A side of a diff represents the file in the
   * proposal. Any other document represents itself.
   */
  fileOf(uri: vscode.Uri): vscode.Uri {
    return isSide(uri) ? vscode.Uri.parse(sideOf(uri).file) : uri;
  }

  /**
   * Returns the ranges of the undecided hunks in a document. On a side of a diff, the ranges differ
   * from those in the file.
   */
  async marksIn(uri: vscode.Uri): Promise<Mark[]> {
    if (!isSide(uri)) return this.proposals.hunksOf(uri).map(({ mark }) => mark);
    const pending = await this.pending(uri);
    if (!pending) return [];
    const open = new Set(pending.marks.map(({ hunk }) => hunk.hunkId));
    const marks =
      uri.scheme === baseScheme ? (await sides(pending)).baseMarks : (await this.side(uri)).marks;
    return marks.filter(({ hunk }) => open.has(hunk.hunkId));
  }

  /** Returns the undecided hunks on a side of a diff, with their ranges on this side. */
  async hunksOfSide(uri: vscode.Uri): Promise<PendingHunk[]> {
    const { proposalId } = sideOf(uri);
    return (await this.marksIn(uri)).flatMap((mark) => {
      const pending = this.proposals.find(proposalId, mark.hunk.hunkId);
      return pending ? [{ ...pending, mark }] : [];
    });
  }

  /** Returns the user's own version of a hunk, or undefined if the proposed side was not edited. */
  ownText(pending: PendingFile, hunkId: string): string | undefined {
    const uri = sideUri(proposedScheme, pending.proposal.proposalId, pending.uri);
    const edited = this.edited.get(uri.toString());
    const mark = edited?.touched ? edited.marks.find((m) => m.hunk.hunkId === hunkId) : undefined;
    if (!edited || !mark) return undefined;
    const open = vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri.toString());
    if (!open) return undefined;
    const { start, end } = mark.range;
    const text = open
      .getText(new vscode.Range(start.line, start.character, end.line, end.character))
      .replace(/\r\n/g, '\n');
    return text === mark.hunk.newText.replace(/\r\n/g, '\n') ? undefined : text;
  }

  async readFile(uri: vscode.Uri): Promise<Uint8Array> {
    return Buffer.from((await this.side(uri)).text);
  }

  async stat(uri: vscode.Uri): Promise<vscode.FileStat> {
    const side = await this.side(uri);
    return {
      type: vscode.FileType.File,
      ctime: 0,
      mtime: side.mtime,
      size: Buffer.byteLength(side.text),
    };
  }

  async writeFile(uri: vscode.Uri, content: Uint8Array): Promise<void> {
    const side = await this.side(uri);
    side.text = Buffer.from(content).toString();
    side.mtime = Date.now();
  }

  watch(): vscode.Disposable {
    return new vscode.Disposable(() => {});
  }

  readDirectory(): [string, vscode.FileType][] {
    return [];
  }

  createDirectory(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  delete(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  rename(uri: vscode.Uri): void {
    throw vscode.FileSystemError.NoPermissions(uri);
  }

  dispose(): void {
    for (const s of this.subscriptions) s.dispose();
  }

  private async pending(uri: vscode.Uri): Promise<PendingFile | undefined> {
    const { proposalId, file } = sideOf(uri);
    if (!this.proposals.get(proposalId) && !this.decided.has(proposalId))
      await this.load(proposalId);
    return this.proposals.file(proposalId, file);
  }

  private async side(uri: vscode.Uri): Promise<Edited> {
    const known = this.edited.get(uri.toString());
    if (known) return known;
    const pending = await this.pending(uri);
    const mtime = Date.now();
    if (!isUndecided(pending))
      return { text: await this.decidedText(uri), marks: [], mtime, touched: false };
    const { proposed, marks } = await sides(pending);
    const side = { text: proposed, marks, mtime, touched: false };
    this.edited.set(uri.toString(), side);
    return side;
  }

  /**
   * Returns the text of both sides of a file without undecided hunks. They are equal, so the review
   * of all files shows that nothing is left to decide.
   */
  private decidedText(uri: vscode.Uri): Promise<string> {
    return textOf(this.fileOf(uri));
  }

  private follow({ document, contentChanges }: vscode.TextDocumentChangeEvent): void {
    const side =
      document.uri.scheme === proposedScheme ? this.edited.get(document.uri.toString()) : undefined;
    // Ignore the event if the document was reloaded or all edits were undone.
    if (!side || contentChanges.length === 0 || document.getText() === side.text) return;
    side.touched = true;
    side.marks = side.marks.map(({ hunk, range }) => ({
      hunk,
      range: contentChanges.reduce((r, { range, text }) => grow(r, { range, text }), range),
    }));
  }

  /** Updates both sides, except a proposed side that the user is editing. */
  private async refresh(): Promise<void> {
    const events: vscode.FileChangeEvent[] = [];
    for (const pending of this.proposals.files()) {
      this.baseChanged.fire(sideUri(baseScheme, pending.proposal.proposalId, pending.uri));
      const uri = sideUri(proposedScheme, pending.proposal.proposalId, pending.uri);
      const side = this.edited.get(uri.toString());
      if (!side || side.touched) continue;
      const { proposed, marks } = await sides(pending);
      side.marks = marks;
      if (side.text === proposed) continue;
      side.text = proposed;
      side.mtime = Date.now();
      events.push({ type: vscode.FileChangeType.Changed, uri });
    }
    if (events.length > 0) this.fileChanged.fire(events);
    for (const { proposal, uri } of this.proposals.decidedFiles())
      await this.settle([sideUri(proposedScheme, proposal.proposalId, uri)]);
  }

  /**
   * Closes the diffs of a decided proposal. Their text has been accepted or rejected, so nothing is
   * left to save. The review of all files stays open until all proposals are decided.
   */
  private async close(proposalId: string): Promise<void> {
    this.decided.add(proposalId);
    const ours = (uri: vscode.Uri) =>
      uri.scheme === proposedScheme && sideOf(uri).proposalId === proposalId;
    const sides = () => [...this.edited.keys()].map((uri) => vscode.Uri.parse(uri)).filter(ours);
    await this.save(sides());
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    const done = this.proposals.files().length === 0;
    const diffs = tabs.filter((tab) =>
      tab.input instanceof vscode.TabInputTextDiff
        ? ours(tab.input.modified)
        : // VS Code opens a side as a tab if the user edits it in the review.
          (tab.input instanceof vscode.TabInputText && ours(tab.input.uri)) ||
          (done && isReviewTab(tab)),
    );
    if (diffs.length > 0) await vscode.window.tabGroups.close(diffs, true);
    await this.settle(sides());
  }

  /** Shows the text of decided files on both sides. The given sides are the proposed ones. */
  private async settle(uris: vscode.Uri[]): Promise<void> {
    const sides = uris.filter((uri) => this.edited.has(uri.toString()));
    if (sides.length === 0) return;
    await this.save(sides);
    for (const uri of sides) {
      this.edited.delete(uri.toString());
      this.baseChanged.fire(uri.with({ scheme: baseScheme }));
    }
    const type = vscode.FileChangeType.Changed;
    this.fileChanged.fire(sides.map((uri) => ({ type, uri })));
  }

  /** Saves the user's edits, because the editor does not reload a document with unsaved edits. */
  private async save(sides: vscode.Uri[]): Promise<void> {
    const names = new Set(sides.map((uri) => uri.toString()));
    for (const document of vscode.workspace.textDocuments)
      if (document.isDirty && names.has(document.uri.toString())) await document.save();
  }
}

/** Reports whether the user has not decided on every hunk of a file. */
function isUndecided(pending: PendingFile | undefined): pending is PendingFile {
  return pending?.file.hunks.some(isOpen) === true;
}

async function sides(pending: PendingFile): Promise<Sides> {
  const uri = vscode.Uri.parse(pending.file.uri);
  return sidesOf(await textOf(uri), pending.file, pending.marks);
}

/** Returns the buffer's text if the file is open, or the text on disk otherwise. */
async function textOf(uri: vscode.Uri): Promise<string> {
  const open = vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri.toString());
  if (open) return open.getText();
  try {
    // TextDecoder removes a byte order mark, as an editor does.
    return new TextDecoder().decode(await vscode.workspace.fs.readFile(uri));
  } catch {
    return '';
  }
}

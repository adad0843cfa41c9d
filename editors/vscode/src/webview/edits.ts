// Determines the changes of an edit and the user's decision on it. The functions are pure and draw
// no elements.
import { lineDiff, type Line } from '../lines';
import type { Item, Proposal, ProposalFile } from '../protocol';

/** The changes of one file. */
export interface EditedFile {
  /**
   * The file's URI. It is empty if the tool call does not name the file. In that case, the call's
   * card names it.
   */
  uri: string;
  /** The operation on the file as a whole. */
  op: ProposalFile['op'];
  hunks: { line?: number; lines: Line[] }[];
}

/**
 * The tools whose only effect is an edit. Their cards show the changes instead of the arguments.
 */
const editTools = new Set(['edit', 'write', 'apply_patch']);

export function isEdit({ name, proposalId }: Item): boolean {
  return proposalId !== undefined || editTools.has(name ?? '');
}

/**
 * Returns the changes of an edit by file. They come from the proposal. If the proposal is not
 * known, they come from the data stored with the call (which exists if the user changed a hunk) or
 * from the call's arguments.
 */
export function editedFiles(
  { itemId, args, details }: Item,
  proposal: Proposal | undefined,
): EditedFile[] {
  if (proposal?.itemId === itemId) return proposal.files.map(fileOf);
  const stored = storedChanges(details);
  if (stored.length > 0 || omitsChanges(details)) return stored;
  const hunks = pairsOf(args).map(([before, after]) => ({ lines: lineDiff(before, after) }));
  return hunks.length > 0 ? [{ uri: '', op: 'modify', hunks }] : [];
}

export function countLines(files: EditedFile[]): { added: number; removed: number } {
  const kinds = files.flatMap(({ hunks }) =>
    hunks.flatMap(({ lines }) => lines.map(({ kind }) => kind)),
  );
  return {
    added: kinds.filter((kind) => kind === '+').length,
    removed: kinds.filter((kind) => kind === '-').length,
  };
}

function fileOf({ op, uri, newUri, hunks }: ProposalFile): EditedFile {
  const shown = hunks.map(({ oldText, newText, range }) => ({
    line: op === 'modify' ? range.start.line : undefined,
    lines: lineDiff(oldText, newText),
  }));
  return { uri: newUri ?? uri, op, hunks: shown.filter(({ lines }) => lines.length > 0) };
}

/**
 * Returns a note if the user changed an edit and the applied text was too large to be stored with
 * the call. In this case, the arguments of the call contain another text.
 */
export function omissionNote({ itemId, details }: Item, proposal: Proposal | undefined): string {
  const known = proposal?.itemId === itemId || storedChanges(details).length > 0;
  return !known && omitsChanges(details)
    ? 'The applied text is not shown, because your changes are too large.'
    : '';
}

function omitsChanges(details: unknown): boolean {
  return (details as { changesOmitted?: boolean } | undefined)?.changesOmitted === true;
}

interface StoredChange {
  uri: string;
  line: number;
  oldText: string;
  newText: string;
}

function storedChanges(details: unknown): EditedFile[] {
  const { changes = [] } = (details ?? {}) as { changes?: StoredChange[] };
  return [...new Set(changes.map(({ uri }) => uri))].map((uri) => ({
    uri,
    op: 'modify',
    hunks: changes
      .filter((change) => change.uri === uri)
      .map(({ line, oldText, newText }) => ({ line, lines: lineDiff(oldText, newText) })),
  }));
}

/** Returns pairs of the replaced text and the new text from the arguments of an edit. */
function pairsOf(args: unknown): [string, string][] {
  const { content, edits, patch, old_string, new_string } = (args ?? {}) as Record<string, unknown>;
  const text = (value: unknown) => (typeof value === 'string' ? value : '');
  if (Array.isArray(edits)) return edits.flatMap((pair) => pairsOf(pair));
  if (typeof patch === 'string') return [patchSides(patch)];
  if (typeof content === 'string') return [['', content]];
  return old_string === undefined && new_string === undefined
    ? []
    : [[text(old_string), text(new_string)]];
}

function patchSides(patch: string): [string, string] {
  const lines = patch
    .split('\n')
    .filter((line) => /^[-+ ]/.test(line) && !/^(---|\+\+\+) /.test(line));
  const side = (other: string) =>
    lines
      .filter((line) => line[0] !== other)
      .map((line) => `${line.slice(1)}\n`)
      .join('');
  return [side('+'), side('-')];
}

const endWords: Partial<Record<Proposal['state'], string>> = {
  withdrawn: 'Withdrawn before you decided',
  superseded: 'Replaced by a later change',
  conflict: 'Conflicts with your own change',
};

/**
 * Describes the user's decision without the comments. The result is empty until the user has
 * decided.
 */
export function decision(item: Item, proposal: Proposal | undefined): string {
  const own = proposal?.itemId === item.itemId ? proposal : undefined;
  const { state, accepted, rejected, total } = own ? countHunks(own) : countStored(item.details);
  const changes = accepted > 0 ? withChanges(item, accepted) : '';
  if (state === 'applied' && changes === '') return 'Applied';
  if (state === 'rejected' && total === 1) return 'Rejected';
  const taken = accepted > 0 ? `${accepted} accepted${changes}` : '';
  const counts = [taken, rejected > 0 && `${rejected} rejected`].filter(Boolean).join(', ');
  const end = state === undefined ? undefined : endWords[state];
  if (end) return taken ? `${taken}. ${end}` : end;
  if (counts) return counts;
  return item.status === 'failed' ? 'Not applied. The agent got the reason and can try again.' : '';
}

/** Matches the line of a result that names a hunk whose text the user changed. */
const changedHunk =
  /^[^-+ @\n].*\bhunk \d+(?: \([^\n]*\))? changed by the user(?:: "(?:[^"\\\n]|\\.)*")?:$/gm;

/**
 * Describes the user's own changes to accepted hunks. The result is empty if there are none. A
 * result that was shortened may not say how many hunks the user changed.
 */
function withChanges({ details, result = '' }: Item, accepted: number): string {
  const edited = (reportIn(result).match(changedHunk) ?? []).length;
  if (edited === 0 && storedChanges(details).length === 0 && !omitsChanges(details)) return '';
  if (accepted === 1 || edited === accepted) return ' with your changes';
  return edited > 0 ? `, ${edited} with your changes` : ', some with your changes';
}

interface Count {
  state?: Proposal['state'];
  accepted: number;
  rejected: number;
  total: number;
}

function countHunks({ state, files }: Proposal): Count {
  const states = files.flatMap(({ hunks }) => hunks.map((hunk) => hunk.state));
  const of = (wanted: string) => states.filter((s) => s === wanted).length;
  return { state, accepted: of('accepted'), rejected: of('rejected'), total: states.length };
}

/** Counts the hunks from the data stored with the call, which is kept longer than the proposal. */
function countStored(details: unknown): Count {
  const {
    state,
    accepted = 0,
    hunks = 0,
  } = (details ?? {}) as { state?: Proposal['state']; accepted?: number; hunks?: number };
  const closed = state === 'applied' || state === 'partiallyApplied' || state === 'rejected';
  return { state, accepted, rejected: closed ? hunks - accepted : 0, total: hunks };
}

const quoted =
  /(?:\b(?:rejected|accepted|changed by the user)|^The user says): ("(?:[^"\\\n]|\\.)*")/gm;

/** Returns the user's comments from the result of a call, which repeats them for the model. */
export function commentsIn(result: string): string[] {
  return [...reportIn(result).matchAll(quoted)].map(([, text = '']) => unquote(text));
}

/** Returns the part of a call's result that reports the user's decision. */
function reportIn(result: string): string {
  return result.split('\nThe proposed text:')[0] ?? '';
}

function unquote(text: string): string {
  try {
    return JSON.parse(text) as string;
  } catch {
    return text.slice(1, -1); // JSON does not define this escape sequence
  }
}

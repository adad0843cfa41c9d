// Computes the content of the bar above the input. The bar shows the pending changes or, if there
// are none, the changes from the last turn.
import type { Checkpoint } from './protocol';
import type { Proposals } from './review/proposals';
import { lineStat } from './lines';
import type { ChangesBar } from './webview/messages';

/** Tracks the session's changes, and returns the summary that the panel shows. */
export class Changes {
  private last: Checkpoint | undefined;

  constructor(private readonly proposals: Proposals) {}

  /**
   * Stores the checkpoint of the turn that has ended. The checkpoint describes the turn's changes.
   */
  turnEnded(turnId: string, checkpoints: Checkpoint[]): void {
    this.last = checkpoints.find((c) => c.turnId === turnId && c.stat.files > 0);
  }

  /**
   * Clears the last turn's changes. It is called when another turn begins, when the user has
   * finished with the changes, or when another session is shown.
   */
  forget(): void {
    this.last = undefined;
  }

  summary(sessionId: string | undefined, busy: boolean): ChangesBar | undefined {
    if (!sessionId) return undefined;
    const files = this.proposals.files().filter(({ proposal }) => proposal.sessionId === sessionId);
    if (files.length > 0) {
      // The user decides these changes one by one, so the turn's totals no longer apply.
      if (!busy) this.last = undefined;
      const hunks = files.flatMap((file) => file.marks.map((mark) => mark.hunk));
      const stats = hunks.map((hunk) => lineStat(hunk.oldText, hunk.newText));
      const sum = (key: 'added' | 'removed') => stats.reduce((n, stat) => n + stat[key], 0);
      return {
        kind: files.every(({ file }) => file.placement === 'applied') ? 'applied' : 'proposed',
        changes: hunks.length,
        files: new Set(files.map(({ uri }) => uri.toString())).size,
        added: sum('added'),
        removed: sum('removed'),
      };
    }
    if (busy || !this.last) return undefined;
    const { checkpointId, stat } = this.last;
    return {
      kind: 'done',
      checkpointId,
      changes: 0,
      files: stat.files,
      added: stat.added,
      removed: stat.removed,
    };
  }
}

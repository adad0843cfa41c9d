// Shows the changes since a prompt, restores checkpoints, and undoes restores.
import * as vscode from 'vscode';
import type { Daemon } from './client';
import { RestorePreview, reversed } from './preview';
import type { Checkpoint, CheckpointRestoreResult } from './protocol';
import type { Restored } from './webview/messages';
import type { SessionControl } from './session';
import { counted } from './text';

interface Row extends vscode.QuickPickItem {
  id: string;
}

interface ScopeRow extends vscode.QuickPickItem {
  scope: Restored['scope'];
}

const scopes: ScopeRow[] = [
  { scope: 'files', label: 'Files', detail: 'The conversation does not change.' },
  {
    scope: 'both',
    label: 'Files and conversation',
    detail: 'The model no longer sees this prompt and the messages after it.',
  },
  { scope: 'conversation', label: 'Conversation', detail: 'The files do not change.' },
];

/** Describes what a restore affects, including the number of files. */
function subject(scope: Restored['scope'], { changes }: CheckpointRestoreResult): string {
  if (scope === 'conversation') return 'conversation';
  const files = counted(changes.length, 'file');
  return scope === 'both' ? `${files} and the conversation` : files;
}

const nothing = 'No changes since this checkpoint.\n';

export class Checkpoints implements vscode.Disposable {
  /** The last restore. */
  private last: Restored | undefined;
  private readonly preview = new RestorePreview();
  private readonly restored = new vscode.EventEmitter<Restored>();
  /** Fires after each restore. */
  readonly onRestored = this.restored.event;

  constructor(
    private readonly daemon: Daemon,
    private readonly session: SessionControl,
    /** Whether the user sees the transcript, which has an entry for each restore. */
    private readonly transcriptVisible: () => boolean,
  ) {}

  async list(): Promise<Checkpoint[]> {
    const sessionId = this.session.sessionId;
    if (!sessionId) return [];
    return (await this.daemon.request('agent/checkpoint/list', { sessionId })).checkpoints;
  }

  /**
   * Restores a checkpoint. Asks the user for the checkpoint and the scope if they are not given.
   */
  async restore(checkpointId?: string, scope?: Restored['scope']): Promise<void> {
    const id = checkpointId ?? (await this.choose('Restore the state before a prompt', reversed));
    if (!id) return;
    const chosen = scope ?? (await this.chooseScope(id));
    if (!chosen) return;
    const text = await this.carryOut(id, chosen, (what, { conflicts }) => {
      const left = conflicts.map(
        (c) => `${vscode.workspace.asRelativePath(vscode.Uri.parse(c.uri))}: ${c.reason}`,
      );
      const skipped = left.length > 0 ? ` Skipped: ${left.join('; ')}` : '';
      return `${what.replace(/^c/, 'C')} restored.${skipped}`;
    });
    if (this.transcriptVisible()) return; // a notification would cover the input
    const choice = await vscode.window.showInformationMessage(text, 'Undo the restore');
    if (choice) await this.redo();
  }

  /** Undoes the given restore or, if none is given, the last one. */
  async redo(undoCheckpointId?: string, scope: Restored['scope'] = 'files'): Promise<void> {
    const undone = undoCheckpointId ? { undoCheckpointId, scope } : this.last;
    if (!undone)
      return void vscode.window.setStatusBarMessage('There is no restore to undo.', 4000);
    const text = await this.carryOut(
      undone.undoCheckpointId,
      undone.scope,
      (what) => `Restore undone: ${what} brought back.`,
    );
    vscode.window.setStatusBarMessage(text, 5000);
  }

  /** Restores a checkpoint, and adds an entry with the returned text to the transcript. */
  private async carryOut(
    checkpointId: string,
    scope: Restored['scope'],
    describe: (what: string, result: CheckpointRestoreResult) => string,
  ): Promise<string> {
    const result = await this.daemon.request('agent/checkpoint/restore', { checkpointId, scope });
    const text = describe(subject(scope, result), result);
    // The transcript first shows the remaining messages, and then the entry for this restore.
    if (scope !== 'files') await this.session.reload();
    this.last = { undoCheckpointId: result.undoCheckpointId, scope, text };
    this.restored.fire(this.last);
    return text;
  }

  /**
   * Asks the user what to restore. Only an idle session can return to one of its prompts.
   * Otherwise, only the files can be restored, and the user is not asked.
   */
  private async chooseScope(checkpointId: string): Promise<Restored['scope'] | undefined> {
    const prompt = (await this.list()).find((c) => c.checkpointId === checkpointId)?.messageId;
    if (!prompt || this.session.busy || !this.session.holds(prompt)) return 'files';
    const choice = await vscode.window.showQuickPick(scopes, {
      title: 'Restore the state before this prompt',
      placeHolder: 'What to restore',
    });
    return choice?.scope;
  }

  async diff(checkpointId?: string): Promise<void> {
    const id =
      checkpointId ?? (await this.choose('Show the changes since a prompt', (diff) => diff));
    if (!id) return;
    const content = (await this.changesSince(id)) || nothing;
    await vscode.window.showTextDocument(
      await vscode.workspace.openTextDocument({ content, language: 'diff' }),
      { preview: true },
    );
  }

  dispose(): void {
    this.preview.dispose();
    this.restored.dispose();
  }

  private async changesSince(checkpointId: string): Promise<string> {
    return (await this.daemon.request('agent/checkpoint/diff', { checkpointId })).diff;
  }

  /**
   * Lets the user choose a checkpoint from the list. The editor behind the list previews the
   * effect: it displays the diff that `shown` returns for the selected checkpoint.
   */
  private async choose(
    title: string,
    shown: (diff: string) => string,
  ): Promise<string | undefined> {
    const rows = (await this.list()).map((checkpoint) => this.row(checkpoint));
    if (rows.length === 0)
      return void vscode.window.setStatusBarMessage('This session has no checkpoint.', 4000);
    const pick = vscode.window.createQuickPick<Row>();
    Object.assign(pick, {
      title,
      items: rows,
      placeholder: 'The editor previews the changes',
      matchOnDescription: true,
      matchOnDetail: true,
      ignoreFocusOut: true,
    });
    let latest = '';
    let showing = Promise.resolve();
    pick.onDidChangeActive(async ([row]) => {
      latest = row?.id ?? '';
      const diff = row && (await this.changesSince(row.id).catch(() => ''));
      if (diff !== undefined && row?.id === latest)
        showing = this.preview.show(shown(diff) || nothing);
    });
    const chosen = new Promise<string | undefined>((resolve) => {
      pick.onDidAccept(() => resolve(pick.selectedItems[0]?.id));
      pick.onDidHide(() => resolve(undefined));
    });
    pick.show();
    const id = await chosen;
    latest = '';
    pick.dispose();
    await showing; // otherwise, the preview's tab would open after it was closed
    await this.preview.close();
    return id;
  }

  private row({ messageId, turnId, createdAt, stat, files, checkpointId }: Checkpoint): Row {
    const time = new Date(createdAt).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' });
    return {
      label: this.session.promptOf(messageId || turnId) || 'A change',
      description: `${time} · ${counted(stat.files, 'file')} +${stat.added} −${stat.removed}`,
      detail: files.map((f) => vscode.workspace.asRelativePath(vscode.Uri.parse(f))).join(', '),
      id: checkpointId,
    };
  }
}

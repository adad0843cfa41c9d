// Checkpoints: shows the changes since a prompt, restores them, and undoes a restore.
import * as vscode from 'vscode';
import type { Daemon } from './client';
import { RestorePreview, reversed } from './preview';
import type { Checkpoint } from './protocol';
import type { Restored } from './webview/messages';
import type { SessionControl } from './session';
import { counted } from './text';

interface Row extends vscode.QuickPickItem {
  id: string;
}

const nothing = 'No changes since this checkpoint.\n';

export class Checkpoints implements vscode.Disposable {
  /** The checkpoint that undoes the last restore. */
  private redoId: string | undefined;
  private readonly preview = new RestorePreview();
  private readonly restored = new vscode.EventEmitter<Restored>();
  /** Fires after files were restored. */
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

  async restore(checkpointId?: string): Promise<void> {
    const id =
      checkpointId ??
      (await this.choose('Restore the files to their state before a prompt', reversed));
    if (!id) return;
    const result = await this.daemon.request('agent/checkpoint/restore', { checkpointId: id });
    this.redoId = result.undoCheckpointId;
    const left = result.conflicts.map(
      (c) => `${vscode.workspace.asRelativePath(vscode.Uri.parse(c.uri))}: ${c.reason}`,
    );
    const text = `${counted(result.changes.length, 'file')} restored.${left.length > 0 ? ` Skipped: ${left.join('; ')}` : ''}`;
    this.restored.fire({ undoCheckpointId: result.undoCheckpointId, text });
    if (this.transcriptVisible()) return; // a notification would cover the input
    const choice = await vscode.window.showInformationMessage(text, 'Undo the restore');
    if (choice) await this.redo();
  }

  /** Undoes the named restore, or the last one. */
  async redo(undoCheckpointId?: string): Promise<void> {
    const id = undoCheckpointId ?? this.redoId;
    if (!id) return void vscode.window.setStatusBarMessage('There is no restore to undo.', 4000);
    const result = await this.daemon.request('agent/checkpoint/restore', { checkpointId: id });
    this.redoId = result.undoCheckpointId;
    const text = `Restore undone: ${counted(result.changes.length, 'file')} changed back.`;
    this.restored.fire({ undoCheckpointId: result.undoCheckpointId, text });
    vscode.window.setStatusBarMessage(text, 5000);
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
   * effect, as `shown` returns it.
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
    await showing; // otherwise its tab would open after it was closed
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

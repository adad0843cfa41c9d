// Checkpoints: what changed since a prompt, going back, and undoing that.
import * as vscode from 'vscode';
import type { Daemon } from './client';
import type { Checkpoint } from './protocol';
import type { Restored } from './webview/messages';
import type { SessionControl } from './session';
import { counted } from './text';

export class Checkpoints {
  /** What the last restore can be undone with. */
  private redoId: string | undefined;
  private readonly restored = new vscode.EventEmitter<Restored>();
  /** Fires after files were put back. */
  readonly onRestored = this.restored.event;

  constructor(private readonly daemon: Daemon, private readonly session: SessionControl) {}

  async list(): Promise<Checkpoint[]> {
    const sessionId = this.session.sessionId;
    if (!sessionId) return [];
    return (await this.daemon.request('agent/checkpoint/list', { sessionId })).checkpoints;
  }

  async restore(checkpointId?: string): Promise<void> {
    const id = checkpointId ?? (await this.choose('Put the files back as they were before a prompt'));
    if (!id) return;
    const result = await this.daemon.request('agent/checkpoint/restore', { checkpointId: id });
    this.redoId = result.undoCheckpointId;
    const left = result.conflicts.map((c) => `${vscode.workspace.asRelativePath(vscode.Uri.parse(c.uri))}: ${c.reason}`);
    const text = `${counted(result.changes.length, 'file')} put back.${left.length > 0 ? ` Skipped: ${left.join('; ')}` : ''}`;
    this.restored.fire({ undoCheckpointId: result.undoCheckpointId, text });
    const choice = await vscode.window.showInformationMessage(text, 'Undo the restore');
    if (choice) await this.redo();
  }

  /** Undoes a restore: the last one, if none is named. */
  async redo(undoCheckpointId?: string): Promise<void> {
    const id = undoCheckpointId ?? this.redoId;
    if (!id) return void vscode.window.setStatusBarMessage('Nothing was restored.', 4000);
    const result = await this.daemon.request('agent/checkpoint/restore', { checkpointId: id });
    this.redoId = result.undoCheckpointId;
    const text = `Restore undone: ${counted(result.changes.length, 'file')} brought back.`;
    this.restored.fire({ undoCheckpointId: result.undoCheckpointId, text });
    vscode.window.setStatusBarMessage(text, 5000);
  }

  async diff(checkpointId?: string): Promise<void> {
    const id = checkpointId ?? (await this.choose('Show what changed since a prompt'));
    if (!id) return;
    const { diff } = await this.daemon.request('agent/checkpoint/diff', { checkpointId: id });
    const content = diff || 'Nothing changed since.\n';
    await vscode.window.showTextDocument(await vscode.workspace.openTextDocument({ content, language: 'diff' }), { preview: true });
  }

  private async choose(title: string): Promise<string | undefined> {
    const checkpoints = await this.list();
    const items = checkpoints.map((c) => ({
      label: this.session.promptOf(c.messageId || c.turnId) || 'A change', description: `${new Date(c.createdAt).toLocaleTimeString()}, ${counted(c.stat.files, 'file')} +${c.stat.added} −${c.stat.removed}`,
      detail: c.files.map((f) => vscode.workspace.asRelativePath(vscode.Uri.parse(f))).join(', '), id: c.checkpointId,
    }));
    if (items.length === 0) return void vscode.window.setStatusBarMessage('This session has no checkpoint.', 4000);
    return (await vscode.window.showQuickPick(items, { title }))?.id;
  }
}

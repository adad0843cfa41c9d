// Applies a choice made in a picker, either to this session only or also as the default for new
// sessions.
import * as vscode from 'vscode';
import type { Config } from './protocol';
import type { SessionControl } from './session';

const kept = 'agentLsp.keepsAsking';

export type Span = 'session' | 'default';
export type Choice = Pick<Config, 'model' | 'editPolicy' | 'permissions'>;

export class Choices {
  constructor(
    private readonly session: SessionControl,
    private readonly state: vscode.Memento,
  ) {}

  /** Applies a choice, after the user has chosen its scope. */
  async apply(choice: Choice, name: string): Promise<void> {
    const rows: (vscode.QuickPickItem & { span: Span })[] = [
      { label: 'Only this session', span: 'session' },
      { label: 'Make this my default', description: scopeOf(choice), span: 'default' },
    ];
    const row = await vscode.window.showQuickPick(rows, { title: name });
    if (row) await this.set(choice, row.span);
  }

  async set(choice: Choice, span: Span): Promise<void> {
    if (span === 'default') await saveDefault(choice);
    await this.session.configure(choice);
  }

  /**
   * Reports whether to offer to apply edits before the review. The offer ends when the user
   * chooses.
   */
  offersReview(): boolean {
    const policy = this.session.effective.editPolicy || 'ask';
    const chosen = configuration().inspect('editPolicy')?.globalValue ?? null;
    return policy === 'ask' && chosen === null && !this.state.get(kept, false);
  }

  async keepAsking(): Promise<void> {
    await this.state.update(kept, true);
  }
}

const configuration = () => vscode.workspace.getConfiguration('agentLsp');

/** Describes where a new default takes effect. Workspace settings override it. */
function scopeOf(choice: Choice): string {
  const isOverridden = Object.keys(choice).some((key) => {
    const found = configuration().inspect(key);
    return (found?.workspaceFolderValue ?? found?.workspaceValue ?? null) !== null;
  });
  return isOverridden ? 'overridden by the workspace settings' : 'this session and new sessions';
}

/**
 * Writes the choice to the user's settings. Other fields of an object setting keep their values.
 */
async function saveDefault(choice: Choice): Promise<void> {
  for (const [key, value] of Object.entries(choice)) {
    const before = configuration().inspect<unknown>(key)?.globalValue;
    const isObject = typeof before === 'object' && before !== null && typeof value === 'object';
    const merged = isObject ? { ...before, ...value } : value;
    await configuration().update(key, merged, vscode.ConfigurationTarget.Global);
  }
}

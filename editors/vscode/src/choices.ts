// A choice made in a picker applies to this session, or it is the default of new sessions as well.
import * as vscode from 'vscode';
import type { Config } from './protocol';
import type { SessionControl } from './session';

const kept = 'agentLsp.keepsAsking';

export type Span = 'session' | 'default';
export type Choice = Pick<Config, 'model' | 'editPolicy' | 'permissions'>;

export class Choices {
  constructor(private readonly session: SessionControl, private readonly state: vscode.Memento) {}

  /** Applies a choice, after the user has said for how long. */
  async apply(choice: Choice, name: string): Promise<void> {
    const rows: (vscode.QuickPickItem & { span: Span })[] = [
      { label: 'Only this session', span: 'session' },
      { label: 'Make this my default', description: isSetByWorkspace(choice) ? 'the settings of this workspace take precedence in it' : 'this session and new ones', span: 'default' },
    ];
    const row = await vscode.window.showQuickPick(rows, { title: name });
    if (row) await this.set(choice, row.span);
  }

  async set(choice: Choice, span: Span): Promise<void> {
    if (span === 'default') await saveDefault(choice);
    await this.session.configure(choice);
  }

  /** Whether to offer that edits are applied first: until the user has chosen what happens to edits. */
  offersReview(): boolean {
    const policy = this.session.effective.editPolicy || 'ask';
    const chosen = configuration().inspect('editPolicy')?.globalValue;
    return policy === 'ask' && (chosen === undefined || chosen === null) && !this.state.get(kept, false);
  }

  async keepAsking(): Promise<void> {
    await this.state.update(kept, true);
  }
}

const configuration = () => vscode.workspace.getConfiguration('agentLsp');

function isSetByWorkspace(choice: Choice): boolean {
  return Object.keys(choice).some((key) => {
    const found = configuration().inspect(key);
    return (found?.workspaceFolderValue ?? found?.workspaceValue ?? null) !== null;
  });
}

/** Writes the user's settings. Of the permissions only what was chosen is replaced. */
async function saveDefault(choice: Choice): Promise<void> {
  for (const [key, value] of Object.entries(choice)) {
    const before = configuration().inspect<unknown>(key)?.globalValue;
    const isObject = typeof before === 'object' && before !== null && typeof value === 'object';
    await configuration().update(key, isObject ? { ...before, ...value } : value, vscode.ConfigurationTarget.Global);
  }
}

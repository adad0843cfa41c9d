// The API key: kept in the editor's secret storage, handed to the daemon in its environment, never on disk.
import * as vscode from 'vscode';

const name = 'agentLsp.apiKey';

export class Secrets {
  constructor(private readonly storage: vscode.SecretStorage) {}

  /** Variables for the daemon's environment. */
  async environment(): Promise<Record<string, string>> {
    const configuration = vscode.workspace.getConfiguration('agentLsp');
    const extra = configuration.get<Record<string, string>>('server.env', {});
    const key = await this.storage.get(name);
    const variable = configuration.get<{ apiKeyEnv?: string } | null>('provider')?.apiKeyEnv || 'OPENAI_API_KEY';
    return key ? { ...extra, [variable]: key } : extra;
  }

  /** Asks for the key. True if it was changed. */
  async ask(): Promise<boolean> {
    const key = await vscode.window.showInputBox({
      title: 'API key of the model provider', prompt: 'Kept in the secret storage of the editor. Leave empty to forget it.', password: true, ignoreFocusOut: true,
    });
    if (key === undefined) return false;
    if (key === '') await this.storage.delete(name);
    else await this.storage.store(name, key);
    return true;
  }
}

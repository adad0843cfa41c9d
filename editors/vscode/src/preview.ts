// Shows what a restore would change, in a read-only document next to the list of checkpoints. The
// preview follows the entry that the user selects.
import * as vscode from 'vscode';

const scheme = 'agent-restore';

/**
 * Reverses a unified diff. Added lines become removed lines, and removed lines become added lines.
 */
export function reversed(diff: string): string {
  const out: string[] = [];
  let [removed, added]: [string[], string[]] = [[], []];
  const flush = () => {
    out.push(...removed, ...added);
    [removed, added] = [[], []];
  };
  const lines = diff.split('\n');
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i] ?? '';
    const next = lines[i + 1] ?? '';
    if (line.startsWith('--- ') && next.startsWith('+++ ')) {
      flush();
      out.push(`--- ${next.slice(4)}`, `+++ ${line.slice(4)}`);
      i++;
    } else if (line.startsWith('+')) {
      removed.push(`-${line.slice(1)}`);
    } else if (line.startsWith('-')) {
      added.push(`+${line.slice(1)}`);
    } else {
      flush();
      out.push(line.replace(/^@@ -(\S+) \+(\S+) @@/, '@@ -$2 +$1 @@'));
    }
  }
  flush();
  return out.join('\n');
}

export class RestorePreview implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly uri = vscode.Uri.from({ scheme, path: '/Checkpoint.diff' });
  private text = '';
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly registration = vscode.workspace.registerTextDocumentContentProvider(
    scheme,
    this,
  );

  provideTextDocumentContent(): string {
    return this.text;
  }

  /** Shows the text in an editor next to the list, which keeps the focus. */
  async show(text: string): Promise<void> {
    this.text = text;
    this.changed.fire(this.uri);
    await vscode.window.showTextDocument(this.uri, { preview: true, preserveFocus: true });
  }

  async close(): Promise<void> {
    const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
    const own = tabs.filter(
      ({ input }) => input instanceof vscode.TabInputText && input.uri.scheme === scheme,
    );
    if (own.length > 0) await vscode.window.tabGroups.close(own, true);
  }

  dispose(): void {
    this.registration.dispose();
    this.changed.dispose();
  }
}

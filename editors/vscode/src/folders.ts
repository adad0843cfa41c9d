// Detects folders that are rarely meant as a workspace, and asks the user before the agent can read
// and search everything in them.
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import * as vscode from 'vscode';

const agreed = 'agentLsp.wholeFolders';
const use = 'Use the Whole Folder';
const open = 'Open a Folder…';

/**
 * Returns a description of a folder that is too large, or undefined for any other folder. The
 * daemon uses a folder that is too large only if the capability `wholeFolders` allows it.
 */
export function tooLarge(folder: string, home: string): string | undefined {
  if (path.dirname(folder) === folder) return 'the root of the file system';
  const down = path.relative(real(folder), real(home));
  if (down === '') return 'your home folder';
  const isAround = down !== '..' && !down.startsWith(`..${path.sep}`) && !path.isAbsolute(down);
  return isAround ? 'a folder that contains your home folder' : undefined;
}

function real(folder: string): string {
  try {
    return fs.realpathSync(folder);
  } catch {
    return folder;
  }
}

/**
 * Asks the user about the folders of this window before the daemon gets them. The daemon asks about
 * folders that are added later.
 */
export class FolderQuestion {
  private refused: Error | undefined;

  constructor(private readonly state: vscode.Memento) {}

  /** Whether the user has agreed to every folder that is too large, so the daemon does not ask. */
  get agreed(): boolean {
    return large().every(({ folder }) => this.allowed.includes(folder));
  }

  /** Returns the folders to which the user has agreed in this workspace. */
  private get allowed(): string[] {
    return this.state.get(agreed, []);
  }

  /**
   * Asks the user, and throws an error if the user does not agree. The answer is stored, because
   * otherwise each request to the daemon would open the dialog. After a refusal, the user is asked
   * again only if `again` is true.
   */
  async ask(again: boolean): Promise<void> {
    for (const { folder, what } of large()) {
      if (this.allowed.includes(folder)) continue;
      if (this.refused && !again) throw this.refused;
      const text = `${folder} is ${what}, not a project.`;
      const detail = 'The agent could read, search and propose changes to everything in it.';
      const options = { modal: true, detail };
      const choice = await vscode.window.showWarningMessage(text, options, open, use);
      if (choice === use) {
        await this.state.update(agreed, [...this.allowed, folder]);
        continue;
      }
      this.refused = new Error(
        `${text} Open a project folder, or press Restart to be asked again.`,
      );
      if (choice === open) await vscode.commands.executeCommand('vscode.openFolder');
      throw this.refused;
    }
  }
}

/** Returns the folders of this window that are too large, each with its description. */
function large(): { folder: string; what: string }[] {
  const folders = vscode.workspace.workspaceFolders ?? [];
  return folders.flatMap(({ uri: { fsPath } }) => {
    const what = tooLarge(fsPath, os.homedir());
    return what === undefined ? [] : [{ folder: fsPath, what }];
  });
}

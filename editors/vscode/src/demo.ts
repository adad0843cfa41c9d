// Runs the demo. A scripted model fixes a bug in a sample folder, in the real panel with real
// hunks. The demo needs no key and no network. Its daemon has its own state folder and gets no
// settings.
import * as fs from 'node:fs';
import * as os from 'node:os';
import * as path from 'node:path';
import * as vscode from 'vscode';
import type { Daemon } from './client';
import type { Panel } from './panel';
import type { Proposals } from './review/proposals';
import type { SessionControl } from './session';

export const demoPrompt = 'The check fails. Find the cause and fix it.';
const after =
  'This was the demo. Its model is a script that can do only this task. ' +
  'To return to your own session, select *End the demo* above the input.';
/** The number of follow-up prompts that the script answers. */
const spare = 50;

export interface DemoFolder {
  /** The folder with the sample project. */
  folder: string;
  /** The environment variables of the demo's daemon. */
  environment: Record<string, string>;
}

/** Copies the sample into a new temporary folder, and writes the model's script. */
export function unpackDemo(media: string): DemoFolder {
  const dir = fs.realpathSync(fs.mkdtempSync(path.join(os.tmpdir(), 'agent-lsp-demo-')));
  const folder = path.join(dir, 'demo');
  const state = path.join(dir, 'state');
  const script = path.join(dir, 'model.jsonl');
  for (const made of [folder, state]) fs.mkdirSync(made);
  for (const name of ['stats.sh', 'check.sh']) {
    fs.copyFileSync(path.join(media, name), path.join(folder, name));
  }
  const replies = fs.readFileSync(path.join(media, 'model.jsonl'), 'utf8');
  fs.writeFileSync(script, replies + `${JSON.stringify({ text: after })}\n`.repeat(spare));
  const environment = { AGENT_LSP_SCRIPT: script, XDG_STATE_HOME: state, XDG_CONFIG_HOME: state };
  return { folder, environment };
}

export class Demo {
  constructor(
    private readonly media: string,
    private readonly daemon: Daemon,
    private readonly session: SessionControl,
    private readonly proposals: Proposals,
    private readonly panel: Panel,
  ) {}

  /**
   * Starts the demo in place of the user's session. The user's session is shown again afterwards.
   */
  async start(): Promise<void> {
    if (this.session.busy || this.proposals.files().length > 0) {
      const text = 'Wait for the turn to end and decide on its changes. Then try the demo again.';
      return void vscode.window.showInformationMessage(text);
    }
    const demo = unpackDemo(this.media);
    const file = vscode.Uri.file(path.join(demo.folder, 'stats.sh'));
    await vscode.window.showTextDocument(file, { preview: false });
    await this.panel.reveal(true);
    this.session.detour(vscode.Uri.file(demo.folder));
    this.daemon.demo = demo;
    await this.daemon.restart();
    await this.session.prompt(demoPrompt);
  }

  /** Returns to the user's session. Undecided changes in the sample are discarded. */
  async end(): Promise<void> {
    if (!this.daemon.demo) return;
    await this.session.abort();
    this.session.detour(undefined);
    this.daemon.demo = undefined;
    await this.daemon.restart();
    await this.session.ensure();
  }
}

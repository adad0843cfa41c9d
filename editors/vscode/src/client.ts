// Manages the daemon's process and connection. The daemon is started on first use and restarted
// after a crash. This module contains no agent logic, only typed requests, notifications and
// answers.
import { spawn, type ChildProcess } from 'node:child_process';
import * as os from 'node:os';
import * as vscode from 'vscode';
import type { ServerCapabilities } from 'vscode-languageclient';
import {
  LanguageClient,
  RevealOutputChannelOn,
  State,
  type LanguageClientOptions,
  type StaticFeature,
} from 'vscode-languageclient/node';
import { applyExactly } from './apply';
import { findBinary, type Found } from './bootstrap';
import type { DemoFolder } from './demo';
import type { Config, Notifications, Requests, ServerRequests } from './protocol';

export type NotificationEvent = {
  [M in keyof Notifications]: { method: M; params: Notifications[M] };
}[keyof Notifications];

export type Answer<M extends keyof ServerRequests> = (
  params: ServerRequests[M]['params'],
  token: vscode.CancellationToken,
) => Promise<ServerRequests[M]['result']>;

/**
 * The handlers for all requests from the server except agent/editor/open. The extension does not
 * need that request, because VS Code reports changes automatically.
 */
export type Answers = { [M in Exclude<keyof ServerRequests, 'agent/editor/open'>]: Answer<M> };

export interface Surroundings {
  extensionDir: string;
  output: vscode.LogOutputChannel;
  trace: vscode.LogOutputChannel;
  /** Returns the settings in the form in which they are sent to the daemon. */
  settings: () => { userSettings: Config } & Config;
  /** Returns the environment variables that the daemon gets in addition to the extension host's. */
  environment: () => Record<string, string>;
  answers: Answers;
  /**
   * Throws an error if the user does not allow the daemon to use the folders of this window. If
   * `again` is true, the user is asked even after an earlier refusal.
   */
  mayStart: (again: boolean) => Promise<void>;
  /** Reports whether the user has agreed to use the whole home folder as the workspace. */
  wholeFolders: () => boolean;
}

export const notificationMethods: (keyof Notifications)[] = [
  'agent/session/updated',
  'agent/turn/started',
  'agent/turn/completed',
  'agent/item/started',
  'agent/item/updated',
  'agent/item/completed',
  'agent/delta',
  'agent/retry',
  'agent/compaction',
  'agent/proposal/created',
  'agent/proposal/updated',
  'agent/proposal/closed',
  'agent/request/resolved',
];

export type DaemonState = 'stopped' | 'starting' | 'running' | 'failed';

/** Controls this window's daemon. Each window has its own daemon. */
export class Daemon implements vscode.Disposable {
  private client: LanguageClient | undefined;
  private starting: Promise<LanguageClient> | undefined;
  private runs = 0;
  private readonly notified = new vscode.EventEmitter<NotificationEvent>();
  private readonly changed = new vscode.EventEmitter<DaemonState>();
  private readonly restarted = new vscode.EventEmitter<void>();
  readonly onNotification = this.notified.event;
  readonly onState = this.changed.event;
  /** Fires when a new process replaces one that ended. */
  readonly onRestarted = this.restarted.event;
  state: DaemonState = 'stopped';
  pid: number | undefined;
  /** Set while the demo is running. The demo's daemon gets only this folder and no settings. */
  demo: DemoFolder | undefined;

  constructor(private readonly around: Surroundings) {}

  /** Starts the daemon if it is not running. */
  ready(): Promise<LanguageClient> {
    this.starting ??= this.begin();
    return this.starting;
  }

  private async begin(again = false): Promise<LanguageClient> {
    try {
      return await this.start(again);
    } catch (error) {
      this.starting = undefined;
      this.become('failed');
      throw error;
    }
  }

  async request<M extends keyof Requests>(
    method: M,
    params: Requests[M]['params'],
  ): Promise<Requests[M]['result']> {
    const client = await this.ready();
    return client.sendRequest<Requests[M]['result']>(method, params);
  }

  /** Restarts the daemon. Requests that arrive in the meantime wait for the new process. */
  async restart(): Promise<void> {
    const stopped = this.stop();
    this.starting = stopped.then(() => this.begin(true));
    await this.ready();
    this.restarted.fire();
  }

  async stop(): Promise<void> {
    const client = this.client;
    this.client = undefined;
    this.starting = undefined;
    if (client)
      await client
        .dispose(4000)
        .catch((error: unknown) =>
          this.around.output.warn(`stopping the daemon: ${String(error)}`),
        );
    if (!this.client) this.become('stopped');
  }

  /** Notifies a running daemon that settings have changed. It does not start a daemon. */
  async configure(): Promise<void> {
    if (this.state !== 'running') return;
    const settings = { agentLsp: this.settings() };
    await this.client?.sendNotification('workspace/didChangeConfiguration', { settings });
  }

  private settings(): { userSettings: Config } & Config {
    return this.demo ? { userSettings: {} } : this.around.settings();
  }

  dispose(): void {
    void this.stop();
    this.notified.dispose();
    this.changed.dispose();
    this.restarted.dispose();
  }

  private become(state: DaemonState): void {
    if (this.state === state) return;
    this.state = state;
    this.changed.fire(state);
  }

  private async start(again: boolean): Promise<LanguageClient> {
    this.become('starting');
    this.runs = 0;
    if (!this.demo) await this.around.mayStart(again);
    // This reports a missing program in one sentence. The language client's own message is much
    // longer.
    this.find();
    const client = new LanguageClient('agentLsp', 'agent-lsp', () => this.spawn(), this.options());
    client.registerFeature(this.feature());
    for (const method of notificationMethods) {
      client.onNotification(method, (params: unknown) =>
        this.notified.fire({ method, params } as NotificationEvent),
      );
    }
    for (const [method, answer] of Object.entries(this.around.answers)) {
      client.onRequest(method, answer as Answer<keyof ServerRequests>);
    }
    client.onDidChangeState(({ newState }) => this.followState(client, newState));
    this.client = client;
    await client.start();
    return client;
  }

  private followState(client: LanguageClient, state: State): void {
    if (this.client !== client) return;
    if (state === State.Running) {
      this.become('running');
      if (this.runs++ > 0) this.restarted.fire();
    } else {
      this.become(state === State.Starting ? 'starting' : 'stopped');
    }
  }

  /** Returns the location of the binary. */
  locate(): string {
    return this.find().file;
  }

  private find(): Found {
    const setting = vscode.workspace.getConfiguration('agentLsp').get<string>('server.path', '');
    return findBinary({
      setting,
      extensionDir: this.around.extensionDir,
      pathVariable: process.env.PATH ?? '',
      home: os.homedir(),
      platform: process.platform,
    });
  }

  private async spawn(): Promise<ChildProcess> {
    const found = this.find();
    const args = vscode.workspace.getConfiguration('agentLsp').get<string[]>('server.args', []);
    this.around.output.info(`starting ${found.file} (${found.source}) ${args.join(' ')}`);
    const child = spawn(found.file, ['serve', ...args], {
      cwd: this.demo?.folder ?? vscode.workspace.workspaceFolders?.[0]?.uri.fsPath ?? os.homedir(),
      env: { ...process.env, ...(this.demo?.environment ?? this.around.environment()) },
      stdio: 'pipe',
    });
    this.pid = child.pid;
    child.stderr
      .setEncoding('utf8')
      .on('data', (text: string) => this.around.output.info(text.trimEnd()));
    return child;
  }

  private options(): LanguageClientOptions {
    return {
      documentSelector: [{ scheme: 'file' }, { scheme: 'untitled' }],
      outputChannel: this.around.output,
      traceOutputChannel: this.around.trace,
      // Failures to restart the daemon belong in the log. The panel shows what the user needs to
      // know.
      revealOutputChannelOn: RevealOutputChannelOn.Never,
      initializationOptions: () => this.settings(),
      connectionOptions: { maxRestartCount: 5 },
      synchronize: {},
      middleware: {
        // These diagnostics show pending hunks as hints in editors without this extension.
        handleDiagnostics: (_uri, _diagnostics, _next) => {},
        workspace: {
          handleApplyEdit: (params, next) =>
            applyExactly(
              params,
              openVersion,
              async () => (await next(params, cancelNever)) as { applied: boolean },
            ),
        },
      },
    };
  }

  /**
   * Announces the agentLsp capability, and disables the features that the extension implements
   * itself.
   */
  private feature(): StaticFeature {
    return {
      fillClientCapabilities: (capabilities) => {
        capabilities.experimental = {
          ...(capabilities.experimental as object | undefined),
          agentLsp: {
            version: 1,
            permission: true,
            ask: true,
            editor: { query: true, save: true, reveal: true, showDiff: true },
            wholeFolders: this.around.wholeFolders(),
          },
        };
        delete capabilities.window?.workDoneProgress;
        delete (capabilities.workspace as { textDocumentContent?: unknown } | undefined)
          ?.textDocumentContent;
      },
      fillInitializeParams: (params) => {
        if (!this.demo) return;
        const uri = vscode.Uri.file(this.demo.folder).toString();
        const workspaceFolders = [{ uri, name: 'demo' }];
        Object.assign(params, { rootUri: uri, rootPath: this.demo.folder, workspaceFolders });
      },
      preInitialize: (capabilities: ServerCapabilities) => {
        delete capabilities.executeCommandProvider;
        delete capabilities.codeLensProvider;
        delete capabilities.codeActionProvider;
      },
      initialize: () => {},
      getState: () => ({ kind: 'static' }),
      clear: () => {},
    };
  }
}

const cancelNever = new vscode.CancellationTokenSource().token;

function openVersion(uri: string): number | undefined {
  const wanted = vscode.Uri.parse(uri).toString();
  return vscode.workspace.textDocuments.find((document) => document.uri.toString() === wanted)
    ?.version;
}

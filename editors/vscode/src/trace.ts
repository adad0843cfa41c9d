// Implements the trace channel, which shows every message between the editor and the daemon while
// the setting enables it.
import * as vscode from 'vscode';

const setting = 'agentLsp.trace.server';

/**
 * The channel to which the language client writes its trace. The client writes only if the
 * channel's log level is Trace. Settings cannot change this level in VS Code, so this channel
 * follows agentLsp.trace.server instead. The output channel is created for the first message.
 */
export class TraceChannel implements vscode.LogOutputChannel {
  readonly name = 'agent-lsp trace';
  private channel: vscode.OutputChannel | undefined;
  private readonly changed = new vscode.EventEmitter<vscode.LogLevel>();
  private readonly subscription: vscode.Disposable;
  readonly onDidChangeLogLevel = this.changed.event;

  constructor() {
    this.subscription = vscode.workspace.onDidChangeConfiguration(
      (event) => event.affectsConfiguration(setting) && this.changed.fire(this.logLevel),
    );
  }

  get logLevel(): vscode.LogLevel {
    return vscode.workspace.getConfiguration().get(setting, 'off') === 'off'
      ? vscode.LogLevel.Info
      : vscode.LogLevel.Trace;
  }

  trace(message: string): void {
    this.appendLine(`${new Date().toISOString()} ${message}`);
  }

  debug(message: string): void {
    this.trace(message);
  }

  info(message: string): void {
    this.trace(message);
  }

  warn(message: string): void {
    this.trace(message);
  }

  error(error: string | Error): void {
    this.trace(String(error));
  }

  append(value: string): void {
    this.open().append(value);
  }

  appendLine(value: string): void {
    this.open().appendLine(value);
  }

  replace(value: string): void {
    this.open().replace(value);
  }

  clear(): void {
    this.channel?.clear();
  }

  show(): void {
    this.open().show(true);
  }

  hide(): void {
    this.channel?.hide();
  }

  dispose(): void {
    this.subscription.dispose();
    this.changed.dispose();
    this.channel?.dispose();
  }

  private open(): vscode.OutputChannel {
    return (this.channel ??= vscode.window.createOutputChannel(this.name));
  }
}

// Implements the panel, a webview that draws the daemon's notifications and sends the user's
// actions. The panel does not store the conversation.
import * as vscode from 'vscode';
import type { FromPanel, ToPanel } from './webview/messages';

/** Messages that arrive within this number of milliseconds are combined into one message. */
const batchMs = 16;

type Handler = (message: FromPanel) => void;

export class Panel implements vscode.WebviewViewProvider, vscode.Disposable {
  static readonly id = 'agentLsp.panel';
  private view: vscode.WebviewView | undefined;
  private isReady = false;
  private focusWhenReady = false;
  private batch: ToPanel[] = [];
  private timer: NodeJS.Timeout | undefined;
  private readonly received = new vscode.EventEmitter<FromPanel>();
  private readonly shown = new vscode.EventEmitter<boolean>();
  readonly onVisible = this.shown.event;

  constructor(
    private readonly extensionUri: vscode.Uri,
    handle: Handler,
  ) {
    this.received.event(handle);
  }

  get visible(): boolean {
    return this.view?.visible ?? false;
  }

  resolveWebviewView(view: vscode.WebviewView): void {
    this.view = view;
    this.isReady = false;
    const { webview } = view;
    webview.options = {
      enableScripts: true,
      localResourceRoots: [vscode.Uri.joinPath(this.extensionUri, 'dist')],
    };
    webview.onDidReceiveMessage((message: FromPanel) => this.receive(message));
    view.onDidChangeVisibility(() => this.shown.fire(view.visible));
    view.onDidDispose(() => {
      if (this.view === view) this.view = undefined;
      this.isReady = false;
      this.shown.fire(false);
    });
    webview.html = this.html(webview);
  }

  /** Shows the panel. The panel takes the focus only if the user requested it. */
  async reveal(focus: boolean): Promise<void> {
    if (focus) {
      // When the panel's page is created again, messages that arrive before its script runs are
      // lost.
      this.focusWhenReady = !this.visible;
      await vscode.commands.executeCommand(`${Panel.id}.focus`);
      this.post({ type: 'focus' });
    } else if (this.view) {
      this.view.show(true);
    } else {
      await vscode.commands.executeCommand(`${Panel.id}.focus`, { preserveFocus: true });
    }
  }

  badge(count: number, tooltip: string): void {
    if (this.view) this.view.badge = count > 0 ? { value: count, tooltip } : undefined;
  }

  /**
   * Sends messages to the panel in order. Before the panel's script is ready, most messages are
   * dropped, because they are sent again when it is ready. Messages that are sent only once are
   * kept.
   */
  post(message: ToPanel): void {
    if (
      message.type === 'focus' ||
      message.type === 'insert' ||
      message.type === 'options' ||
      message.type === 'confirmStop'
    ) {
      if (!this.isReady) return void this.batch.push(message);
    } else if (!this.isReady) {
      return;
    }
    const last = this.batch[this.batch.length - 1];
    if (message.type === 'events' && last?.type === 'events') last.events.push(...message.events);
    else this.batch.push(message);
    this.timer ??= setTimeout(() => this.flush(), batchMs);
  }

  dispose(): void {
    clearTimeout(this.timer);
    this.received.dispose();
    this.shown.dispose();
  }

  private receive(message: FromPanel): void {
    if (message.type === 'ready') {
      this.isReady = true;
      const kept = this.batch.splice(0);
      this.received.fire(message);
      this.batch.push(...kept);
      if (this.focusWhenReady) this.batch.push({ type: 'focus' });
      this.focusWhenReady = false;
      this.timer ??= setTimeout(() => this.flush(), batchMs);
    } else {
      this.received.fire(message);
    }
  }

  private flush(): void {
    this.timer = undefined;
    for (const message of this.batch.splice(0)) void this.view?.webview.postMessage(message);
  }

  private html(webview: vscode.Webview): string {
    const resource = (name: string) =>
      webview.asWebviewUri(vscode.Uri.joinPath(this.extensionUri, 'dist', name)).toString();
    const policy = [
      "default-src 'none'",
      `style-src ${webview.cspSource}`,
      `script-src ${webview.cspSource}`,
      'img-src data:',
      `font-src ${webview.cspSource}`,
      "base-uri 'none'",
      "form-action 'none'",
    ].join('; ');
    return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta http-equiv="Content-Security-Policy" content="${policy}">
    <meta name="viewport" content="width=device-width">
    <link rel="stylesheet" href="${resource('panel.css')}">
    <title>Agent</title>
  </head>
  <body>
    <main id="app"></main>
    <script src="${resource('panel.js')}"></script>
  </body>
</html>`;
  }
}

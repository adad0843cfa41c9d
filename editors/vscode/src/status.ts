// Shows the agent's state and the number of pending changes in the status bar. If a turn ends or
// the agent asks a question while the window is not focused or the panel is hidden, one
// notification appears.
import * as vscode from 'vscode';
import type { Asks } from './asks';
import type { Panel } from './panel';
import type { Proposals } from './review/proposals';
import type { SessionControl } from './session';
import { counted } from './text';

export class StatusBar implements vscode.Disposable {
  private readonly item = vscode.window.createStatusBarItem(
    'agentLsp.status',
    vscode.StatusBarAlignment.Right,
    100,
  );
  private readonly subscriptions: vscode.Disposable[];
  private noticed = false;

  constructor(
    private readonly session: SessionControl,
    private readonly asks: Asks,
    private readonly proposals: Proposals,
    private readonly panel: Panel,
  ) {
    this.item.name = 'agent-lsp';
    this.subscriptions = [
      this.item,
      session.onChange(() => this.draw()),
      asks.onChange(() => this.asked()),
      proposals.onChange(() => this.draw()),
      session.onTurnEnd((turn) =>
        this.notice(
          turn.status === 'completed'
            ? 'The agent is done.'
            : `The agent stopped: ${turn.error?.message ?? turn.status}.`,
        ),
      ),
      vscode.window.onDidChangeWindowState((state) => state.focused && (this.noticed = false)),
    ];
    this.draw();
    this.item.show();
  }

  dispose(): void {
    for (const s of this.subscriptions) s.dispose();
  }

  private asked(): void {
    if (this.asks.list().length > 0) this.notice('The agent is waiting for your answer.');
    this.draw();
  }

  private draw(): void {
    const waiting = this.asks.list().length;
    const changes = this.proposals.files().reduce((n, file) => n + file.marks.length, 0);
    const { text, tooltip, command } = this.look(waiting, changes);
    this.item.text = text;
    this.item.tooltip = tooltip;
    this.item.command = command;
    this.item.accessibilityInformation = { label: `agent-lsp: ${tooltip}` };
    this.item.backgroundColor =
      waiting > 0 ? new vscode.ThemeColor('statusBarItem.warningBackground') : undefined;
    this.panel.badge(
      waiting + changes,
      waiting + changes === 1
        ? 'One item is waiting for you'
        : `${waiting + changes} items are waiting for you`,
    );
    void vscode.commands.executeCommand('setContext', 'agentLsp.busy', this.session.busy);
    void vscode.commands.executeCommand('setContext', 'agentLsp.hasPending', changes > 0);
  }

  private look(
    waiting: number,
    changes: number,
  ): { text: string; tooltip: string; command: string } {
    if (waiting > 0)
      return {
        text: '$(question) Agent asks',
        tooltip: 'The agent is waiting for your answer',
        command: 'agentLsp.prompt',
      };
    if (changes > 0)
      return {
        text: `$(diff) ${changes} to review`,
        tooltip: `${counted(changes, 'pending change')}; click to review`,
        command: 'agentLsp.review',
      };
    if (this.session.busy)
      return {
        text: '$(sync~spin) Agent',
        tooltip: 'The agent is working; click to stop it',
        command: 'agentLsp.abort',
      };
    return {
      text: '$(comment-discussion) Agent',
      tooltip: 'Ask the agent',
      command: 'agentLsp.prompt',
    };
  }

  /**
   * Shows a notification unless the user can see the panel. No further notification appears until
   * the user has returned to the window or closed this one.
   */
  private notice(text: string): void {
    const elsewhere = !vscode.window.state.focused || !this.panel.visible;
    if (
      !elsewhere ||
      this.noticed ||
      !vscode.workspace.getConfiguration('agentLsp').get('notify.enabled', true)
    )
      return;
    this.noticed = true;
    void vscode.window.showInformationMessage(text, 'Show').then((choice) => {
      this.noticed = false;
      if (choice) void this.panel.reveal(true);
    });
  }
}

// Manages the daemon's permission requests and questions to the user. The panel shows them without
// taking the focus.
import * as vscode from 'vscode';
import type {
  AskParams,
  AskResult,
  RequestPermissionParams,
  RequestPermissionResult,
} from './protocol';
import type { Waiting } from './webview/messages';

interface Open {
  waiting: Waiting;
  settle: (result: unknown) => void;
}

/** Stores the open questions of all sessions, oldest first. */
export class Asks implements vscode.Disposable {
  private readonly open = new Map<string, Open>();
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onChange = this.changed.event;

  list(): Waiting[] {
    return [...this.open.values()].map(({ waiting }) => waiting);
  }

  permission(
    params: RequestPermissionParams,
    token: vscode.CancellationToken,
  ): Promise<RequestPermissionResult> {
    return this.wait(params.requestId, { kind: 'permission', params }, token, { cancelled: true });
  }

  ask(params: AskParams, token: vscode.CancellationToken): Promise<AskResult> {
    return this.wait(params.requestId, { kind: 'ask', params }, token, { declined: true });
  }

  answer(requestId: string, result: RequestPermissionResult | AskResult): void {
    this.open.get(requestId)?.settle(result);
  }

  /** Discards a question that was superseded. */
  withdraw(requestId: string): void {
    const open = this.open.get(requestId);
    open?.settle(open.waiting.kind === 'ask' ? { declined: true } : { cancelled: true });
  }

  clear(): void {
    for (const id of [...this.open.keys()]) this.withdraw(id);
  }

  dispose(): void {
    this.clear();
    this.changed.dispose();
  }

  private wait<T>(
    requestId: string,
    waiting: Waiting,
    token: vscode.CancellationToken,
    moot: T,
  ): Promise<T> {
    return new Promise((resolve) => {
      const settle = (result: unknown) => {
        if (this.open.get(requestId)?.settle !== settle) return;
        this.open.delete(requestId);
        this.changed.fire();
        resolve(result as T);
      };
      this.open.set(requestId, { waiting, settle });
      token.onCancellationRequested(() => settle(moot));
      this.changed.fire();
    });
  }
}

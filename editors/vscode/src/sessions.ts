// Shows the list of sessions, and lets the user search, resume, rename, fork, archive, export and
// delete them.
import * as vscode from 'vscode';
import type { Daemon } from './client';
import type { Session } from './protocol';
import type { SessionControl } from './session';
import { counted } from './text';

interface Row extends vscode.QuickPickItem {
  session?: Session;
  isNew?: boolean;
  showsAll?: boolean;
}

const buttons = {
  rename: { iconPath: new vscode.ThemeIcon('edit'), tooltip: 'Rename' },
  fork: { iconPath: new vscode.ThemeIcon('repo-forked'), tooltip: 'Fork' },
  archive: { iconPath: new vscode.ThemeIcon('archive'), tooltip: 'Archive' },
  bringBack: { iconPath: new vscode.ThemeIcon('reply'), tooltip: 'Unarchive' },
  export: { iconPath: new vscode.ThemeIcon('export'), tooltip: 'Export as Markdown' },
  remove: { iconPath: new vscode.ThemeIcon('trash'), tooltip: 'Delete' },
};

const newRow: Row = { label: '$(add) New session', alwaysShow: true, isNew: true };

const pageSize = 100;
const mostPages = 5;

/**
 * Reports whether a session is listed by default. Busy sessions, archived sessions and the current
 * session always are. Any other session is not listed if it is from `agent-lsp run`, or if it has
 * no answer because its prompt failed. A session that was restored to before its first prompt has
 * no messages, but it still has the title from that prompt. It is listed, because the restore can
 * be undone.
 */
export function isListed(session: Session, current?: string): boolean {
  if (session.status !== 'idle' || session.sessionId === current || session.archived) return true;
  const restored = session.messages === 0 && session.title !== '';
  return (session.messages > 1 || restored) && session.origin !== 'run';
}

/** The row that the user selects to list the other sessions too. */
const allRow: Row = {
  label: '$(eye) Show all sessions',
  alwaysShow: true,
  showsAll: true,
  description: 'including sessions from agent-lsp run and sessions without an answer',
};

/**
 * The title of each list (active and archived sessions), and its button that shows the other list.
 */
const lists = {
  inUse: {
    title: 'Sessions',
    other: { iconPath: new vscode.ThemeIcon('archive'), tooltip: 'Show archived sessions' },
  },
  archived: {
    title: 'Archived sessions',
    other: { iconPath: new vscode.ThemeIcon('history'), tooltip: 'Show the active sessions' },
  },
};

/**
 * Keeps each row at its position during a search, because VS Code identifies the chosen row by its
 * position. If the list were rebuilt after the user presses Enter but before the choice arrives
 * here, another session would open. The editor hides rows that do not match.
 */
export class Listing {
  private readonly rows = new Map<string, Row>();

  clear(): void {
    this.rows.clear();
  }

  found(rows: Row[], first: Row[] = []): Row[] {
    const hits = new Set(rows.map((row) => row.session?.sessionId ?? ''));
    for (const row of rows) this.rows.set(row.session?.sessionId ?? '', row);
    const all = [...this.rows.entries()].map(
      ([id, row]): Row => ({ ...row, alwaysShow: hits.has(id) }),
    );
    return [...first, ...all];
  }
}

export class SessionList {
  constructor(
    private readonly daemon: Daemon,
    private readonly control: SessionControl,
  ) {}

  async show(): Promise<void> {
    const pick = vscode.window.createQuickPick<Row>();
    pick.placeholder = 'Search titles and messages';
    pick.matchOnDescription = true;
    let archived = false;
    let all = false;
    const name = () => {
      const { title, other } = archived ? lists.archived : lists.inUse;
      Object.assign(pick, { title, buttons: [other] });
    };
    const listing = new Listing();
    let first: Row[] = [];
    const load = async () => {
      pick.busy = true;
      const query = pick.value;
      const listed = all ? () => true : (s: Session) => isListed(s, this.control.sessionId);
      const { sessions, hidden } = await this.find(query, archived, listed);
      if (query !== pick.value) return; // skip this query, because the user has typed a newer one
      // The rows above the sessions stay the same during a search, so that no row moves.
      if (!query || first.length === 0) first = hidden ? [newRow, allRow] : [newRow];
      pick.items = listing.found(
        sessions.map((session) => this.row(session)),
        archived ? [] : first,
      );
      // After a search, Enter opens the first session found instead of a new one.
      const id = sessions[0]?.sessionId;
      const found = pick.items.find(({ session }) => session?.sessionId === id);
      if (query && id && found) pick.activeItems = [found];
      pick.busy = false;
    };
    const again = () => {
      listing.clear();
      first = [];
      return this.control.guard(load());
    };
    pick.onDidChangeValue(() => void this.control.guard(load()));
    pick.onDidTriggerButton(() => {
      archived = !archived;
      name();
      void again();
    });
    pick.onDidTriggerItemButton(
      ({ button, item }) => void this.control.guard(this.act(button, item)).then(again),
    );
    pick.onDidAccept(() => {
      const row = pick.selectedItems[0];
      if (row?.showsAll) {
        all = true;
        return void again();
      }
      pick.hide();
      if (row?.isNew) void this.control.guard(this.control.create());
      if (row?.session) void this.control.guard(this.control.attach(row.session.sessionId));
    });
    pick.onDidHide(() => pick.dispose());
    name();
    pick.show();
    await this.control.guard(load());
  }

  /**
   * Returns the newest sessions to list, and whether some sessions are omitted. It requests pages
   * until it has enough sessions, but no more than `mostPages`.
   */
  private async find(query: string, archived: boolean, listed: (session: Session) => boolean) {
    const sessions: Session[] = [];
    let hidden = false;
    let cursor: string | undefined;
    for (let page = 0; page < mostPages && sessions.length < pageSize; page++) {
      const params = { query: query || undefined, archived, limit: pageSize, cursor };
      const found = await this.daemon.request('agent/session/list', params);
      const shown = found.sessions.filter(listed);
      sessions.push(...shown);
      hidden ||= shown.length < found.sessions.length;
      cursor = found.nextCursor;
      if (!cursor) break;
    }
    return { sessions, hidden };
  }

  private row(session: Session): Row {
    const { rename, fork, archive, bringBack, export: save, remove } = buttons;
    const here = session.sessionId === this.control.sessionId;
    const from = session.origin === 'run' ? 'from agent-lsp run' : '';
    const facts = [
      counted(session.messages, 'message'),
      from,
      session.status === 'idle' ? '' : session.status,
      here ? 'shown in the panel' : '',
    ];
    return {
      label: session.title.replaceAll('`', '') || 'Untitled',
      description: ago(session.updatedAt),
      detail: facts.filter(Boolean).join(', '),
      session,
      buttons: [rename, fork, session.archived ? bringBack : archive, save, remove],
    };
  }

  private async act(button: vscode.QuickInputButton, { session }: Row): Promise<void> {
    if (!session) return;
    const { sessionId } = session;
    switch (button.tooltip) {
      case buttons.rename.tooltip: {
        const title = await vscode.window.showInputBox({
          prompt: 'Session title',
          value: session.title,
        });
        if (title) await this.daemon.request('agent/session/update', { sessionId, title });
        return;
      }
      case buttons.fork.tooltip:
        return this.fork(sessionId);
      case buttons.archive.tooltip:
      case buttons.bringBack.tooltip:
        return void (await this.daemon.request('agent/session/update', {
          sessionId,
          archived: !session.archived,
        }));
      case buttons.export.tooltip:
        return this.export(sessionId);
      case buttons.remove.tooltip:
        return this.remove(session);
    }
  }

  async fork(sessionId: string, atItemId?: string): Promise<void> {
    const made = await this.daemon.request('agent/session/fork', { sessionId, atItemId });
    await this.control.attach(made.sessionId);
  }

  /**
   * Forks the session at the item before the given one. If there is no such item, it creates an
   * empty session.
   */
  async forkBefore(sessionId: string, itemId: string): Promise<void> {
    const before = this.control.itemBefore(itemId);
    if (before) await this.fork(sessionId, before);
    else await this.control.create();
  }

  async export(sessionId: string): Promise<void> {
    const { content } = await this.daemon.request('agent/session/export', {
      sessionId,
      format: 'markdown',
    });
    await vscode.window.showTextDocument(
      await vscode.workspace.openTextDocument({ content, language: 'markdown' }),
    );
  }

  private async remove({ sessionId, title }: Session): Promise<void> {
    const yes = await vscode.window.showWarningMessage(
      `Delete the session “${title}”? This cannot be undone.`,
      { modal: true },
      'Delete',
    );
    if (yes) await this.daemon.request('agent/session/delete', { sessionId });
    if (yes && this.control.sessionId === sessionId) await this.control.create();
  }
}

/**
 * Formats a time. A time today or in the last hour becomes the time that has passed since then. Any
 * other time becomes the day and the time of day.
 */
export function ago(time: string, now = Date.now()): string {
  const minutes = Math.max(0, Math.round((now - Date.parse(time)) / 60_000));
  if (minutes < 60) return minutes <= 1 ? 'just now' : `${minutes} minutes ago`;
  const [then, today] = [new Date(time), new Date(now)];
  if (then.toDateString() === today.toDateString())
    return `${counted(Math.round(minutes / 60), 'hour')} ago`;
  const yesterday = new Date(today.getFullYear(), today.getMonth(), today.getDate() - 1);
  const year = then.getFullYear() === today.getFullYear() ? undefined : 'numeric';
  const day =
    then.toDateString() === yesterday.toDateString()
      ? 'yesterday'
      : then.toLocaleDateString([], { day: 'numeric', month: 'short', year });
  return `${day}, ${then.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit' })}`;
}

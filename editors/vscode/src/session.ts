// Manages the session of this window: its id, its state, and the user's actions on it. The daemon
// stores the session's content, and the panel gets the content with agent/session/load.
import * as vscode from 'vscode';
import type { Daemon, NotificationEvent } from './client';
import type {
  Config,
  ContentBlock,
  Item,
  PromptContext,
  Session,
  SessionUpdated,
  Turn,
} from './protocol';
import { firstLine } from './text';
import { problemOf } from './problems';
import { nextSession } from './settings';
import type { PanelState, Problem, PromptOptions } from './webview/messages';

const memento = 'agentLsp.session';

/** Controls the session that the panel shows. */
export class SessionControl implements vscode.Disposable {
  private id: string | undefined;
  private session: Partial<Session> = {};
  private config: Config = {};
  private turn: string | undefined;
  /** The folder of the demo while it is running. */
  private sample: vscode.Uri | undefined;
  private problem: Problem | undefined;
  /**
   * The ids of the completed top-level items, in order. The session can be forked at each of them.
   */
  private items: string[] = [];
  /**
   * The beginnings of the user's messages, by the message's id and by the id of the turn that it
   * began.
   */
  private readonly prompts = new Map<string, string>();
  /** Resolves when the most recently requested session is loaded. */
  private entering: Promise<unknown> | undefined;
  private readonly changed = new vscode.EventEmitter<void>();
  private readonly events = new vscode.EventEmitter<NotificationEvent>();
  private readonly switched = new vscode.EventEmitter<void>();
  private readonly loaded = new vscode.EventEmitter<string>();
  private readonly ended = new vscode.EventEmitter<Turn>();
  private readonly subscriptions: vscode.Disposable[];
  readonly onChange = this.changed.event;
  /** Fires only for notifications of this session, including replayed ones. */
  readonly onEvent = this.events.event;
  /**
   * Fires before the notifications of another session arrive, or before the same session is
   * replayed.
   */
  readonly onSwitch = this.switched.event;
  /** Fires with the id of a stored session after its notifications have been replayed. */
  readonly onLoaded = this.loaded.event;
  readonly onTurnEnd = this.ended.event;

  constructor(
    private readonly daemon: Daemon,
    private readonly state: vscode.Memento,
  ) {
    this.id = state.get<string>(memento);
    this.subscriptions = [
      daemon.onNotification((event) => this.take(event)),
      daemon.onState(() => this.changed.fire()),
      daemon.onRestarted(() => void this.reload()),
    ];
  }

  get sessionId(): string | undefined {
    return this.id;
  }

  get turnId(): string | undefined {
    return this.turn;
  }

  get busy(): boolean {
    return this.session.status === 'running' || this.session.status === 'awaiting';
  }

  get queue() {
    return this.session.queue ?? [];
  }

  /** Returns the configuration of the session or, if there is no session yet, of the next one. */
  get effective(): Config {
    if (this.id !== undefined) return this.config;
    return this.sample ? {} : nextSession(); // the demo's daemon gets no settings
  }

  /** Returns the session's data that is shown around the conversation. */
  view(): Omit<PanelState, 'discards' | 'changes' | 'offersReview' | 'setup'> {
    const c = this.effective;
    return {
      sessionId: this.id,
      title: this.session.title ?? '',
      status: this.session.status ?? 'idle',
      daemon: this.daemon.state,
      problem: this.problem,
      isDemo: this.sample !== undefined,
      model: c.model ?? '',
      mode: c.mode ?? '',
      policy: c.editPolicy ?? '',
      profile: c.permissions?.profile ?? '',
      queue: this.queue,
      usage: this.session.usage,
      contextTokens: this.session.contextTokens,
      contextWindow: this.session.contextWindow,
    };
  }

  /**
   * Switches from the window's session to a session in a sample folder, or back. The caller must
   * restart the daemon afterwards.
   */
  detour(sample: vscode.Uri | undefined): void {
    this.sample = sample;
    this.id = sample ? undefined : this.state.get<string>(memento);
    this.session = {};
    this.turn = undefined;
  }

  /** Returns the session's id. It creates a session if there is none. */
  ensure(): Promise<string> {
    if (this.entering) return this.entering.then(() => this.ensure());
    if (this.id && this.session.sessionId === this.id) return Promise.resolve(this.id);
    return this.enter(() => this.open());
  }

  /** Shows a session from its beginning. Returns false if the session is no longer stored. */
  attach(sessionId: string): Promise<boolean> {
    return this.enter(() => this.load(sessionId));
  }

  /** Replays the current session, after a reload of the panel or a restart of the daemon. */
  async reload(): Promise<void> {
    await this.guard(
      this.enter(async () => (this.id ? void (await this.load(this.id)) : this.switched.fire())),
    );
  }

  create(): Promise<string> {
    return this.enter(() => this.make());
  }

  /**
   * Loads sessions one after the other, in the requested order. Calls that need a session wait
   * until the most recently requested session is loaded.
   */
  private enter<T>(work: () => Promise<T>): Promise<T> {
    const entered = (this.entering ?? Promise.resolve()).then(work);
    const settled: Promise<unknown> = entered
      .catch(() => {})
      .finally(() => {
        if (this.entering === settled) this.entering = undefined;
      });
    this.entering = settled;
    return entered;
  }

  private async load(sessionId: string): Promise<boolean> {
    // The prompts label the checkpoints of one session.
    if (sessionId !== this.session.sessionId) this.prompts.clear();
    await this.point(sessionId);
    this.session = {};
    this.items = [];
    this.turn = undefined;
    this.switched.fire();
    try {
      const { session } = await this.daemon.request('agent/session/load', {
        sessionId,
        replay: true,
      });
      this.session = session;
      this.config = session.config as Config;
      this.changed.fire();
      this.loaded.fire(sessionId);
      return true;
    } catch (error) {
      if ((error as { code?: number }).code !== 1002) throw error;
      await this.point(undefined);
      this.changed.fire();
      return false;
    }
  }

  private async make(): Promise<string> {
    const cwd =
      vscode.window.activeTextEditor &&
      vscode.workspace.getWorkspaceFolder(vscode.window.activeTextEditor.document.uri);
    const folder = this.sample ?? (cwd ?? vscode.workspace.workspaceFolders?.[0])?.uri;
    const params = folder ? { cwd: folder.toString() } : {};
    const { sessionId, config } = await this.daemon.request('agent/session/new', params);
    await this.point(sessionId);
    this.turn = undefined;
    this.items = [];
    this.prompts.clear();
    this.session = { sessionId, status: 'idle', queue: [], title: '' };
    this.config = config as Config;
    this.switched.fire();
    this.changed.fire();
    return sessionId;
  }

  async prompt(
    prompt: string | ContentBlock[],
    delivery: 'auto' | 'queue' = 'auto',
    context?: PromptContext,
    options?: PromptOptions,
  ): Promise<void> {
    const sessionId = await this.ensure();
    await this.daemon.request('agent/prompt', {
      sessionId,
      prompt,
      delivery,
      context,
      options,
      clientMessageId: crypto.randomUUID(),
    });
    this.settle(undefined);
  }

  async steer(prompt: string | ContentBlock[]): Promise<void> {
    const sessionId = await this.ensure();
    await this.daemon.request('agent/steer', { sessionId, prompt });
    this.settle(undefined);
  }

  /** Handles Enter. It steers a running turn, or starts a turn if none is running. */
  async send(
    prompt: string | ContentBlock[],
    context?: PromptContext,
    options?: PromptOptions,
  ): Promise<void> {
    if (this.busy) await this.steer(prompt);
    else await this.prompt(prompt, 'auto', context, options);
  }

  async abort(itemId?: string): Promise<void> {
    if (this.id) await this.daemon.request('agent/abort', { sessionId: this.id, itemId });
  }

  async configure(config: Config): Promise<void> {
    const sessionId = await this.ensure();
    const result = await this.daemon.request('agent/session/configure', { sessionId, config });
    this.config = result.config as Config;
    this.changed.fire();
  }

  /** Returns the beginning of a prompt, by the prompt's id or its turn's id. */
  promptOf(id: string): string {
    return this.prompts.get(id) ?? '';
  }

  /** Reports whether a completed item is in the conversation. */
  holds(itemId: string): boolean {
    return this.items.includes(itemId);
  }

  /** Returns the id of the item before the given one. */
  itemBefore(itemId: string): string | undefined {
    return this.items[this.items.indexOf(itemId) - 1];
  }

  /**
   * Awaits the work that a user action started. If the work fails, the panel shows the error and
   * what the user can do.
   */
  async guard<T>(work: Promise<T>): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      this.settle(problemOf(error));
      return undefined;
    }
  }

  settle(problem: Problem | undefined): void {
    this.problem = problem;
    this.changed.fire();
  }

  dispose(): void {
    for (const s of this.subscriptions) s.dispose();
    const emitters = [this.changed, this.events, this.switched, this.loaded, this.ended];
    for (const e of emitters) e.dispose();
  }

  private async open(): Promise<string> {
    if (this.id && (await this.load(this.id)) && this.id) return this.id;
    return this.make();
  }

  private async point(sessionId: string | undefined): Promise<void> {
    this.id = sessionId;
    if (!this.sample) await this.state.update(memento, sessionId);
  }

  private take(event: NotificationEvent): void {
    if ('sessionId' in event.params && event.params.sessionId !== this.id) return;
    if (event.method === 'agent/session/updated') this.update(event.params);
    if (event.method === 'agent/turn/started') this.turn = event.params.turnId;
    if (event.method === 'agent/item/completed' && !event.params.item.parentItemId)
      this.remember(event.params.item, event.params.turnId);
    if (event.method === 'agent/turn/completed') {
      this.turn = undefined;
      if (!event.params.replay) this.ended.fire(event.params.turn);
    }
    this.events.fire(event);
  }

  private remember({ itemId, type, text = '' }: Item, turnId: string): void {
    if (type === 'userMessage')
      for (const id of [itemId, turnId])
        if (!this.prompts.has(id)) this.prompts.set(id, firstLine(text));
    const stored = type === 'userMessage' || type === 'assistantMessage' || type === 'toolCall';
    if (stored && !this.items.includes(itemId)) this.items.push(itemId);
  }

  private update({
    sessionId: _id,
    seq: _seq,
    replay: _replay,
    config,
    ...rest
  }: SessionUpdated): void {
    Object.assign(
      this.session,
      Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined)),
    );
    if (config) this.config = config as Config;
    this.changed.fire();
  }
}

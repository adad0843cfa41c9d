// Connects the panel to the other modules. It sends events to the panel, and performs the user's
// actions.
import * as vscode from 'vscode';
import type { Parts } from './commands';
import { unsaved } from './editor';
import { stop } from './stop';
import { Changes } from './changes';
import type { Checkpoint, ContentBlock } from './protocol';
import type { FromPanel, Restored, SetupState } from './webview/messages';

/** Matches the commands that the panel may run. */
const allowed = /^agentLsp\.[A-Za-z]+$/;
/** Matches links that may open outside the editor, by their scheme. */
const outside = /^(https?|mailto):/i;

export interface Bridge extends vscode.Disposable {
  receive(message: FromPanel): void;
}

export function connectPanel(parts: Parts): Bridge {
  const { panel, session, asks } = parts;
  const changes = new Changes(parts.proposals);
  /** The restores since the session's last turn. A replay of the session does not include them. */
  let restores: Restored[] = [];
  let restoresOf: string | undefined;
  let setup: SetupState | undefined;
  const state = () => {
    const bar = changes.summary(session.sessionId, session.busy);
    const view = session.view();
    const discards = parts.proposals.discardedByStop(session.sessionId);
    const offersReview = bar?.kind === 'proposed' && !view.isDemo && parts.choices.offersReview();
    panel.post({
      type: 'state',
      state: {
        ...view,
        discards,
        changes: bar,
        offersReview,
        setup: view.isDemo ? undefined : setup,
      },
    });
  };
  const keepTurn = () => {
    changes.forget();
    state();
  };
  let saved: string[] = [];
  const waiting = () => {
    saved = unsaved();
    panel.post({
      type: 'waiting',
      waiting: asks.list().filter((w) => w.params.sessionId === session.sessionId),
      unsaved: saved,
    });
  };
  const edited = () => {
    if (asks.list().length > 0 && unsaved().join() !== saved.join()) waiting();
  };
  const subscriptions = [
    session.onChange(state),
    parts.proposals.onChange(state),
    asks.onChange(waiting),
    vscode.workspace.onDidChangeTextDocument(edited),
    vscode.workspace.onDidSaveTextDocument(edited),
    parts.setup.onChange((now) => {
      setup = now;
      state();
    }),
    session.onSwitch(() => {
      changes.forget();
      panel.post({ type: 'reset' });
    }),
    parts.checkpoints.onRestored((restored) => {
      keepTurn();
      if (restoresOf !== session.sessionId) restores = [];
      restoresOf = session.sessionId;
      restores.push(restored);
      panel.post({ type: 'restored', restored });
    }),
    session.onLoaded((sessionId) => {
      waiting();
      if (restoresOf !== sessionId) restores = [];
      for (const restored of restores) panel.post({ type: 'restored', restored });
      void session.guard(complete(parts, sessionId));
    }),
    session.onEvent((event) => {
      panel.post({ type: 'events', events: [event] });
      if (event.method === 'agent/request/resolved') asks.withdraw(event.params.requestId);
      if (event.method === 'agent/turn/completed' && !event.params.replay) {
        const { turnId } = event.params;
        void refresh(parts).then((checkpoints) => {
          changes.turnEnded(turnId, checkpoints);
          state();
        });
      }
      if (event.method === 'agent/turn/started' && !event.params.replay) {
        changes.forget();
        restores = [];
      }
    }),
    parts.daemon.onRestarted(() => void session.guard(restarted(parts))),
    parts.daemon.onState((now) => now === 'running' || asks.clear()),
  ];
  return {
    receive: (message) => void session.guard(handle(parts, message, { state, waiting, keepTurn })),
    dispose: () => subscriptions.forEach((s) => s.dispose()),
  };
}

async function restarted({ session, proposals, setup }: Parts): Promise<void> {
  await session.ensure();
  await proposals.refresh();
  await setup.check();
}

/** Sends the panel the data that a session's replay does not include. */
async function complete(parts: Parts, sessionId: string): Promise<void> {
  await Promise.all([tellLastTurn(parts, sessionId), refresh(parts), parts.proposals.refresh()]);
}

/** Reports how the last turn ended, so that a stopped turn can be continued. */
async function tellLastTurn({ daemon, session, panel }: Parts, sessionId: string): Promise<void> {
  if (session.busy) return;
  const turn = await daemon
    .request('agent/turn/wait', { sessionId, timeoutMs: 1000 })
    .catch(() => undefined); // the session has no turn yet
  if (!turn || turn.status === 'running' || session.busy || session.sessionId !== sessionId) return;
  const params = { sessionId, seq: 0, replay: true, turnId: turn.turnId, turn };
  panel.post({ type: 'events', events: [{ method: 'agent/turn/completed', params }] });
}

/**
 * Requests the checkpoints and jobs, and sends them to the panel. There are no notifications for
 * them.
 */
async function refresh({ daemon, session, checkpoints, panel }: Parts): Promise<Checkpoint[]> {
  const sessionId = session.sessionId;
  if (!sessionId || daemon.state !== 'running') return [];
  const found = await checkpoints.list().catch(() => []);
  panel.post({ type: 'checkpoints', checkpoints: found });
  await daemon.request('agent/job/list', { sessionId }).then(
    ({ jobs }) => panel.post({ type: 'jobs', jobs }),
    () => {},
  );
  return found;
}

/**
 * Sends a proposal to the panel. If it no longer exists, the panel shows the edit that the tool
 * call requested.
 */
async function tellProposal({ daemon, panel }: Parts, proposalId: string): Promise<void> {
  const found = await daemon.request('agent/proposal/get', { proposalId }).catch(() => undefined);
  if (found) panel.post({ type: 'proposal', proposal: found.proposal });
}

/** Ends a job and removes it from the panel, because no notification reports the end of a job. */
async function killJob({ daemon, session, panel }: Parts, jobId: string): Promise<void> {
  await daemon.request('agent/job/kill', { jobId });
  const sessionId = session.sessionId;
  if (!sessionId) return;
  const { jobs } = await daemon.request('agent/job/list', { sessionId });
  panel.post({ type: 'jobs', jobs: jobs.filter((job) => job.jobId !== jobId) });
}

async function handle(
  parts: Parts,
  message: FromPanel,
  tell: { state: () => void; waiting: () => void; keepTurn: () => void },
): Promise<unknown> {
  const { session, asks, daemon } = parts;
  switch (message.type) {
    case 'ready':
      parts.output.info(`panel: first paint after ${message.firstPaintMs.toFixed(0)} ms`);
      return ready(parts, tell);
    case 'prompt':
      return prompt(parts, message).catch((error: unknown) => {
        // Return the text to the input if it could not be sent, so that it is not lost.
        parts.panel.post({ type: 'insert', text: message.text, blocks: message.blocks });
        if (message.options) parts.panel.post({ type: 'options', options: message.options });
        throw error;
      });
    case 'abort':
      return message.itemId === undefined
        ? stop(parts, message.discard)
        : session.abort(message.itemId);
    case 'permission':
      return asks.answer(message.requestId, {
        optionId: message.optionId,
        feedback: message.feedback,
      });
    case 'answer':
      return asks.answer(
        message.requestId,
        message.answer === undefined ? { declined: true } : { answer: message.answer },
      );
    case 'command':
      return allowed.test(message.command)
        ? vscode.commands.executeCommand(message.command, ...message.args)
        : undefined;
    case 'complete':
      return parts.panel.post({
        type: 'completions',
        query: message.query,
        items: await parts.surroundings.complete(message.query),
      });
    case 'proposal':
      return tellProposal(parts, message.proposalId);
    case 'open':
      return open(message.uri, message.line);
    case 'link':
      return link(message.href);
    case 'copy':
      return vscode.env.clipboard.writeText(message.text);
    case 'insertText':
      return insert(parts, message.text);
    case 'removeQueued':
      return (
        session.sessionId &&
        daemon.request('agent/queue/remove', {
          sessionId: session.sessionId,
          messageId: message.messageId,
        })
      );
    case 'resend':
      return resend(parts, message.itemId, message.text);
    case 'fork':
      return session.sessionId && parts.sessions.fork(session.sessionId, message.itemId);
    case 'pin':
      return (
        session.sessionId &&
        daemon.request('agent/session/update', {
          sessionId: session.sessionId,
          [message.on ? 'pin' : 'unpin']: [message.itemId],
        })
      );
    case 'keepTurn':
      return tell.keepTurn();
    case 'killJob':
      return killJob(parts, message.jobId);
    case 'measured':
      return parts.output.info(`panel: ${JSON.stringify(message.figures)}`);
  }
}

async function ready(parts: Parts, tell: { state: () => void }): Promise<void> {
  tell.state();
  await parts.setup.check();
  if (parts.session.sessionId) await parts.session.reload();
}

async function prompt(
  parts: Parts,
  { text, blocks, delivery, options }: Extract<FromPanel, { type: 'prompt' }>,
): Promise<unknown> {
  const { session } = parts;
  if (text === '/new') return session.create();
  if (text === '/sessions') return parts.sessions.show();
  if (text === '/options') return vscode.commands.executeCommand('agentLsp.promptOptions');
  if (text === '/compact' || text.startsWith('/compact '))
    return vscode.commands.executeCommand('agentLsp.compact', text.slice('/compact '.length));
  const content: string | ContentBlock[] =
    blocks.length === 0 ? text : [{ type: 'text', text }, ...blocks];
  if (delivery === 'queue')
    return session.prompt(content, 'queue', parts.surroundings.prompt(), options);
  return session.send(content, parts.surroundings.prompt(), options);
}

/**
 * Sends a changed version of an earlier message. The new version is sent in a fork that ends before
 * the original message, so that no message is lost.
 */
async function resend(parts: Parts, itemId: string, text: string): Promise<void> {
  const { session, daemon, sessions } = parts;
  const sessionId = session.sessionId;
  if (!sessionId) return;
  if (session.busy && !(await stop(parts))) return;
  await daemon.request('agent/turn/wait', { sessionId, timeoutMs: 5000 }).catch(() => undefined);
  await sessions.forkBefore(sessionId, itemId);
  await session.prompt(text);
}

async function open(uri: string, line = 0): Promise<void> {
  const target = vscode.Uri.parse(uri);
  if (target.scheme !== 'file' && target.scheme !== 'untitled') return;
  await vscode.window.showTextDocument(target, {
    selection: new vscode.Range(line, 0, line, 0),
    preview: true,
  });
}

async function link(href: string): Promise<void> {
  if (outside.test(href)) return void (await vscode.env.openExternal(vscode.Uri.parse(href)));
  const folder = vscode.workspace.workspaceFolders?.[0];
  const [, file = '', line] = /^([^#:?]+)(?:(?::|#L)(\d+)(?::\d+)?)?$/.exec(href) ?? [];
  if (!folder || !file || file.split('/').includes('..')) return;
  const target = file.startsWith('/')
    ? folder.uri.with({ path: file })
    : vscode.Uri.joinPath(folder.uri, file);
  if (vscode.workspace.getWorkspaceFolder(target))
    await open(target.toString(), line ? Number(line) - 1 : 0);
}

async function insert({ surroundings }: Parts, text: string): Promise<void> {
  const editor = surroundings.editor;
  if (!editor) return void vscode.window.setStatusBarMessage('No editor is open.', 4000);
  await editor.edit((edit) => edit.replace(editor.selection, text));
}

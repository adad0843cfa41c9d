// Defines every command of the extension by its id. The ids must not change.
import * as vscode from 'vscode';
import { fixPrompt, selectionPrompts, type FixTarget } from './actions';
import type { Asks } from './asks';
import type { Checkpoints } from './checkpoints';
import type { Choices, Span } from './choices';
import type { Daemon } from './client';
import type { Surroundings } from './context';
import type { Demo } from './demo';
import { diagnosticsOf } from './editor';
import type { Panel } from './panel';
import type { Pickers } from './pickers';
import type { ContentBlock } from './protocol';
import type { ReviewCommands } from './review/commands';
import type { Proposals } from './review/proposals';
import type { SessionControl } from './session';
import type { SessionList } from './sessions';
import type { Setup } from './setup';
import { stop } from './stop';

export interface Parts {
  daemon: Daemon;
  session: SessionControl;
  asks: Asks;
  proposals: Proposals;
  review: ReviewCommands;
  panel: Panel;
  surroundings: Surroundings;
  setup: Setup;
  output: vscode.LogOutputChannel;
  trace: vscode.OutputChannel;
  sessions: SessionList;
  pickers: Pickers;
  choices: Choices;
  demo: Demo;
  checkpoints: Checkpoints;
}

const releases = 'https://github.com/agent-lsp/agent-lsp/releases';

type Run = (...args: never[]) => unknown;

export function commandTable(parts: Parts): [string, Run][] {
  const { session, review, panel, pickers, choices, checkpoints, sessions } = parts;
  const guarded =
    (run: (...args: never[]) => Promise<unknown>): Run =>
    (...args) =>
      tellFailure(parts, run(...args));
  const table: Record<string, Run> = {
    'agentLsp.prompt': guarded((text?: string) => promptCommand(parts, text)),
    'agentLsp.promptInline': guarded(() => promptInline(parts)),
    'agentLsp.steer': guarded((text?: string) =>
      withText('Send a message to the running agent', text, (t) => session.steer(t)),
    ),
    'agentLsp.queue': guarded((text?: string) =>
      withText('Queue a prompt for the end of the turn', text, (t) =>
        session.prompt(t, 'queue', parts.surroundings.prompt()),
      ),
    ),
    'agentLsp.abort': guarded(() => stop(parts)),
    'agentLsp.continue': guarded(async () =>
      parts.daemon.request('agent/continue', { sessionId: await session.ensure() }),
    ),
    'agentLsp.newSession': guarded(() => session.create().then(() => panel.reveal(true))),
    'agentLsp.sessions': guarded(() => sessions.show()),
    'agentLsp.exportSession': guarded(async () => sessions.export(await session.ensure())),
    'agentLsp.acceptHunk': guarded((target?: never) => review.decideHunk('accept', target)),
    'agentLsp.rejectHunk': guarded((target?: never) => review.decideHunk('reject', target)),
    'agentLsp.acceptFile': guarded((target?: never) => review.decideFile('accept', target)),
    'agentLsp.rejectFile': guarded((target?: never) => review.decideFile('reject', target)),
    'agentLsp.acceptAll': guarded((of?: never) => review.decideAll('accept', of)),
    'agentLsp.rejectAll': guarded((of?: never) => review.decideAll('reject', of)),
    'agentLsp.commentHunk': guarded((target?: never) => review.comment(target)),
    'agentLsp.nextHunk': guarded(() => review.step(1)),
    'agentLsp.previousHunk': guarded(() => review.step(-1)),
    'agentLsp.hunkMenu': guarded((ref: never) => review.menu(ref)),
    'agentLsp.openHunk': guarded((ref: never) => review.openHunk(ref)),
    'agentLsp.review': guarded((of?: never) => review.review(of)),
    'agentLsp.showDiff': guarded((target?: never) => review.showDiff(target)),
    'agentLsp.restoreCheckpoint': guarded(checkpoints.restore.bind(checkpoints)),
    'agentLsp.redoRestore': guarded(checkpoints.redo.bind(checkpoints)),
    'agentLsp.diffCheckpoint': guarded((id?: string) => checkpoints.diff(id)),
    'agentLsp.compact': guarded((instructions?: string) => compact(parts, instructions)),
    'agentLsp.selectModel': guarded(() => pickers.model()),
    'agentLsp.promptOptions': guarded(() => promptOptions(parts)),
    'agentLsp.selectMode': guarded(() => pickers.mode()),
    'agentLsp.selectEditPolicy': guarded(() => pickers.policy()),
    'agentLsp.applyEditsFirst': guarded((span: Span) =>
      choices.set({ editPolicy: 'review' }, span),
    ),
    'agentLsp.keepAsking': guarded(() => choices.keepAsking()),
    'agentLsp.selectPermissions': guarded(() => pickers.permissions()),
    'agentLsp.fixDiagnostic': guarded((target?: FixTarget) => fixDiagnostic(parts, target)),
    'agentLsp.addSelection': guarded(() => addSelection(parts)),
    'agentLsp.insertIntoPrompt': (text: string) => panel.post({ type: 'insert', text, blocks: [] }),
    'agentLsp.chooseProvider': guarded(() => parts.setup.choose()),
    'agentLsp.setApiKey': guarded(() => parts.setup.key()),
    'agentLsp.locateProgram': guarded(() => locateProgram(parts)),
    'agentLsp.downloadProgram': () => vscode.env.openExternal(vscode.Uri.parse(releases)),
    'agentLsp.openSettings': (...names: string[]) => openSettings(names),
    'agentLsp.walkthrough': () =>
      vscode.commands.executeCommand(
        'workbench.action.openWalkthrough',
        'agent-lsp.agent-lsp#agentLsp.start',
      ),
    'agentLsp.tryDemo': guarded(() => parts.demo.start()),
    'agentLsp.endDemo': guarded(() => parts.demo.end()),
    'agentLsp.demo': guarded(() => demoInTerminal(parts)),
    'agentLsp.restartServer': guarded(() => parts.daemon.restart()),
    'agentLsp.showLog': () => parts.output.show(true),
    'agentLsp.showTrace': () => showTrace(parts),
    'agentLsp.findModel': guarded(() => pickers.find()),
  };
  for (const id of Object.keys(selectionPrompts))
    table[id] = guarded(() => askAboutSelection(parts, selectionPrompts[id] ?? ''));
  return Object.entries(table);
}

/**
 * Waits for the work. An error is shown in the panel or, if the panel is not visible, in a message.
 */
async function tellFailure({ session, panel }: Parts, work: Promise<unknown>): Promise<unknown> {
  try {
    const result = await work;
    session.settle(undefined);
    return result;
  } catch (error) {
    if (panel.visible) return session.guard(Promise.reject(error));
    return void vscode.window.showErrorMessage((error as Error).message ?? String(error));
  }
}

/** Opens all settings, or only those with the given names. */
function openSettings(names: string[]): Thenable<unknown> {
  const query =
    names.length > 0
      ? `@id:${names.map((name) => `agentLsp.${name}`).join(',')}`
      : '@ext:agent-lsp.agent-lsp';
  // In a remote window, VS Code shows machine-scoped settings only in the remote settings.
  const command = names.length > 0 && vscode.env.remoteName ? 'openRemoteSettings' : 'openSettings';
  return vscode.commands.executeCommand(`workbench.action.${command}`, { query });
}

/** Asks the user to locate the program, and stores the program's path in the setting. */
async function locateProgram({ daemon }: Parts): Promise<void> {
  const chosen = await vscode.window.showOpenDialog({
    title: 'Locate the agent-lsp program',
    openLabel: 'Use this program',
    canSelectMany: false,
  });
  const file = chosen?.[0]?.fsPath;
  if (!file) return;
  await vscode.workspace
    .getConfiguration('agentLsp')
    .update('server.path', file, vscode.ConfigurationTarget.Global);
  await daemon.restart();
}

async function promptCommand(
  { session, panel, surroundings }: Parts,
  text?: string,
): Promise<void> {
  await panel.reveal(text === undefined);
  if (text !== undefined) await session.send(text, surroundings.prompt());
}

async function withText(
  prompt: string,
  text: string | undefined,
  run: (text: string) => Promise<void>,
): Promise<void> {
  const given = text ?? (await vscode.window.showInputBox({ prompt }));
  if (given) await run(given);
}

async function promptOptions({ pickers, panel }: Parts): Promise<void> {
  const options = await pickers.promptOptions();
  await panel.reveal(true);
  if (options) panel.post({ type: 'options', options });
}

/**
 * Asks the user for a prompt at the cursor. The answer appears as pending changes in the buffer.
 */
async function promptInline({ session, surroundings }: Parts): Promise<void> {
  const editor = surroundings.editor;
  const where = editor
    ? `${vscode.workspace.asRelativePath(editor.document.uri)}:${editor.selection.start.line + 1}`
    : '';
  const text = await vscode.window.showInputBox({
    title: 'Ask the agent',
    prompt: where && `About ${where}`,
    placeHolder: 'What should change here?',
  });
  if (!text) return;
  const selection = surroundings.selection();
  const block: ContentBlock | undefined = selection ?? (editor && cursorBlock(editor));
  await session.send(block ? [{ type: 'text', text }, block] : text, surroundings.prompt());
}

function cursorBlock(editor: vscode.TextEditor): ContentBlock {
  const at = editor.selection.active;
  const position = { line: at.line, character: at.character };
  return {
    type: 'resource',
    uri: editor.document.uri.toString(),
    range: { start: position, end: position },
  };
}

async function askAboutSelection(
  { session, panel, surroundings }: Parts,
  text: string,
): Promise<void> {
  const selection = surroundings.selection();
  if (!selection) return void vscode.window.setStatusBarMessage('Select some code first.', 4000);
  await panel.reveal(false);
  await session.send([{ type: 'text', text }, selection], surroundings.prompt());
}

async function addSelection({ panel, surroundings }: Parts): Promise<void> {
  const selection = surroundings.selection();
  await panel.reveal(true);
  if (selection) panel.post({ type: 'insert', text: '', blocks: [selection] });
}

async function fixDiagnostic(
  { session, panel, surroundings }: Parts,
  target?: FixTarget,
): Promise<void> {
  const editor = surroundings.editor;
  const at = target ?? (editor && problemsAtCursor(editor));
  if (!at || at.diagnostics.length === 0)
    return void vscode.window.setStatusBarMessage('No problem at the cursor.', 4000);
  await panel.reveal(false);
  await session.send(fixPrompt(at), {
    uri: at.uri.toString(),
    diagnostics: diagnosticsOf(at.diagnostics),
  });
}

/**
 * Returns the problems at the cursor or in the selection. If there are none, it returns the
 * problems in the cursor's lines.
 */
function problemsAtCursor({ document, selection }: vscode.TextEditor): FixTarget {
  const all = vscode.languages.getDiagnostics(document.uri);
  const touched = all.filter((d) => d.range.intersection(selection) !== undefined);
  const lines = new vscode.Range(
    selection.start.line,
    0,
    selection.end.line,
    Number.MAX_SAFE_INTEGER,
  );
  return {
    uri: document.uri,
    diagnostics:
      touched.length > 0 ? touched : all.filter((d) => d.range.intersection(lines) !== undefined),
  };
}

async function compact({ daemon, session }: Parts, instructions?: string): Promise<void> {
  const { tokensBefore, tokensAfter } = await daemon.request('agent/compact', {
    sessionId: await session.ensure(),
    instructions: instructions || undefined,
  });
  const done =
    tokensAfter < tokensBefore
      ? `${tokensBefore} → ${tokensAfter} tokens`
      : `${tokensBefore} tokens, nothing to compact`;
  vscode.window.setStatusBarMessage(`Context: ${done}`, 5000);
}

/**
 * Shows the messages between the editor and the daemon. If they are not logged, it offers to log
 * them.
 */
async function showTrace({ trace }: Parts): Promise<void> {
  const configuration = vscode.workspace.getConfiguration('agentLsp');
  if (configuration.get('trace.server', 'off') === 'off') {
    const choice = await vscode.window.showInformationMessage(
      'Messages between the editor and the daemon are not being logged.',
      'Log them',
    );
    if (!choice) return;
    await configuration.update('trace.server', 'verbose', vscode.ConfigurationTarget.Global);
  }
  trace.show(true);
}

/**
 * Runs the demo, which needs no key, in a terminal. The terminal runs a shell, because VS Code
 * closes a terminal when its program succeeds, and the user could not read the end of the output.
 */
async function demoInTerminal({ daemon }: Parts): Promise<void> {
  const file = daemon.locate();
  const shell =
    process.platform === 'win32'
      ? { shellPath: process.env.ComSpec ?? 'cmd.exe', shellArgs: `/d /k ""${file}" demo"` }
      : {
          shellPath: '/bin/sh',
          shellArgs: [
            '-c',
            '"$1" demo; printf "\\nPress Enter to close this terminal. "; read -r _',
            'sh',
            file,
          ],
        };
  vscode.window.createTerminal({ name: 'agent-lsp demo', ...shell }).show();
}

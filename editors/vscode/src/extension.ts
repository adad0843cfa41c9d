// Connects the modules. This is the entry point of the extension. It does not start the daemon.
import * as vscode from 'vscode';
import { AgentActions } from './actions';
import { Asks } from './asks';
import { Checkpoints } from './checkpoints';
import { Choices } from './choices';
import { Daemon } from './client';
import { commandTable, type Parts } from './commands';
import { Surroundings } from './context';
import { Demo } from './demo';
import * as editor from './editor';
import { FolderQuestion } from './folders';
import { Panel } from './panel';
import { connectPanel } from './panelbridge';
import { Pickers } from './pickers';
import { ReviewCommands } from './review/commands';
import { Decorations } from './review/decorations';
import { proposedScheme, SideDocuments } from './review/documents';
import { HunkLenses } from './review/lenses';
import { Proposals } from './review/proposals';
import { watchReviewTab } from './review/tab';
import { HunkThreads } from './review/threads';
import { PendingBadges, PendingTree } from './review/tree';
import { SessionControl } from './session';
import { SessionList } from './sessions';
import { settingsForDaemon } from './settings';
import { Setup } from './setup';
import { StatusBar } from './status';
import { TraceChannel } from './trace';

let daemon: Daemon | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const output = vscode.window.createOutputChannel('agent-lsp', { log: true });
  const trace = new TraceChannel();
  const asks = new Asks();
  let review: ReviewCommands | undefined;
  const folders = new FolderQuestion(context.workspaceState);
  daemon = new Daemon({
    extensionDir: context.extensionUri.fsPath,
    output,
    trace,
    settings: () => settingsForDaemon(context.extension.packageJSON as never),
    environment: () =>
      vscode.workspace.getConfiguration('agentLsp').get<Record<string, string>>('server.env', {}),
    mayStart: (again) => folders.ask(again),
    wholeFolders: () => folders.agreed,
    answers: {
      'agent/requestPermission': (params, token) => asks.permission(params, token),
      'agent/ask': (params, token) => asks.ask(params, token),
      'agent/editor/query': editor.query,
      'agent/editor/save': editor.save,
      'agent/editor/reveal': editor.reveal,
      'agent/editor/showDiff': async ({ uri }) => ({
        opened: (await review?.showDiff(vscode.Uri.parse(uri), true)) ?? false,
      }),
    },
  });
  const session = new SessionControl(daemon, context.workspaceState);
  const proposals = new Proposals(daemon);
  const sides = new SideDocuments(proposals, () => session.ensure());
  const threads = new HunkThreads(proposals);
  review = new ReviewCommands(proposals, sides, threads);
  const surroundings = new Surroundings(daemon);
  const panel = new Panel(context.extensionUri, (message) => bridge.receive(message));
  const choices = new Choices(session, context.globalState);
  const demo = new Demo(context.asAbsolutePath('media/demo'), daemon, session, proposals, panel);
  const parts: Parts = {
    daemon,
    session,
    asks,
    proposals,
    review,
    panel,
    surroundings,
    output,
    trace,
    sessions: new SessionList(daemon, session),
    pickers: new Pickers(daemon, session, choices),
    choices,
    demo,
    setup: new Setup(daemon, session, choices, () => panel.reveal(true)),
    checkpoints: new Checkpoints(daemon, session, () => panel.visible),
  };
  const bridge = connectPanel(parts);
  context.subscriptions.push(
    output,
    trace,
    asks,
    daemon,
    session,
    proposals,
    sides,
    threads,
    surroundings,
    panel,
    bridge,
    parts.checkpoints,
    new Decorations(proposals),
    new StatusBar(session, asks, proposals, panel),
    ...providers(proposals, sides, panel),
    ...commandTable(parts).map(([id, run]) => vscode.commands.registerCommand(id, run)),
    vscode.workspace.onDidChangeConfiguration(
      (event) => event.affectsConfiguration('agentLsp') && void configured(parts),
    ),
    vscode.workspace.onDidGrantWorkspaceTrust(() => void daemon?.configure()),
  );
}

/** Sends the changed settings to the daemon, and checks whether they set up a provider. */
async function configured({ daemon, setup, session }: Parts): Promise<void> {
  if (daemon.state !== 'running') return;
  await daemon.configure();
  await session.guard(setup.check());
}

function providers(proposals: Proposals, sides: SideDocuments, panel: Panel): vscode.Disposable[] {
  const lenses = new HunkLenses(proposals, sides);
  const tree = new PendingTree(proposals);
  const badges = new PendingBadges(proposals);
  const files = [{ scheme: 'file' }, { scheme: 'untitled' }];
  return [
    lenses,
    tree,
    badges,
    vscode.window.registerWebviewViewProvider(Panel.id, panel),
    vscode.languages.registerCodeLensProvider([...files, { scheme: proposedScheme }], lenses),
    watchReviewTab(),
    vscode.languages.registerCodeActionsProvider(files, new AgentActions(), {
      providedCodeActionKinds: AgentActions.kinds,
    }),
    vscode.window.createTreeView('agentLsp.pending', { treeDataProvider: tree }),
    vscode.window.registerFileDecorationProvider(badges),
  ];
}

export async function deactivate(): Promise<void> {
  await daemon?.stop();
}

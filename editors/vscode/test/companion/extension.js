// Prepares tests with the editor's own commands, and waits for each of them. For example, it opens
// a file, closes editors, or starts a daemon with another script. This is faster than keys and
// deterministic. The tested actions themselves are performed as a user performs them.
const fs = require('node:fs');
const net = require('node:net');
const vscode = require('vscode');

const page = `<!doctype html><title>empty</title><body><script>
  requestAnimationFrame(() => requestAnimationFrame(() => { document.body.dataset.firstPaint = performance.now().toFixed(0); }));
</script></body>`;

function emptyWebview() {
  vscode.window.createWebviewPanel(
    'emptyWebview',
    'Empty webview',
    { viewColumn: vscode.ViewColumn.One, preserveFocus: true },
    { enableScripts: true },
  ).webview.html = page;
}

/** Closes all editors. Unsaved changes are lost. */
async function closeEditors() {
  for (const group of vscode.window.tabGroups.all) {
    for (const tab of group.tabs) {
      const uri = tab.input?.uri ?? tab.input?.modified;
      if (!tab.isDirty || !uri) continue;
      await vscode.window.showTextDocument(uri);
      await vscode.commands.executeCommand('workbench.action.revertAndCloseActiveEditor');
    }
  }
  await vscode.commands.executeCommand('workbench.action.closeAllEditors');
}

/**
 * Reports whether VS Code fires a diagnostics event for a file that has no diagnostics before or
 * after a change.
 */
async function toldOfCleanFile(file, within) {
  const document = await vscode.workspace.openTextDocument(vscode.Uri.file(file));
  await vscode.window.showTextDocument(document, { preview: false });
  let watched;
  const told = new Promise((done) => {
    watched = vscode.languages.onDidChangeDiagnostics(
      ({ uris }) => uris.some((uri) => uri.toString() === document.uri.toString()) && done(true),
    );
    setTimeout(done, within, false);
  });
  const edit = new vscode.WorkspaceEdit();
  edit.insert(document.uri, document.lineAt(document.lineCount - 1).range.end, ' ');
  await vscode.workspace.applyEdit(edit);
  const yes = await told;
  watched.dispose();
  return yes && vscode.languages.getDiagnostics(document.uri).length === 0;
}

const own = {
  toldOfCleanFile,
  closeEditors,
  configure: (key, value) =>
    vscode.workspace
      .getConfiguration()
      .update(key, value ?? undefined, vscode.ConfigurationTarget.Global),
  openFile: (file) =>
    vscode.window.showTextDocument(vscode.Uri.file(file), { preview: false }).then(() => undefined),
  /**
   * Returns the number of results of a command that queries language servers. The argument is the
   * path of a file or, if it does not begin with a slash, text.
   */
  count: async (command, argument) =>
    (
      (await vscode.commands.executeCommand(
        command,
        argument.startsWith('/') ? vscode.Uri.file(argument) : argument,
      )) ?? []
    ).length,
  folders: () => vscode.workspace.workspaceFolders?.length ?? 0,
  remote: () => ({
    name: vscode.env.remoteName ?? '',
    kind: vscode.extensions.getExtension('agent-lsp.agent-lsp')?.extensionKind,
    pid: process.pid,
    active: vscode.extensions.getExtension('agent-lsp.agent-lsp')?.isActive,
  }),
};

async function answer(line) {
  try {
    const { command, args = [] } = JSON.parse(line);
    const result = await (own[command]
      ? own[command](...args)
      : vscode.commands.executeCommand(command, ...args));
    return { result: typeof result === 'object' && !own[command] ? undefined : result };
  } catch (error) {
    return { error: String(error?.stack ?? error) };
  }
}

/** Reads one line from a connection, writes one line to it, and closes it. */
function serve(socket) {
  let text = '';
  socket.on('error', () => {});
  socket.setEncoding('utf8').on('data', async (data) => {
    text += data;
    if (text.endsWith('\n')) socket.end(`${JSON.stringify(await answer(text))}\n`);
  });
}

exports.activate = (context) => {
  context.subscriptions.push(
    vscode.commands.registerCommand('companion.emptyWebview', emptyWebview),
  );
  const address = process.env.AGENT_LSP_TEST_SOCKET;
  if (!address) return;
  const server = net.createServer(serve);
  const fresh = `${address}.${process.pid}`;
  // The rename makes the address appear only when the server is listening.
  server.listen(fresh, () => fs.renameSync(fresh, address));
  context.subscriptions.push({ dispose: () => server.close() });
};

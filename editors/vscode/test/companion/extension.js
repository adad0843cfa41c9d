// Test preparations (opening a file, closing editors, a daemon with another script) use the
// editor's own commands and wait for each of them. This is faster than keys and deterministic. The
// tested actions are performed as a user performs them.
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
 * Reports whether diagnostics are reported for a file that has no diagnostics before and after a
 * change.
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
   * Returns the number of a language server's answers about the workspace or, if a path is given,
   * about a file.
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

/** Reads one line, writes one line, and closes the connection. */
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
  // The address appears in one step, so that a closed window leaves no partial file.
  server.listen(fresh, () => fs.renameSync(fresh, address));
  context.subscriptions.push({ dispose: () => server.close() });
};

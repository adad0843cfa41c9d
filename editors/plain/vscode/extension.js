// Provides a generic client for any language server, with one command that asks the user for a
// prompt.
const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

let client;

exports.activate = async (context) => {
  const command = vscode.workspace.getConfiguration('plain').get('server');
  client = new LanguageClient(
    'plain',
    'agent-lsp',
    { command },
    { documentSelector: [{ scheme: 'file' }, { scheme: 'untitled' }] },
  );
  const ask = async () => {
    const text = await vscode.window.showInputBox({ prompt: 'Agent' });
    if (text) await vscode.commands.executeCommand('agent.prompt', { text });
  };
  context.subscriptions.push(vscode.commands.registerCommand('plain.prompt', ask));
  await client.start();
};

exports.deactivate = () => client?.stop();

// Collects the context of a prompt: the selection, diagnostics, mentions and / commands.
import * as vscode from 'vscode';
import type { Daemon } from './client';
import { diagnosticsOf, rangeOf } from './editor';
import type { ContentBlock, PromptContext, SlashCommand } from './protocol';
import { counted } from './text';
import type { Completion } from './webview/messages';

const mostFiles = 20;

/**
 * Remembers the last editor that showed a file, because the panel has the focus when the user sends
 * a prompt.
 */
export class Surroundings implements vscode.Disposable {
  private last: vscode.TextEditor | undefined;
  private readonly subscription: vscode.Disposable;

  constructor(private readonly daemon: Daemon) {
    this.remember(vscode.window.activeTextEditor);
    this.subscription = vscode.window.onDidChangeActiveTextEditor((editor) =>
      this.remember(editor),
    );
  }

  get editor(): vscode.TextEditor | undefined {
    return this.last && vscode.window.visibleTextEditors.includes(this.last)
      ? this.last
      : vscode.window.activeTextEditor;
  }

  prompt(): PromptContext | undefined {
    const editor = this.editor;
    if (!editor || !isFile(editor.document.uri)) return undefined;
    const uri = editor.document.uri;
    return {
      uri: uri.toString(),
      selection: editor.selection.isEmpty ? undefined : rangeOf(editor.selection),
    };
  }

  selection(): ContentBlock | undefined {
    const editor = this.editor;
    if (!editor || editor.selection.isEmpty) return undefined;
    return {
      type: 'resource',
      uri: editor.document.uri.toString(),
      range: rangeOf(editor.selection),
      text: editor.document.getText(editor.selection),
      name: `${base(editor.document.uri)}:${editor.selection.start.line + 1}`,
    };
  }

  /** Returns the completions for an @ or / word. */
  async complete(query: string): Promise<Completion[]> {
    return query.startsWith('/') ? this.commands(query.slice(1)) : this.mentions(query.slice(1));
  }

  dispose(): void {
    this.subscription.dispose();
  }

  private remember(editor: vscode.TextEditor | undefined): void {
    if (editor && isFile(editor.document.uri)) this.last = editor;
  }

  private async commands(prefix: string): Promise<Completion[]> {
    const { commands } = await this.daemon.request('agent/command/list', {});
    const found = (commands as SlashCommand[]).map((c) => ({
      label: `/${c.name}`,
      detail: c.description ?? c.hint,
      insert: `/${c.name}`,
    }));
    const local = [
      { label: '/new', detail: 'New session', insert: '/new' },
      { label: '/compact', detail: 'Compact the context', insert: '/compact' },
      {
        label: '/options',
        detail: 'Model and thinking level for the next prompt',
        insert: '/options',
      },
      { label: '/sessions', detail: 'Earlier sessions', insert: '/sessions' },
    ];
    return [...local.filter((l) => !found.some((f) => f.label === l.label)), ...found].filter((c) =>
      c.label.slice(1).startsWith(prefix),
    );
  }

  private async mentions(query: string): Promise<Completion[]> {
    const [files, symbols] = await Promise.all([
      this.files(query),
      query.length > 1 ? this.symbols(query) : [],
    ]);
    return [...this.special(query), ...files, ...symbols];
  }

  private special(query: string): Completion[] {
    const out: Completion[] = [];
    const selection = this.selection();
    if (selection)
      out.push({
        label: '@selection',
        detail: selection.name,
        insert: '@selection',
        block: selection,
      });
    const problems = vscode.languages.getDiagnostics().filter(([, d]) => d.length > 0);
    if (problems.length > 0)
      out.push({
        label: '@diagnostics',
        detail: counted(problems.length, 'file'),
        insert: '@diagnostics',
        block: { type: 'text', text: problemText(problems) },
      });
    const open = openFiles();
    if (open.length > 0)
      out.push({
        label: '@editors',
        detail: counted(open.length, 'open file'),
        insert: '@editors',
        block: {
          type: 'text',
          text: `Open files:\n${open.map((u) => vscode.workspace.asRelativePath(u)).join('\n')}`,
        },
      });
    return out.filter((c) => c.label.slice(1).startsWith(query));
  }

  private async files(query: string): Promise<Completion[]> {
    const { files } = await this.daemon.request('agent/files/search', { query, limit: mostFiles });
    return files.map(({ uri }) => {
      const path = vscode.workspace.asRelativePath(vscode.Uri.parse(uri));
      return {
        label: base(vscode.Uri.parse(uri)),
        detail: path,
        insert: `@${path}`,
        block: { type: 'resource', uri },
      };
    });
  }

  private async symbols(query: string): Promise<Completion[]> {
    const found =
      (await vscode.commands.executeCommand<vscode.SymbolInformation[] | undefined>(
        'vscode.executeWorkspaceSymbolProvider',
        query,
      )) ?? [];
    return found.slice(0, 10).map(({ name, location }) => ({
      label: name,
      detail: `${vscode.workspace.asRelativePath(location.uri)}:${location.range.start.line + 1}`,
      insert: `@${name}`,
      block: { type: 'resource', uri: location.uri.toString(), range: rangeOf(location.range) },
    }));
  }
}

function isFile(uri: vscode.Uri): boolean {
  return uri.scheme === 'file' || uri.scheme === 'untitled';
}

function base(uri: vscode.Uri): string {
  return uri.path.split('/').pop() ?? uri.path;
}

function openFiles(): vscode.Uri[] {
  const tabs = vscode.window.tabGroups.all.flatMap((group) => group.tabs);
  return tabs.flatMap(({ input }) =>
    input instanceof vscode.TabInputText && isFile(input.uri) ? [input.uri] : [],
  );
}

function problemText(problems: [vscode.Uri, vscode.Diagnostic[]][]): string {
  const lines = problems.flatMap(([uri, found]) =>
    diagnosticsOf(found).map(
      (d) => `${vscode.workspace.asRelativePath(uri)}:${d.range.start.line + 1}: ${d.message}`,
    ),
  );
  return `Problems shown in the editor:\n${lines.slice(0, 200).join('\n')}`;
}

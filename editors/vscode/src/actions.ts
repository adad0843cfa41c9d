// Provides the code actions: "Fix with agent" for diagnostics, and prompts about a selection.
import * as vscode from 'vscode';
import { rangeOf } from './editor';

export interface FixTarget {
  uri: vscode.Uri;
  diagnostics: vscode.Diagnostic[];
}

/** Maps each selection command to its prompt. */
export const selectionPrompts: Record<string, string> = {
  'agentLsp.explainSelection': 'Explain this code.',
  'agentLsp.testSelection': 'Write tests for this code.',
  'agentLsp.documentSelection': 'Document this code where a reader would need it.',
};

export class AgentActions implements vscode.CodeActionProvider {
  static readonly kinds = [vscode.CodeActionKind.QuickFix, vscode.CodeActionKind.RefactorRewrite];

  provideCodeActions(
    document: vscode.TextDocument,
    range: vscode.Range,
    { diagnostics }: vscode.CodeActionContext,
  ): vscode.CodeAction[] {
    const actions: vscode.CodeAction[] = [];
    if (diagnostics.length > 0) {
      const fix = action(
        'Fix with agent',
        vscode.CodeActionKind.QuickFix,
        'agentLsp.fixDiagnostic',
        { uri: document.uri, diagnostics: [...diagnostics] } satisfies FixTarget,
      );
      fix.diagnostics = [...diagnostics];
      actions.push(fix);
    }
    if (!range.isEmpty) {
      actions.push(
        action(
          'Change with agent…',
          vscode.CodeActionKind.RefactorRewrite,
          'agentLsp.promptInline',
        ),
      );
      actions.push(
        action(
          'Explain with agent',
          vscode.CodeActionKind.RefactorRewrite,
          'agentLsp.explainSelection',
        ),
      );
    }
    return actions;
  }
}

function action(
  title: string,
  kind: vscode.CodeActionKind,
  command: string,
  ...args: unknown[]
): vscode.CodeAction {
  const made = new vscode.CodeAction(title, kind);
  made.command = { title, command, arguments: args };
  return made;
}

/** Returns the prompt that asks the agent to fix the diagnostics. */
export function fixPrompt({ uri, diagnostics }: FixTarget): string {
  const where = vscode.workspace.asRelativePath(uri);
  const lines = diagnostics.map(
    (d) =>
      `- line ${rangeOf(d.range).start.line + 1}: ${d.message}${d.source ? ` (${d.source})` : ''}`,
  );
  return `Fix ${diagnostics.length === 1 ? 'this problem' : 'these problems'} in ${where}:\n${lines.join('\n')}`;
}

// TypeScript's server repeats no diagnostics that have not changed, so its silence says nothing.
// Asked, it answers for the text as it is: where it has to say what is shown already, it has
// spoken.
import * as vscode from 'vscode';

/** A command of VS Code's own extension for it. */
const ask = 'typescript.tsserverRequest';
const kinds = ['syntacticDiagnosticsSync', 'semanticDiagnosticsSync'];

interface Reply {
  body?: { start: { line: number; offset: number }; text: string }[];
}

/** What the server's word on a document is worth: it agrees with what is shown, or it does not as yet. */
export type Word = 'agrees' | 'differs';

export function isScript({ languageId, uri }: vscode.TextDocument): boolean {
  return /^(java|type)script(react)?$/.test(languageId) && uri.scheme === 'file';
}

/** Asks about the present text of a document; nothing without an answer, or if the text has changed by then. */
export async function wordOn(document: vscode.TextDocument): Promise<Word | undefined> {
  if (!(await vscode.commands.getCommands(true)).includes(ask)) return undefined;
  const { version } = document;
  const asked = kinds.map((kind) =>
    vscode.commands.executeCommand<Reply | undefined>(ask, kind, { file: document.uri.fsPath }),
  );
  const replies = await Promise.all(asked).catch(() => []);
  const said = replies.map((reply) => reply?.body);
  if (said.length === 0 || said.includes(undefined) || document.version !== version)
    return undefined;
  const places = said
    .flatMap((found) => found ?? [])
    .map(({ start, text }) => placed(start.line - 1, start.offset - 1, text));
  return places.sort().join('\n') === shown(document.uri) ? 'agrees' : 'differs';
}

/** The diagnostics shown for the server, without the hints that it sends separately. */
export function shown(uri: vscode.Uri): string {
  const own = vscode.languages
    .getDiagnostics(uri)
    .filter(
      ({ source, severity }) =>
        /^(ts|js|javascript|typescript)$/.test(source ?? '') &&
        severity !== vscode.DiagnosticSeverity.Hint,
    );
  return own
    .map(({ range, message }) => placed(range.start.line, range.start.character, message))
    .sort()
    .join('\n');
}

function placed(line: number, character: number, text: string): string {
  return JSON.stringify([line, character, text]);
}

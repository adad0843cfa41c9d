// Queries TypeScript's server directly. The server does not repeat unchanged diagnostics, so the
// absence of a report means nothing. If the server's answer agrees with the diagnostics that are
// shown, the server has reported on the current text.
import * as vscode from 'vscode';

/** A command of VS Code's own TypeScript extension. */
const ask = 'typescript.tsserverRequest';
const kinds = ['syntacticDiagnosticsSync', 'semanticDiagnosticsSync'];

interface Reply {
  body?: { start: { line: number; offset: number }; text: string }[];
}

/** Whether the server's answer about a document agrees with the diagnostics that are shown. */
export type Word = 'agrees' | 'differs';

export function isScript({ languageId, uri }: vscode.TextDocument): boolean {
  return /^(java|type)script(react)?$/.test(languageId) && uri.scheme === 'file';
}

/**
 * Asks the server about the current text of a document. Returns undefined if there is no answer, or
 * if the text has changed in the meantime.
 */
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

/**
 * Returns the diagnostics from TypeScript's server that are shown for a document. Hints are
 * omitted, because the server sends them separately.
 */
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

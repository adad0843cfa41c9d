// Whether the editor's language servers have spoken of a document's present text. VS Code tells that diagnostics were set, but
// not by whom and of which version: the first time after a change counts.
import * as vscode from 'vscode';
import type { EditorSettle } from './protocol';

/** Milliseconds for which nothing more must have been told: other files follow the changed one. */
const calm = 250;
/** Milliseconds after which silence about a clean file counts: some servers do not repeat it. */
const silence = 1000;
/** A command of gopls that looks at all files at once; by itself it lets a second pass before the others. */
const lookNow = 'gopls.diagnose_files';

const changed = new Set<string>(); // documents changed since diagnostics of them were told
const heard = new Set<string>(); // languages of documents that diagnostics were told of
const mute = new Set<string>(); // languages waited for in vain, until they are heard
let toldAt = 0;
let waiting: (() => void)[] = [];
let watched: vscode.Disposable | undefined;

/** Begins to listen, with the first question. */
export function watch(): void {
  watched ??= vscode.Disposable.from(
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => void (contentChanges.length > 0 && changed.add(document.uri.toString()))),
    vscode.languages.onDidChangeDiagnostics(({ uris }) => told(uris.map(String))),
  );
}

function told(uris: string[]): void {
  toldAt = Date.now();
  for (const document of vscode.workspace.textDocuments) {
    if (!uris.includes(document.uri.toString())) continue;
    heard.add(document.languageId);
    mute.delete(document.languageId);
  }
  for (const uri of uris) changed.delete(uri);
  const woken = waiting;
  waiting = [];
  for (const wake of woken) wake();
}

/** Waits until the servers have spoken of these documents, bounded; says whether they did as far as this editor can tell. */
export async function settled({ uris, timeoutMs }: EditorSettle): Promise<boolean> {
  const began = Date.now();
  const documents = (await Promise.all(uris.map(open))).filter((d) => d !== undefined);
  await lookAtGo(documents, timeoutMs);
  for (;;) {
    const silent = documents.filter((d) => changed.has(d.uri.toString()) && !mute.has(d.languageId));
    const clean = silent.every((d) => vscode.languages.getDiagnostics(d.uri).length === 0);
    const until = silent.length === 0 ? Math.min(toldAt + calm, began + timeoutMs) : began + (clean ? Math.min(silence, timeoutMs) : timeoutMs);
    const left = until - Date.now();
    if (left <= 0) {
      giveUp(silent);
      return clean;
    }
    await Promise.race([new Promise<void>((wake) => waiting.push(wake)), delay(left)]);
  }
}

async function open(text: string): Promise<vscode.TextDocument | undefined> {
  const uri = vscode.Uri.parse(text);
  const shown = vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri.toString());
  if (!shown) changed.add(uri.toString()); // servers are told of it now
  return shown ?? (await Promise.resolve(vscode.workspace.openTextDocument(uri)).catch(() => undefined));
}

/** Lets gopls look, where its commands are known. */
async function lookAtGo(documents: vscode.TextDocument[], timeoutMs: number): Promise<void> {
  const files = documents.filter((d) => d.languageId === 'go').map((d) => d.uri.toString());
  if (files.length === 0 || !(await vscode.commands.getCommands(true)).includes(lookNow)) return;
  const looked = Promise.resolve(vscode.commands.executeCommand(lookNow, { Files: files })).then(
    () => files.forEach((uri) => changed.delete(uri)),
    () => undefined,
  );
  await Promise.race([looked, delay(timeoutMs)]);
}

/** Does not wait for the same again, nor for a language that nobody speaks about. */
function giveUp(documents: vscode.TextDocument[]): void {
  for (const { uri, languageId } of documents) {
    changed.delete(uri.toString());
    if (!heard.has(languageId)) mute.add(languageId);
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

// Tracks whether the editor's language servers have reported on a document's current text. VS Code
// reports that diagnostics were set, but not by which server or for which version. Therefore, the
// first report after a change is assumed to be about the current text.
import * as vscode from 'vscode';
import type { EditorSettle } from './protocol';
import { isScript, shown, wordOn, type Word } from './scripts';

/**
 * The number of milliseconds without another report after which the servers are considered to have
 * finished. Servers report on other files after the changed one.
 */
const calm = 250;
/**
 * The number of milliseconds after which silence about a clean file counts as a report, because
 * some servers do not repeat that a file is clean.
 */
const silence = 1000;
/**
 * A gopls command that checks files immediately. Otherwise, gopls waits a second before it checks
 * files other than the changed one.
 */
const lookNow = 'gopls.diagnose_files';

const changed = new Set<string>(); // documents that changed since their last diagnostics
const heard = new Set<string>(); // languages for which diagnostics have been reported
// Languages whose server has not reported in time. A report removes the language again.
const mute = new Set<string>();
// The last answer of TypeScript's server about a document's current text.
const words = new Map<string, Word>();
// Languages for which only TypeScript's server has reported during a long wait.
const alone = new Set<string>();
// The diagnostics that TypeScript's server last reported for a document.
const scripts = new Map<string, string>();
let toldAt = 0;
let waiting: (() => void)[] = [];
let watched: vscode.Disposable | undefined;

/** Starts to track the documents' changes and diagnostics. Later calls do nothing. */
export function watch(): void {
  if (watched) return;
  for (const [uri] of vscode.languages.getDiagnostics()) scripts.set(uri.toString(), shown(uri));
  watched = vscode.Disposable.from(
    vscode.workspace.onDidChangeTextDocument(
      ({ document, contentChanges }) =>
        void (contentChanges.length > 0 && stale(document.uri.toString())),
    ),
    vscode.languages.onDidChangeDiagnostics(({ uris }) => told(uris)),
  );
}

function stale(uri: string): void {
  changed.add(uri);
  words.delete(uri);
}

function told(uris: readonly vscode.Uri[]): void {
  toldAt = Date.now();
  const names = new Set(uris.map(String));
  for (const document of vscode.workspace.textDocuments) {
    if (!names.has(document.uri.toString())) continue;
    heard.add(document.languageId);
    mute.delete(document.languageId);
    if (isScript(document) && !isNews(document.uri)) alone.delete(document.languageId);
  }
  for (const uri of names) changed.delete(uri);
  wake();
}

/**
 * Reports whether the diagnostics from TypeScript's server have changed. If they have not, the
 * report came from another server.
 */
function isNews(uri: vscode.Uri): boolean {
  const before = scripts.get(uri.toString()) ?? '';
  const now = shown(uri);
  scripts.set(uri.toString(), now);
  return before !== now;
}

function wake(): void {
  const woken = waiting;
  waiting = [];
  for (const wakeUp of woken) wakeUp();
}

/**
 * Waits until the servers have reported on the documents, or until the timeout. Returns whether the
 * servers have reported, as far as VS Code can detect that.
 */
export async function settled({ uris, timeoutMs }: EditorSettle): Promise<boolean> {
  const began = Date.now();
  const documents = (await Promise.all(uris.map(open))).filter((d) => d !== undefined);
  await lookAtGo(documents, timeoutMs);
  for (const document of documents)
    if (isScript(document) && changed.has(document.uri.toString())) void askScripts(document);
  for (;;) {
    const silent = documents.filter(
      (d) => changed.has(d.uri.toString()) && !mute.has(d.languageId),
    );
    const clean = silent.every(isClean);
    const until = silent.every(isSpokenOf)
      ? Math.min(toldAt + calm, began + timeoutMs)
      : began + (clean ? Math.min(silence, timeoutMs) : timeoutMs);
    const left = until - Date.now();
    if (left <= 0) {
      giveUp(silent, Date.now() - began >= silence);
      return clean;
    }
    await Promise.race([new Promise<void>((wakeUp) => waiting.push(wakeUp)), delay(left)]);
  }
}

/**
 * Reports whether silence about a document can mean that nothing has changed. This is the case if
 * no diagnostics are shown for the document, or if its server confirms the diagnostics that are
 * shown.
 */
function isClean({ uri, languageId }: vscode.TextDocument): boolean {
  const word = words.get(uri.toString());
  if (word === 'differs' && heard.has(languageId)) return false;
  return word === 'agrees' || vscode.languages.getDiagnostics(uri).length === 0;
}

/**
 * Reports whether the answer from TypeScript's server is sufficient for a document, because no
 * other server needs to report on it.
 */
function isSpokenOf({ uri, languageId }: vscode.TextDocument): boolean {
  return words.get(uri.toString()) === 'agrees' && alone.has(languageId);
}

async function open(text: string): Promise<vscode.TextDocument | undefined> {
  const uri = vscode.Uri.parse(text);
  const present = vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri.toString());
  // The servers get the document only when it is opened below, so they have not reported on it yet.
  if (!present) stale(uri.toString());
  return (
    present ??
    (await Promise.resolve(vscode.workspace.openTextDocument(uri)).catch(() => undefined))
  );
}

async function askScripts(document: vscode.TextDocument): Promise<void> {
  const uri = document.uri.toString();
  const word = await wordOn(document);
  if (!word || !changed.has(uri)) return;
  words.set(uri, word);
  wake();
}

/** Makes gopls check the Go files, if its commands are available. */
async function lookAtGo(documents: vscode.TextDocument[], timeoutMs: number): Promise<void> {
  const files = documents.filter((d) => d.languageId === 'go').map((d) => d.uri.toString());
  if (files.length === 0 || !(await vscode.commands.getCommands(true)).includes(lookNow)) return;
  const looked = Promise.resolve(vscode.commands.executeCommand(lookNow, { Files: files })).then(
    () => files.forEach((uri) => changed.delete(uri)),
    () => undefined,
  );
  await Promise.race([looked, delay(timeoutMs)]);
}

/**
 * Stops waiting for documents without a report. If only TypeScript's server has answered during a
 * long wait, later calls do not wait for other servers. If no server has ever answered for a
 * language, later calls do not wait for it.
 */
function giveUp(documents: vscode.TextDocument[], long: boolean): void {
  for (const { uri, languageId } of documents) {
    const word = words.get(uri.toString());
    changed.delete(uri.toString());
    if (word === 'agrees' && long) alone.add(languageId);
    else if (!heard.has(languageId) && !word) mute.add(languageId);
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((done) => setTimeout(done, ms));
}

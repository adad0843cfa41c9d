// Tracks whether the editor's language servers have reported on a document's current text. VS Code
// reports that diagnostics were set, but not by which server or for which version. The first report
// after a change therefore counts.
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
 * A command of gopls that checks all files immediately. Otherwise, gopls waits for a second before
 * it checks the other files.
 */
const lookNow = 'gopls.diagnose_files';

const changed = new Set<string>(); // documents that changed since their last diagnostics
const heard = new Set<string>(); // languages of documents that had diagnostics
const mute = new Set<string>(); // languages whose server did not report in time, until it does
// The last answer of TypeScript's server about a document's current text.
const words = new Map<string, Word>();
// Languages for which no other server answered within a long wait.
const alone = new Set<string>();
// The diagnostics that TypeScript's server last reported for a document.
const scripts = new Map<string, string>();
let toldAt = 0;
let waiting: (() => void)[] = [];
let watched: vscode.Disposable | undefined;

/** Starts listening at the first question. */
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
 * Reports whether TypeScript's server reported something new. If it did not, another server did.
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
 * Waits, for a limited time, until the servers have reported on these documents. Returns whether
 * they did, as far as VS Code can detect that.
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
 * no diagnostics are shown for the document, or if its server confirms that the shown ones are
 * complete.
 */
function isClean({ uri, languageId }: vscode.TextDocument): boolean {
  const word = words.get(uri.toString());
  if (word === 'differs' && heard.has(languageId)) return false;
  return word === 'agrees' || vscode.languages.getDiagnostics(uri).length === 0;
}

/**
 * Reports whether the server's report is enough for a silent document, because there is no other
 * server to wait for.
 */
function isSpokenOf({ uri, languageId }: vscode.TextDocument): boolean {
  return words.get(uri.toString()) === 'agrees' && alone.has(languageId);
}

async function open(text: string): Promise<vscode.TextDocument | undefined> {
  const uri = vscode.Uri.parse(text);
  const present = vscode.workspace.textDocuments.find((d) => d.uri.toString() === uri.toString());
  if (!present) stale(uri.toString()); // notify the servers now
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

/** Makes gopls check all files, if its commands are available. */
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
 * Stops waiting for the same document. This applies to a language without a server and, after a
 * long wait, to other servers.
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

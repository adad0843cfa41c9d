// Handles the agent/editor requests: queries to the editor's own language servers, saving, and
// showing locations without taking the focus.
import * as vscode from 'vscode';
import type {
  Diagnostic,
  EditorQueryParams,
  EditorRevealParams,
  EditorRevealResult,
  EditorSaveParams,
  EditorSaveResult,
  Position,
  Range,
} from './protocol';
import { settled, watch } from './settle';

/** The maximum number of symbols and locations in one answer. */
const most = 1000;

export async function query(params: EditorQueryParams): Promise<unknown> {
  const uri = params.uri === undefined ? undefined : vscode.Uri.parse(params.uri);
  if (params.operation === 'diagnostics') return diagnostics(params, uri);
  if (params.operation === 'workspaceSymbol') return workspaceSymbols(params.query ?? '');
  if (!uri) throw new Error(`uri: ${params.operation} needs a document`);
  // A language server answers only for documents that it has received.
  await vscode.workspace.openTextDocument(uri);
  if (params.operation === 'documentSymbol')
    return (
      await run<(vscode.DocumentSymbol | vscode.SymbolInformation)[]>(
        'vscode.executeDocumentSymbolProvider',
        uri,
      )
    ).map(symbolOf);
  const at = new vscode.Position(params.position?.line ?? 0, params.position?.character ?? 0);
  return atPosition(params.operation, uri, at);
}

async function diagnostics({ settle }: EditorQueryParams, uri?: vscode.Uri): Promise<unknown> {
  watch();
  const word = settle && settle.timeoutMs > 0 ? { settled: await settled(settle) } : {};
  if (!uri) return { ...allDiagnostics(), ...word };
  const items = diagnosticsOf(vscode.languages.getDiagnostics(uri));
  // An empty list may mean that no server has reported, so it is not reported as settled.
  return settle ? { items, ...(items.length > 0 || word.settled === false ? word : {}) } : items;
}

async function atPosition(
  operation: string,
  uri: vscode.Uri,
  at: vscode.Position,
): Promise<unknown> {
  switch (operation) {
    case 'definition':
      return (await run<Place[]>('vscode.executeDefinitionProvider', uri, at)).map(placeOf);
    case 'references':
      return (await run<Place[]>('vscode.executeReferenceProvider', uri, at)).map(placeOf);
    case 'implementation':
      return (await run<Place[]>('vscode.executeImplementationProvider', uri, at)).map(placeOf);
    case 'hover':
      return hoverOf(await run<vscode.Hover[]>('vscode.executeHoverProvider', uri, at));
    case 'incomingCalls':
    case 'outgoingCalls':
      return calls(operation, uri, at);
    default:
      throw new Error(`operation: ${operation} is unknown`);
  }
}

async function run<T extends unknown[]>(command: string, ...args: unknown[]): Promise<T> {
  const result = await vscode.commands.executeCommand<T | undefined>(command, ...args);
  return (result ?? []).slice(0, most) as T;
}

type Place = vscode.Location | vscode.LocationLink;

function placeOf(place: Place): { uri: string; range: Range } {
  return 'targetUri' in place
    ? {
        uri: place.targetUri.toString(),
        range: rangeOf(place.targetSelectionRange ?? place.targetRange),
      }
    : { uri: place.uri.toString(), range: rangeOf(place.range) };
}

function positionOf({ line, character }: vscode.Position): Position {
  return { line, character };
}

export function rangeOf({ start, end }: vscode.Range): Range {
  return { start: positionOf(start), end: positionOf(end) };
}

function symbolOf(symbol: vscode.DocumentSymbol | vscode.SymbolInformation): unknown {
  const kind = symbol.kind + 1; // LSP numbers the kinds from 1
  if ('location' in symbol && !('children' in symbol))
    return {
      name: symbol.name,
      kind,
      containerName: symbol.containerName,
      location: placeOf(symbol.location),
    };
  const { name, detail, range, selectionRange, children } = symbol as vscode.DocumentSymbol;
  return {
    name,
    detail,
    kind,
    range: rangeOf(range),
    selectionRange: rangeOf(selectionRange),
    children: children.map(symbolOf),
  };
}

async function workspaceSymbols(text: string): Promise<unknown> {
  return (await run<vscode.SymbolInformation[]>('vscode.executeWorkspaceSymbolProvider', text)).map(
    ({ name, kind, containerName, location }) => ({
      name,
      kind: kind + 1,
      containerName,
      location: placeOf(location),
    }),
  );
}

function hoverOf(hovers: vscode.Hover[]): unknown {
  if (hovers.length === 0) return null;
  const text = (part: vscode.MarkdownString | vscode.MarkedString) =>
    typeof part === 'string'
      ? part
      : 'language' in part
        ? `\`\`\`${part.language}\n${part.value}\n\`\`\``
        : part.value;
  return {
    contents: {
      kind: 'markdown',
      value: hovers.flatMap((hover) => hover.contents.map(text)).join('\n\n'),
    },
  };
}

async function calls(operation: string, uri: vscode.Uri, at: vscode.Position): Promise<unknown> {
  const items = await run<vscode.CallHierarchyItem[]>('vscode.prepareCallHierarchy', uri, at);
  if (!items[0]) return [];
  if (operation === 'incomingCalls') {
    const found = await run<vscode.CallHierarchyIncomingCall[]>(
      'vscode.provideIncomingCalls',
      items[0],
    );
    return found.map((call) => ({
      from: callItem(call.from),
      fromRanges: call.fromRanges.map(rangeOf),
    }));
  }
  const found = await run<vscode.CallHierarchyOutgoingCall[]>(
    'vscode.provideOutgoingCalls',
    items[0],
  );
  return found.map((call) => ({ to: callItem(call.to), fromRanges: call.fromRanges.map(rangeOf) }));
}

function callItem({
  name,
  kind,
  detail,
  uri,
  range,
  selectionRange,
}: vscode.CallHierarchyItem): unknown {
  return {
    name,
    kind: kind + 1,
    detail,
    uri: uri.toString(),
    range: rangeOf(range),
    selectionRange: rangeOf(selectionRange),
  };
}

export function diagnosticsOf(diagnostics: readonly vscode.Diagnostic[]): Diagnostic[] {
  return diagnostics.map(({ range, severity, code, source, message }) => ({
    range: rangeOf(range),
    severity: severity + 1,
    code: typeof code === 'object' ? code.value : code,
    source,
    message,
  }));
}

function allDiagnostics(): Record<string, Diagnostic[]> {
  const found = vscode.languages
    .getDiagnostics()
    .filter(([, diagnostics]) => diagnostics.length > 0);
  return Object.fromEntries(
    found.slice(0, most).map(([uri, diagnostics]) => [uri.toString(), diagnosticsOf(diagnostics)]),
  );
}

/** Returns the names of the workspace's unsaved files, which are saved before a command runs. */
export function unsaved(): string[] {
  const { textDocuments } = vscode.workspace;
  return textDocuments
    .filter(({ isDirty, uri }) => isDirty && uri.scheme === 'file')
    .filter(({ uri }) => vscode.workspace.getWorkspaceFolder(uri))
    .map(({ uri }) => vscode.workspace.asRelativePath(uri))
    .sort();
}

export async function save({ uris }: EditorSaveParams): Promise<EditorSaveResult> {
  const result: EditorSaveResult = { saved: [], failed: [] };
  for (const uri of uris) {
    const wanted = vscode.Uri.parse(uri).toString();
    const document = vscode.workspace.textDocuments.find((d) => d.uri.toString() === wanted);
    const saved =
      document === undefined ||
      !document.isDirty ||
      (!document.isUntitled && (await document.save()));
    result[saved ? 'saved' : 'failed'].push(uri);
  }
  return result;
}

export async function reveal({ uri, range }: EditorRevealParams): Promise<EditorRevealResult> {
  const selection =
    range &&
    new vscode.Range(range.start.line, range.start.character, range.end.line, range.end.character);
  const target = vscode.Uri.parse(uri);
  const visible = vscode.window.visibleTextEditors.find(
    (editor) => editor.document.uri.toString() === target.toString(),
  );
  if (visible) {
    if (selection)
      visible.revealRange(selection, vscode.TextEditorRevealType.InCenterIfOutsideViewport);
    return { shown: true };
  }
  try {
    await vscode.window.showTextDocument(target, { preserveFocus: true, preview: true, selection });
    return { shown: true };
  } catch {
    return { shown: false };
  }
}

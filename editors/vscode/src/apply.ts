// Handles workspace/applyEdit. An edit is applied only to the version of the document for which it
// was made.
import type {
  ApplyWorkspaceEditParams,
  ApplyWorkspaceEditResult,
  WorkspaceEdit,
} from 'vscode-languageclient';

/** Returns the version of an open document, or undefined if the document is not open. */
export type OpenVersions = (uri: string) => number | undefined;

/** Returns the reason why an edit must not be applied, or undefined if it may be applied. */
export function refusal(edit: WorkspaceEdit, versions: OpenVersions): string | undefined {
  for (const change of edit.documentChanges ?? []) {
    if (!('textDocument' in change)) continue;
    const { uri, version } = change.textDocument;
    const open = versions(uri);
    if (version === null || version === undefined) continue;
    if (open === undefined)
      return `${uri} is not open, but the edit was made for version ${version}`;
    if (open !== version)
      return `${uri} has version ${open}, but the edit was made for version ${version}`;
  }
  return undefined;
}

/** Applies an edit, or refuses it and returns applied:false with the reason. */
export async function applyExactly(
  params: ApplyWorkspaceEditParams,
  versions: OpenVersions,
  apply: () => Promise<ApplyWorkspaceEditResult>,
): Promise<ApplyWorkspaceEditResult> {
  const reason = refusal(params.edit, versions);
  if (reason) return { applied: false, failureReason: reason };
  return apply();
}

// Reads the agentLsp.* settings in the form that the daemon expects. The user's settings are
// separate from the workspace's.
import * as vscode from 'vscode';
import type { Config } from './protocol';

const section = 'agentLsp';
/** Matches the settings of the client itself, which are not sent to the daemon. */
const own = /^agentLsp\.(server|trace|review|panel|notify)\./;

interface Manifest {
  contributes: { configuration: { properties: Record<string, unknown> }[] };
}

/** Returns the names of the settings that the daemon reads. */
export function configKeys({ contributes }: Manifest): string[] {
  const names = contributes.configuration.flatMap(({ properties }) => Object.keys(properties));
  return names.filter((name) => !own.test(name)).map((name) => name.slice(section.length + 1));
}

/**
 * Returns the user's settings for new sessions, or their defaults. They are shown until the window
 * has a session, because the daemon reports the values of existing sessions only.
 */
export function nextSession(): Config {
  const configuration = vscode.workspace.getConfiguration(section);
  const set = <K extends keyof Config>(key: K) => configuration.get<Config[K] | null>(key);
  return {
    editPolicy: set('editPolicy') ?? 'ask',
    permissions: { profile: set('permissions')?.profile ?? 'ask' },
  };
}

/** Returns the user's settings and, in a trusted workspace, the workspace's settings. */
export function settingsForDaemon(manifest: Manifest): { userSettings: Config } & Config {
  const configuration = vscode.workspace.getConfiguration(section);
  const user: Record<string, unknown> = {};
  const workspace: Record<string, unknown> = {};
  for (const key of configKeys(manifest)) {
    const found = configuration.inspect<unknown>(key);
    if (found?.globalValue !== undefined) user[key] = found.globalValue;
    const local = found?.workspaceFolderValue ?? found?.workspaceValue;
    if (local !== undefined && vscode.workspace.isTrusted) workspace[key] = local;
  }
  return { ...workspace, userSettings: user };
}

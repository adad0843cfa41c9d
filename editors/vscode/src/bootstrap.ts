// Finds the daemon's program: the path in the user's setting or, if the setting is empty, the
// binary bundled with the extension or a program on PATH.
import * as fs from 'node:fs';
import * as path from 'node:path';

export interface Places {
  setting: string;
  extensionDir: string;
  pathVariable: string;
  home: string;
  platform: NodeJS.Platform;
  isExecutable?: (file: string) => boolean;
}

export interface Found {
  file: string;
  source: 'setting' | 'bundled' | 'PATH';
}

/** The error that is thrown if the daemon's program is not found. */
export class NoProgramError extends Error {}

/**
 * Returns the daemon's path. If the program is not found, throws an error that says what the user
 * can do.
 */
export function findBinary(places: Places): Found {
  const executable = places.isExecutable ?? isExecutable;
  if (places.setting) {
    const file = expandHome(places.setting, places.home);
    if (executable(file)) return { file, source: 'setting' };
    throw new NoProgramError(
      `agentLsp.server.path names ${file}, which is not an executable file. Correct or clear the setting.`,
    );
  }
  const name = places.platform === 'win32' ? 'agent-lsp.exe' : 'agent-lsp';
  const bundled = path.join(places.extensionDir, 'bin', name);
  if (executable(bundled)) return { file: bundled, source: 'bundled' };
  for (const dir of places.pathVariable.split(places.platform === 'win32' ? ';' : ':')) {
    // Skip a relative entry, which would refer to the workspace's files.
    if (!path.isAbsolute(dir)) continue;
    const file = path.join(dir, name);
    if (executable(file)) return { file, source: 'PATH' };
  }
  throw new NoProgramError(
    'The agent-lsp program was not found. Locate it on this machine, add its folder to the PATH ' +
      'of your login shell, or download it. The .vsix package for your system includes it.',
  );
}

function expandHome(file: string, home: string): string {
  return file === '~' || file.startsWith('~/') ? path.join(home, file.slice(1)) : file;
}

function isExecutable(file: string): boolean {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

// Runs the unit tests. The tests are TypeScript, so each test is bundled, and the bundles are
// passed to `node --test`.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';

const root = path.join(import.meta.dirname, 'unit');
const out = fs.mkdtempSync(path.join(os.tmpdir(), 'agent-lsp-unit-'));
try {
  const entryPoints = fs
    .readdirSync(root)
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => path.join(root, name));
  const alias = { vscode: path.join(root, 'vscode.ts') };
  await build({
    entryPoints,
    alias,
    outdir: out,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node20',
    logLevel: 'warning',
    logOverride: { 'import-is-undefined': 'silent' }, // the fake has only parts of the editor's API
  });
  const files = fs.readdirSync(out).map((name) => path.join(out, name));
  process.exitCode =
    spawnSync(process.execPath, ['--test', ...files], {
      stdio: 'inherit',
      cwd: path.join(root, '..', '..'),
    }).status ?? 1;
} finally {
  fs.rmSync(out, { recursive: true, force: true });
}

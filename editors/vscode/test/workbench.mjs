// Runs a real VS Code workbench for the tests. It starts and ends a server process and a headless
// browser. Environment: VSCODE_TEST_DIR (the folder of setup.sh), CHROMIUM, KEEP=1 (keep the
// folder), WAIT (the limit of each wait in milliseconds), CONSOLE=1 (print the page's console).
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';

const cache = process.env.XDG_CACHE_HOME ?? path.join(os.homedir(), '.cache');
export const install = process.env.VSCODE_TEST_DIR ?? path.join(cache, 'agent-lsp-test', 'vscode');
const modules = path.join(install, 'node_modules');
const nodePackage = fs.readdirSync(modules).find((name) => name.startsWith('node-linux-'));
export const node24 = path.join(modules, nodePackage, 'bin', 'node');
export const codeServer = path.join(modules, 'code-server', 'out', 'node', 'entry.js');
export const vsce = path.join(modules, '@vscode', 'vsce', 'vsce');
const { chromium } = createRequire(install + '/')('playwright-core');

export const baseSettings = {
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
  'telemetry.telemetryLevel': 'off',
  'chat.disableAIFeatures': true,
  'extensions.autoCheckUpdates': false,
  'extensions.ignoreRecommendations': true,
  'update.mode': 'none',
  'editor.minimap.enabled': false,
  'files.autoSave': 'off',
  'git.enabled': false,
  // Other programs on the machine also listen on ports. A notice about them would cover the panel.
  'remote.autoForwardPorts': false,
};

/**
 * Settings that turn off features that move on their own or cover the text while the test types.
 * These features are not tested.
 */
export const calmSettings = {
  'workbench.reduceMotion': 'on',
  'editor.quickSuggestions': { other: 'off', comments: 'off', strings: 'off' },
  'editor.suggestOnTriggerCharacters': false,
  'editor.parameterHints.enabled': false,
  'editor.hover.enabled': 'off',
  'editor.lightbulb.enabled': 'off',
};

const browserArgs = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  ...(process.getuid() === 0 ? ['--no-sandbox'] : []),
];

/**
 * The host of requests that a test makes on purpose, to prove that the page's policy refuses them.
 * The browser may log such a request before it is refused.
 */
export const refusedHost = 'refused.invalid';

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Runs a command until it ends. If the command fails, throws an error with the command's output.
 */
export function command(file, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(file, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data) => (output += data));
    child.on('error', reject);
    child.on('close', (code) =>
      code === 0 ? resolve(output) : reject(new Error(`${file} ${args[0]}: ${code}\n${output}`)),
    );
  });
}

/**
 * Returns the environment of a server. It is the environment of this test without the variables of
 * VS Code and OpenAI. The folders for settings, data and sockets are in the test's folder.
 */
function cleanEnvironment(dir, extra) {
  const tmp = path.join(dir, 'tmp');
  fs.mkdirSync(tmp, { recursive: true, mode: 0o700 });
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([key]) => !/^(VSCODE_|OPENAI_)/.test(key)),
  );
  return {
    ...env,
    XDG_CONFIG_HOME: path.join(dir, 'config'),
    XDG_DATA_HOME: path.join(dir, 'share'),
    XDG_STATE_HOME: path.join(dir, 'state'),
    XDG_RUNTIME_DIR: tmp,
    TMPDIR: tmp,
    EXTENSIONS_GALLERY: '{}',
    ...extra,
  };
}

/**
 * Returns a free port outside the range that the system assigns to clients. A client could take a
 * port in that range before the server listens.
 */
async function freePort() {
  for (;;) {
    const port = 15000 + Math.floor(Math.random() * 15000);
    const free = await new Promise((resolve) => {
      const probe = net.createServer().on('error', () => resolve(false));
      probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
    });
    if (free) return port;
  }
}

/**
 * Waits until a condition is true. The deadline is long because the machine may be slow. A
 * condition that cannot be checked (because its page or process has just ended) is treated as not
 * true yet.
 */
export async function until(what, condition, limit = Number(process.env.WAIT ?? 180_000)) {
  const end = Date.now() + limit;
  for (;;) {
    let why = '';
    try {
      const result = await condition();
      if (result) return result;
    } catch (error) {
      why = `: ${error.message}`;
    }
    if (Date.now() > end) throw new Error(`waited ${limit} ms in vain: ${what}${why}`);
    await pause(50);
  }
}

const answers = (port) =>
  new Promise((resolve) => {
    http
      .get({ host: '127.0.0.1', port, path: '/healthz' }, (reply) => resolve(!!reply.resume()))
      .on('error', () => resolve(false));
  });

/**
 * Ends a process group that this test started. It sends SIGTERM and, after at most 3 s, SIGKILL.
 */
async function end(child) {
  const signal = (name) => {
    try {
      process.kill(-child.pid, name);
      return true;
    } catch {
      return false; // no process is left in the group
    }
  };
  signal('SIGTERM');
  for (let i = 0; i < 30 && signal(0); i++) await pause(100);
  signal('SIGKILL');
}

/**
 * Installs the packed extension (unless the test installs it), starts the server and browser, runs
 * the test, and ends both. If the test throws an error, the error is thrown again and the test's
 * folder is kept. `limit` is the maximum time between two laps.
 */
export async function withWorkbench(
  { vsix, env, settings, prepare = () => {}, installed = true, limit = 900_000 },
  body,
) {
  const start = Date.now();
  const lap = (text) => {
    bound.refresh();
    console.log(`${((Date.now() - start) / 1000).toFixed(1).padStart(6)} s  ${text}`);
  };
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'agent-lsp-vscode-'));
  const workspace = path.join(dir, 'workspace');
  for (const sub of ['User', 'Machine', 'extensions', 'workspace'])
    fs.mkdirSync(path.join(dir, sub));
  fs.writeFileSync(
    path.join(dir, 'User', 'settings.json'),
    JSON.stringify({ ...baseSettings, ...settings }),
  );
  fs.writeFileSync(path.join(dir, 'Machine', 'settings.json'), '{}');
  prepare({ dir, workspace, vsix });

  let child, browser, page;
  let ok = false;
  const stop = async () => {
    await browser?.close().catch(() => {});
    if (child) await end(child);
  };
  const abandon = async (why) => {
    console.error(why);
    await page?.screenshot({ path: path.join(dir, 'screen.png') }).catch(() => {});
    await stop();
    console.log(`left for a look: ${dir}`);
    process.exit(2);
  };
  const bound = setTimeout(abandon, limit, `no result after ${limit} ms`);
  for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, abandon);

  try {
    const socket = path.join(dir, 'companion.sock');
    const environment = cleanEnvironment(dir, { AGENT_LSP_TEST_SOCKET: socket, ...env?.(dir) });
    const folders = ['--extensions-dir', path.join(dir, 'extensions'), '--user-data-dir', dir];
    const beside = path.join(dir, 'companion.vsix');
    await command(
      node24,
      [
        vsce,
        'package',
        '--no-dependencies',
        '--allow-missing-repository',
        '--skip-license',
        '--out',
        beside,
      ],
      { env: environment, cwd: path.join(import.meta.dirname, 'companion') },
    );
    await command(
      node24,
      [
        codeServer,
        ...(installed ? ['--install-extension', vsix] : []),
        '--install-extension',
        beside,
        ...folders,
      ],
      { env: environment },
    );
    lap(installed ? 'extension installed' : 'extension laid ready');
    const port = await freePort();
    const log = fs.openSync(path.join(dir, 'server.log'), 'w');
    const args = [
      '--bind-addr',
      `127.0.0.1:${port}`,
      '--auth',
      'none',
      '--disable-telemetry',
      '--disable-update-check',
      '--disable-getting-started-override',
      ...folders,
      workspace,
    ];
    // The server has its own process group, so that its children can be ended with it. The output
    // goes to a file, because a pipe could be closed.
    child = spawn(node24, [codeServer, ...args], {
      env: environment,
      stdio: ['ignore', log, log],
      detached: true,
    });
    await until('the server answers', () => child.exitCode === null && answers(port));
    browser = await chromium.launch({
      executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
      args: browserArgs,
    });
    const context = await browser.newContext({
      viewport: { width: 1280, height: 800 },
      reducedMotion: 'reduce',
      permissions: ['clipboard-read', 'clipboard-write'],
    });
    context.setDefaultTimeout(Number(process.env.WAIT ?? 120_000));
    const outside = new Set();
    context.on('request', (request) => {
      const url = new URL(request.url());
      const own =
        url.hostname === refusedHost ||
        url.hostname === '127.0.0.1' ||
        url.hostname === 'localhost' ||
        url.hostname.endsWith('.vscode-cdn.net');
      if (/^(https?|wss?):$/.test(url.protocol) && !own) outside.add(url.href);
    });
    page = await context.newPage();
    if (process.env.CONSOLE)
      page.on('console', (message) =>
        console.log('  [console]', message.type(), message.text().slice(0, 300)),
      );
    const url = (query) => `http://127.0.0.1:${port}/?${new URLSearchParams(query)}`;
    await body({ page, context, dir, workspace, lap, url, socket });
    if (outside.size) throw new Error(`the page asked outside: ${[...outside].join(' ')}`);
    ok = true;
  } finally {
    if (!ok) await page?.screenshot({ path: path.join(dir, 'screen.png') }).catch(() => {});
    await stop();
    clearTimeout(bound);
    for (const signal of ['SIGINT', 'SIGTERM']) process.removeListener(signal, abandon);
    if (ok && !process.env.KEEP) fs.rmSync(dir, { recursive: true, force: true });
    else console.log(`screenshot, server log and user data: ${dir}`);
  }
}

// Starts the binary as an editor does, and communicates with it through the official SDK.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import * as acp from '@agentclientprotocol/sdk';
import { validator } from './schema.js';

export { acp };
export const M = acp.methods;
export const bin = process.env.AGENT_LSP_BIN;
assert.ok(bin, 'AGENT_LSP_BIN names no binary: run editors/acp/run.sh');

// world creates a folder with files, a state directory and a script of model replies.
export function world(t, { files = {}, script = [] } = {}) {
  const base = fs.mkdtempSync(path.join(fs.realpathSync(os.tmpdir()), 'acp-'));
  const dir = path.join(base, 'work');
  fs.mkdirSync(dir);
  for (const [name, text] of Object.entries(files)) fs.writeFileSync(path.join(dir, name), text);
  const file = path.join(base, 'script.jsonl');
  fs.writeFileSync(file, script.map((r) => JSON.stringify(r)).join('\n') + '\n');
  const ends = []; // functions that end the programs that may still write to the folder
  const w = {
    base,
    dir,
    ends,
    script: file,
    state: path.join(base, 'state'),
    path: (n) => path.join(dir, n),
    read: (n) => fs.readFileSync(path.join(dir, n), 'utf8'),
  };
  t.after(async () => {
    await Promise.all(ends.map((end) => end()));
    fs.rmSync(base, { recursive: true, force: true, maxRetries: 5 });
  });
  return w;
}

export function launch(_t, w, env = {}) {
  const child = spawn(bin, ['acp', '--state-dir', w.state], {
    cwd: w.dir,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, HOME: w.base, AGENT_LSP_SCRIPT: w.script, ...env },
  });
  let log = '';
  child.stderr.on('data', (d) => (log += d));
  const exited = new Promise((r) => child.on('exit', (code, signal) => r({ code, signal })));
  w.ends.push(async () => {
    child.stdin.destroy();
    const timer = setTimeout(() => child.kill('SIGKILL'), 300000);
    await exited;
    clearTimeout(timer);
    if (process.env.ACP_LOG) process.stderr.write(log);
  });
  return { child, exited, log: () => log };
}

// connect starts the binary and returns a client. The optional functions permission, elicit,
// readFile, writeFile and terminal answer the agent's requests.
export async function connect(
  t,
  w,
  { env, permission, elicit, readFile, writeFile, terminal, capabilities = {}, init = true } = {},
) {
  const p = launch(t, w, env);
  const check = validator();
  const failures = [];
  const guard = (m, from) => {
    try {
      check.message(m, from);
    } catch (e) {
      failures.push(e);
    }
  };
  const raw = acp.ndJsonStream(Writable.toWeb(p.child.stdin), Readable.toWeb(p.child.stdout));
  const tap = (from) =>
    new TransformStream({
      transform: (m, c) => (guard(m, from), wire.push({ from, m }), c.enqueue(m)),
    });
  const wire = [];
  const out = tap('client');
  out.readable.pipeTo(raw.writable).catch(() => {});
  const stream = { readable: raw.readable.pipeThrough(tap('agent')), writable: out.writable };

  const updates = [];
  let wake = [];
  const note = () => (wake.forEach((f) => f()), (wake = []));
  const asked = [];
  const app = acp
    .client({ name: 'test' })
    .onNotification(M.client.session.update, ({ params }) => {
      updates.push(params);
      note();
    })
    .onRequest(M.client.session.requestPermission, async ({ params, signal }) => {
      asked.push(params);
      note();
      const answer = permission ? await permission(params, signal) : null;
      if (answer === null || answer === undefined) return { outcome: { outcome: 'cancelled' } };
      return typeof answer === 'string'
        ? { outcome: { outcome: 'selected', optionId: answer } }
        : answer;
    });
  if (elicit) app.onRequest(M.client.elicitation.create, ({ params }) => elicit(params));
  if (readFile)
    app.onRequest(M.client.fs.readTextFile, async ({ params }) => ({
      content: await readFile(params.path),
    }));
  if (writeFile)
    app.onRequest(
      M.client.fs.writeTextFile,
      async ({ params }) => (await writeFile(params.path, params.content), {}),
    );
  if (terminal) {
    const names = {
      create: 'create',
      output: 'output',
      waitForExit: 'wait',
      kill: 'kill',
      release: 'release',
    };
    for (const [name, f] of Object.entries(names))
      app.onRequest(M.client.terminal[name], ({ params }) => terminal[f](params));
  }
  const conn = app.connect(stream);
  const agent = conn.agent;
  const c = {
    ...p,
    conn,
    agent,
    updates,
    asked,
    wire,
    seen: check.seen,
    request: (method, params, options) => agent.request(method, params, options),
    notify: (method, params) => agent.notify(method, params),
    of: (kind) => updates.filter((u) => u.update.sessionUpdate === kind).map((u) => u.update),
    text: (kind = 'agent_message_chunk') =>
      c
        .of(kind)
        .map((u) => u.content.text ?? '')
        .join(''),
    // until waits until a message has arrived or a condition is true. It polls, because a file or a
    // flag sends no event.
    async until(what, f, ms = 300000) {
      const end = Date.now() + ms;
      for (;;) {
        const got = f();
        if (got) return got;
        const left = end - Date.now();
        if (left <= 0)
          assert.fail(
            `${what} did not come; the last messages: ${JSON.stringify(wire.slice(-5)).slice(0, 3000)}\n${p.log()}`,
          );
        let timer;
        await Promise.race([
          new Promise((r) => wake.push(r)),
          new Promise((r) => (timer = setTimeout(r, Math.min(left, 50)))),
        ]);
        clearTimeout(timer);
      }
    },
    async session(extra = {}) {
      const s = await agent.request(M.agent.session.new, { cwd: w.dir, mcpServers: [], ...extra });
      return s.sessionId;
    },
    prompt: (sessionId, text) =>
      agent.request(M.agent.session.prompt, {
        sessionId,
        prompt: typeof text === 'string' ? [{ type: 'text', text }] : text,
      }),
    set: (sessionId, configId, value) =>
      agent.request(M.agent.session.setConfigOption, { sessionId, configId, value }),
  };
  t.after(() => {
    if (failures.length) throw failures[0];
  });
  if (init) {
    const fsCaps = { readTextFile: !!readFile, writeTextFile: !!writeFile };
    c.initialized = await agent.request(M.agent.initialize, {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientInfo: { name: 'test', version: '1' },
      clientCapabilities: {
        fs: fsCaps,
        terminal: !!terminal,
        ...(elicit ? { elicitation: { form: {} } } : {}),
        ...capabilities,
      },
    });
  }
  return c;
}

// alive reports whether a process exists and is not a zombie.
export function alive(pid) {
  try {
    process.kill(Number(pid), 0);
    return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

// look polls for a condition that no message reports, such as a new file or the end of a process.
export async function look(what, f) {
  for (const end = Date.now() + 300000; !f(); ) {
    assert.ok(Date.now() < end, `${what} did not come`);
    await new Promise((r) => setTimeout(r, 25));
  }
}

// code returns the JSON-RPC code of a refused request.
export async function code(promise) {
  try {
    await promise;
  } catch (e) {
    return e.code;
  }
  assert.fail('the request was not refused');
}

export const call = (name, args) => ({ toolCalls: [{ name, arguments: args }] });
// A file must be read before it is edited, so both calls are in one reply.
export const readThen = (p, step) => ({
  ...step,
  toolCalls: [...call('read', { path: p }).toolCalls, ...step.toolCalls],
});
export const edit = (p, o, n) => readThen(p, call('edit', { path: p, oldText: o, newText: n }));

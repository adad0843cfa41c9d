import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { acp, M, call, code, connect, edit, launch, world } from './harness.js';

// slowly is a long reply in small pieces. When its first piece arrives, its line of the script has
// been used.
const slowly = { text: 'x'.repeat(1500), chunks: 1500, delayMs: 40 };
const later = { delayMs: 60000, text: 'too late' };

test('requests before initialize are refused', async (t) => {
  const c = await connect(t, world(t), { init: false });
  assert.equal(await code(c.session()), -32600);
  await c.request(M.agent.initialize, { protocolVersion: acp.PROTOCOL_VERSION });
  assert.ok(await c.session());
  assert.equal(
    await code(c.request(M.agent.initialize, { protocolVersion: acp.PROTOCOL_VERSION })),
    -32600,
  );
});

test('unknown methods, sessions, options and folders are refused', async (t) => {
  const w = world(t);
  const c = await connect(t, w);
  const id = await c.session();
  assert.equal(await code(c.request('session/dance', {})), -32601);
  assert.equal(await code(c.request('_dance', {})), -32601);
  assert.equal(await code(c.prompt('nobody', 'hello')), -32002);
  assert.equal(
    await code(
      c.request(M.agent.session.load, { sessionId: 'nobody', cwd: w.dir, mcpServers: [] }),
    ),
    -32002,
  );
  assert.equal(
    await code(c.request(M.agent.session.resume, { sessionId: 'nobody', cwd: w.dir })),
    -32002,
  );
  assert.equal(
    await code(c.request(M.agent.session.setMode, { sessionId: id, modeId: 'dance' })),
    -32602,
  );
  assert.equal(await code(c.set(id, 'dance', 'x')), -32602);
  assert.equal(await code(c.set(id, 'editPolicy', 'x')), -32602);
  assert.equal(await code(c.session({ cwd: 'relative' })), -32602);
  assert.equal(await code(c.session({ cwd: w.path('missing') })), -32602);
  assert.equal(await code(c.prompt(id, [])), -32602);
  // The SDK treats "not found" as success.
  await c.request(M.agent.session.close, { sessionId: 'nobody' });
});

test('a cancel without a turn is harmless', async (t) => {
  const c = await connect(t, world(t, { script: [{ text: 'ok' }] }));
  const id = await c.session();
  await c.notify(M.agent.session.cancel, { sessionId: id });
  await c.notify(M.agent.session.cancel, { sessionId: 'nobody' });
  await c.notify('$/cancel_request', { requestId: 4711 });
  assert.equal((await c.prompt(id, 'hello')).stopReason, 'end_turn');
});

test('a second prompt during a turn is refused, and affects nothing', async (t) => {
  const c = await connect(t, world(t, { script: [slowly, { text: 'ok' }] }));
  const [id, other] = [await c.session(), await c.session()];
  const running = c.prompt(id, 'slow');
  await c.until("the answer's beginning", () => c.text());
  assert.equal(await code(c.prompt(id, 'impatient')), -32600);
  assert.equal((await c.prompt(other, 'elsewhere')).stopReason, 'end_turn');
  await c.notify(M.agent.session.cancel, { sessionId: id });
  assert.equal((await running).stopReason, 'cancelled');
});

test('a prompt of 20 MB gets a response', async (t) => {
  const c = await connect(t, world(t, { script: [{ text: 'long' }, { text: 'short' }] }));
  const id = await c.session();
  const res = await c.prompt(id, 'x'.repeat(20 << 20)).catch((e) => e);
  assert.ok(res.stopReason || typeof res.code === 'number', String(res));
  const next = await c.session();
  assert.equal((await c.prompt(next, 'short')).stopReason, 'end_turn');
});

test('a long answer arrives in lines short enough for every client', async (t) => {
  const text = '0123456789abcdef'.repeat(3 << 16); // the text is 3 MiB long
  const c = await connect(t, world(t, { script: [{ text }] }));
  await c.prompt(await c.session(), 'long');
  assert.equal(c.text(), text);
  const longest = Math.max(
    ...c.wire.filter((x) => x.from === 'agent').map((x) => JSON.stringify(x.m).length),
  );
  assert.ok(longest < 8 << 20, `${longest} bytes`);
});

// raw communicates without the SDK, which refuses to send invalid messages.
function raw(t, w) {
  const p = launch(t, w);
  const got = [];
  let rest = '',
    wake = () => {};
  p.child.stdout.on('data', (d) => {
    const lines = (rest + d).split('\n');
    rest = lines.pop();
    for (const l of lines) got.push(JSON.parse(l));
    wake();
  });
  const next = async (f) => {
    for (const end = Date.now() + 300000; Date.now() < end; ) {
      const m = got.find(f);
      if (m) return m;
      await Promise.race([new Promise((r) => (wake = r)), new Promise((r) => setTimeout(r, 1000))]);
    }
    assert.fail('no answer: ' + JSON.stringify(got).slice(0, 2000));
  };
  return {
    ...p,
    got,
    next,
    send: (s) => p.child.stdin.write(typeof s === 'string' ? s : JSON.stringify(s) + '\n'),
  };
}

test('lines that are not messages are answered and skipped', async (t) => {
  const r = raw(t, world(t));
  r.send('not json\n\n[]\n{}\n42\n{"jsonrpc":"2.0"}\n\u0000\n');
  r.send({ jsonrpc: '2.0', id: 'a', method: 'initialize', params: { protocolVersion: 'one' } });
  assert.equal((await r.next((m) => m.id === 'a')).error.code, -32602);
  r.send({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: 1, unknown: true },
  });
  assert.equal((await r.next((m) => m.id === 1)).result.protocolVersion, 1);
  r.send({ jsonrpc: '2.0', id: 2, method: 'session/prompt', params: { sessionId: 5 } });
  assert.equal((await r.next((m) => m.id === 2)).error.code, -32602);
  r.send({ jsonrpc: '2.0', id: 3, method: 'session/new', params: [] });
  assert.equal((await r.next((m) => m.id === 3)).error.code, -32602);
  assert.ok(r.got.filter((m) => m.id === null && m.error).length >= 4);
});

test('a line over the size limit is refused with its own id', async (t) => {
  const r = raw(t, world(t));
  r.send({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: 1 } });
  await r.next((m) => m.id === 1);
  r.send('{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"x":"');
  const part = 'y'.repeat(1 << 20);
  for (let i = 0; i < 70; i++)
    if (!r.child.stdin.write(part)) await new Promise((f) => r.child.stdin.once('drain', f));
  r.send('"}}\n');
  assert.equal((await r.next((m) => m.id === 2)).error.code, -32600);
  r.send({ jsonrpc: '2.0', id: 3, method: 'session/list', params: {} });
  assert.ok((await r.next((m) => m.id === 3)).result);
});

for (const [what, step] of [
  ['a permission is open', call('bash', { command: 'touch made' })],
  ['an edit waits', edit('a.txt', 'a\n', 'b\n')],
  ['the model answers', later],
]) {
  test(`a client that dies while ${what} leaves nothing behind`, async (t) => {
    const w = world(t, { files: { 'a.txt': 'a\n' }, script: [step, { text: 'again' }] });
    const c = await connect(t, w, { permission: () => new Promise(() => {}) });
    const id = await c.session();
    c.prompt(id, 'go').catch(() => {});
    await c.until(
      'the turn',
      () => c.asked.length || (step === later && c.of('session_info_update').length),
    );
    c.child.stdin.destroy();
    c.child.stdout.destroy();
    assert.equal((await c.exited).signal, null, 'it ends by itself');
    assert.ok(!fs.existsSync(w.path('made')));
    assert.equal(w.read('a.txt'), 'a\n');
    // The session can be loaded and continued.
    const next = await connect(t, w);
    await next.request(M.agent.session.load, { sessionId: id, cwd: w.dir, mcpServers: [] });
    assert.equal(next.text('user_message_chunk'), 'go');
  });
}

test('the end of input ends a command and all its children', async (t) => {
  const w = world(t, {
    script: [
      call('bash', {
        command: 'setsid sleep 300 & echo $! > pid; nohup sleep 300 & echo $! >> pid; wait',
      }),
      { text: 'never' },
    ],
  });
  const c = await connect(t, w, { env: { AGENT_LSP_SANDBOX: 'off' } });
  const id = await c.session();
  await c.set(id, 'permissions', 'trust');
  const running = c.prompt(id, 'run').catch(() => {});
  const pids = () =>
    fs.existsSync(w.path('pid')) ? w.read('pid').split('\n').filter(Boolean).map(Number) : [];
  await c.until('both', () => pids().length === 2);
  c.child.stdin.end();
  assert.deepEqual(await c.exited, { code: 0, signal: null });
  await running;
  const alive = (p) => {
    try {
      return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${p}/status`, 'utf8'));
    } catch {
      return false; // the process ended during the inspection
    }
  };
  const left = () => pids().filter(alive);
  await c.until('their end', () => !left().length);
});

test('a killed agent leaves a session that can be loaded', async (t) => {
  const w = world(t, {
    files: { 'a.txt': 'a\n' },
    script: [edit('a.txt', 'a\n', 'b\n'), { text: 'never' }],
  });
  const c = await connect(t, w, { permission: () => new Promise(() => {}) });
  const id = await c.session();
  c.prompt(id, 'go').catch(() => {});
  await c.until('the question', () => c.asked.length);
  c.child.kill('SIGKILL');
  await c.exited;
  const next = await connect(t, w, { permission: () => 'accept' });
  await next.request(M.agent.session.load, { sessionId: id, cwd: w.dir, mcpServers: [] });
  // The edit is still pending, and the user is asked about it again.
  await next.until('the question', () => next.asked.length);
  await next.until('the edit', () => w.read('a.txt') === 'b\n');
});

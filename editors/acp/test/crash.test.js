// Kills the agent and its client with kill -9 at different moments of a turn. Checks that the
// session can be loaded and continued, and that no process is left behind.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import { M, alive, call, connect, edit, look, world } from './harness.js';

const client = fileURLToPath(new URL('killed-client.js', import.meta.url));
const slowly = { text: 'x'.repeat(1500), chunks: 1500, delayMs: 40 };
// outlive is a command that starts processes which try to outlive it. They use a new session,
// another parent, and ignored signals.
const outlive =
  'setsid sleep 300 >/dev/null 2>&1 & echo $! > pids; (setsid sh -c \'trap "" TERM HUP; sleep 300\' >/dev/null 2>&1 & echo $! >> pids); echo $$ >> pids; touch ready; sleep 300';

// The sandbox is off, because process IDs that a command records in it are meaningless outside it.
const seen = { AGENT_LSP_SANDBOX: 'off' };

const pids = (w) => w.read('pids').split('\n').filter(Boolean).map(Number);

for (const [what, script, begun, past] of [
  [
    'between turns',
    [{ text: 'First answer.' }],
    (c) => c.text() === 'First answer.',
    /^First answer\.$/,
  ],
  ['while the model answers', [slowly], (c) => c.text().length > 10, /^x*$/],
  [
    'while a command runs',
    [call('bash', { command: outlive })],
    (_c, w) => fs.existsSync(w.path('ready')),
    /^$/,
  ],
  ['while an edit waits', [edit('a.txt', 'a\n', 'b\n')], (c) => c.asked.length, /^$/],
]) {
  test(`an agent killed ${what} leaves a session that can be continued, and no process`, async (t) => {
    const w = world(t, { files: { 'a.txt': 'a\n' }, script: [...script, { text: 'never' }] });
    const c = await connect(t, w, { permission: () => new Promise(() => {}), env: seen });
    const id = await c.session();
    await c.set(id, 'permissions', 'trust');
    const running = c.prompt(id, 'go').catch(() => {});
    await look('the moment', () => begun(c, w));
    if (what === 'between turns') await running;
    const left = fs.existsSync(w.path('pids')) ? pids(w) : [];
    assert.equal(left.length, what === 'while a command runs' ? 3 : 0);
    c.child.kill('SIGKILL');
    await c.exited;
    await look('the end of what ran', () => !left.some(alive));

    fs.writeFileSync(w.script, JSON.stringify({ text: ' Gone on.' }) + '\n');
    const next = await connect(t, w, { permission: () => 'reject' });
    await next.request(M.agent.session.load, { sessionId: id, cwd: w.dir, mcpServers: [] });
    assert.equal(next.text('user_message_chunk'), 'go');
    assert.match(next.text(), past);
    const calls = next.of('tool_call_update');
    assert.ok(
      calls.every((u) => ['completed', 'failed'].includes(u.status)) ||
        what === 'while an edit waits',
      JSON.stringify(calls),
    );
    assert.equal((await next.prompt(id, 'go on')).stopReason, 'end_turn');
    assert.match(next.text(), / Gone on\.$/);
    assert.equal(w.read('a.txt'), 'a\n');
  });
}

test('a client that is killed leaves no agent, no command and no MCP server', async (t) => {
  const w = world(t, { script: [call('bash', { command: outlive })] });
  const given = {
    base: w.base,
    dir: w.dir,
    state: w.state,
    script: w.script,
    path: w.path('mcp'),
    agent: w.path('agent'),
  };
  const killed = spawn(process.execPath, [client], {
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, ACP_TEST_CLIENT: JSON.stringify(given) },
  });
  t.after(() => killed.kill('SIGKILL'));
  const gone = new Promise((r) => killed.on('exit', r));
  const numbers = (n) =>
    fs.existsSync(w.path(n)) ? w.read(n).split('\n').filter(Boolean).map(Number) : [];
  await look(
    'the command and the server',
    () => fs.existsSync(w.path('ready')) && numbers('mcp').length === 2,
  );
  const left = [...pids(w), ...numbers('mcp'), ...numbers('agent')];
  assert.equal(left.length, 6);
  assert.deepEqual(left.filter(alive), left, 'the test tests something');
  killed.kill('SIGKILL');
  await gone;
  await look('their end', () => !left.some(alive));
});

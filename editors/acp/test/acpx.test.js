// Tests the agent with acpx, an independent command-line client. The messages of both sides are
// also checked against the protocol's schema.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { alive, bin, call, edit, world } from './harness.js';
import { validator } from './schema.js';

const here = (p) => fileURLToPath(new URL(p, import.meta.url));

const documented = JSON.parse(
  /^\{ "agents".*$/m.exec(fs.readFileSync(here('../../../docs/use/acp.md'), 'utf8'))[0],
);

// acpx prepares a folder for the acpx client, and returns functions that run the client and check
// its messages.
function acpx(t, { config = {}, ...options }) {
  const w = world(t, options);
  const log = path.join(w.base, 'wire');
  fs.writeFileSync(log, '');
  const put = (name, value) => {
    fs.mkdirSync(path.dirname(path.join(w.base, name)), { recursive: true });
    fs.writeFileSync(path.join(w.base, name), JSON.stringify(value));
  };
  const agent = documented.agents['agent-lsp'];
  assert.equal(agent.command, 'agent-lsp');
  put('.acpx/config.json', {
    agents: {
      'agent-lsp': {
        command: process.execPath,
        args: [here('tee.js'), log, bin, ...agent.args, '--state-dir', w.state],
      },
    },
  });
  put('.config/agent-lsp/config.json', config);
  const wire = () =>
    fs
      .readFileSync(log, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((l) => JSON.parse(l));
  const said = (from, f) =>
    wire()
      .filter((m) => m.from === from)
      .map((m) => JSON.parse(m.text))
      .filter(f);
  const until = async (what, f) => {
    for (let end = Date.now() + 120000; !f(); ) {
      assert.ok(Date.now() < end, `${what} did not come: ${JSON.stringify(wire().slice(-5))}`);
      await new Promise((r) => setTimeout(r, 20));
    }
  };
  const ended = () =>
    until("the agents' end", () =>
      wire().every((m) => m.from !== 'start' || !m.text.split(' ').some(alive)),
    );
  const failures = [];
  const valid = () => {
    const check = validator();
    for (const m of wire()) if (m.from !== 'start') check.message(JSON.parse(m.text), m.from);
  };
  w.ends.push(() =>
    stop()
      .then(valid)
      .catch((e) => failures.push(e)),
  );
  t.after(() => {
    if (failures.length) throw failures[0];
  });
  const run = (...args) => {
    const global = args[0].startsWith('--') ? args.shift().split(' ') : [];
    const child = spawn(
      process.execPath,
      [here('../node_modules/acpx/dist/cli.js'), ...global, 'agent-lsp', ...args],
      {
        cwd: w.dir,
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { PATH: process.env.PATH, HOME: w.base, AGENT_LSP_SCRIPT: w.script },
      },
    );
    let text = '';
    for (const s of [child.stdout, child.stderr]) s.on('data', (d) => (text += d));
    return new Promise((r) => child.on('close', (status) => r({ status, text })));
  };
  // stop ends the process in which acpx keeps a session's agent. That process continues to run
  // after an acpx command has ended.
  const stop = async () => {
    const [, owner] = /^pid: (\d+)/m.exec((await run('status')).text) ?? [];
    if (owner) process.kill(Number(owner), 'SIGKILL');
    await ended();
  };
  return { w, run, said, until, stop };
}

describe('acpx', { concurrency: true }, () => {
  test('a single run applies an approved edit, new file and command', async (t) => {
    const { w, run } = acpx(t, {
      files: { 'a.txt': 'one\ntwo\n' },
      script: [
        { ...edit('a.txt', 'two\n', 'TWO\n'), reasoning: 'hm', text: 'Editing.' },
        call('write', { path: 'new.txt', content: 'fresh\n' }),
        call('bash', { command: 'touch ran; echo out' }),
        call('ask_user', { question: 'Which?', options: [{ label: 'red' }, { label: 'blue' }] }),
        { expect: { lastTool: 'red' }, text: 'All done.' },
      ],
    });
    const got = await run('--approve-all', 'exec', 'work');
    assert.equal(got.status, 0, got.text);
    for (const part of [
      '[thinking] hm',
      'Editing.',
      'Edit a.txt (completed)',
      'Write new.txt (completed)',
      'Run touch ran; echo out (completed)',
      'All done.',
      '[done] end_turn',
    ])
      assert.ok(got.text.includes(part), `${part} in ${got.text}`);
    assert.ok(!got.text.includes('input: {}'), got.text);
    assert.deepEqual(['a.txt', 'new.txt', 'ran'].map(w.read), ['one\nTWO\n', 'fresh\n', '']);
  });

  test('denied operations are not performed in any way', async (t) => {
    const { w, run } = acpx(t, {
      config: { sandbox: 'off', permissions: { profile: 'trust' } },
      files: { 'a.txt': 'one\ntwo\n' },
      script: [
        edit('a.txt', 'two\n', 'TWO\n'),
        {
          expect: { lastTool: 'refused access to the file: Permission denied' },
          ...call('bash', { command: 'touch ran' }),
        },
        { expect: { lastTool: 'not run' }, text: 'Well.' },
      ],
    });
    const got = await run('--deny-all', 'exec', 'work');
    assert.equal(got.status, 5, got.text);
    assert.match(got.text, /Edit a\.txt \(failed\)[^]*Well\./);
    assert.equal(w.read('a.txt'), 'one\ntwo\n');
    assert.ok(!fs.existsSync(w.path('ran')));
  });

  test('a session can be cancelled, prompted while it works, configured and resumed', async (t) => {
    const { run, said, until, stop } = acpx(t, {
      script: [
        { when: { lastUser: 'talk' }, text: 'slowly'.repeat(300), chunks: 300, delayMs: 40 },
        { when: { lastUser: 'queued' }, text: 'Answered.' },
        { when: { lastUser: 'third', sent: '(?s)talk.*queued' }, text: 'I remember.' },
      ],
    });
    await run('sessions', 'new');
    const talking = run('prompt', 'talk');
    await until(
      'the answer',
      () => said('agent', (m) => m.params?.update?.sessionUpdate === 'agent_message_chunk').length,
    );
    const queued = await run('prompt', '--no-wait', 'queued');
    assert.match(queued.text, /queued/);
    await run('cancel');
    assert.match((await talking).text, /\[done\] cancelled/);
    await until(
      'the answer to what was queued',
      () => said('agent', (m) => m.result?.stopReason === 'end_turn').length,
    );
    assert.match((await run('set-mode', 'plan')).text, /mode set: plan/);
    assert.match((await run('set', 'thinking', 'high')).text, /thinking=high/);
    const wrong = await run('set-mode', 'none');
    assert.equal(wrong.status, 1);
    assert.match(wrong.text, /"none" is not a value of the option mode/);
    await stop();
    const third = await run('prompt', 'third');
    assert.equal(third.status, 0, third.text);
    assert.match(third.text, /session\/resume[^]*I remember\./);
    const resumed = said('agent', (m) => m.result?.configOptions && !m.result.sessionId).at(
      0,
    ).result;
    assert.ok(resumed.configOptions.length > 3);
  });
});

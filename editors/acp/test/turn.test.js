import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { M, alive, call, code, connect, edit, world } from './harness.js';

const bash = (command, more = {}) => call('bash', { command, ...more });
// slowly is a long reply in small pieces. When its first piece arrives, its line of the script has
// been used.
const slowly = { text: 'x'.repeat(1500), chunks: 1500, delayMs: 40 };
const later = { delayMs: 60000, text: 'too late' };

test('a command asks with its exact text, and shows its output while it runs', async (t) => {
  const w = world(t, {
    script: [
      bash(
        'echo first; touch started; while [ ! -e go ]; do sleep 0.05; done; echo second > out.txt; echo second',
      ),
      { expect: { lastTool: 'second' }, text: 'done' },
    ],
  });
  const c = await connect(t, w, {
    permission: (p) => {
      assert.equal(p.toolCall.kind, 'execute');
      assert.match(p.toolCall.rawInput.command, /^echo first; touch started/);
      assert.equal(p.toolCall.rawInput.cwd, w.dir);
      const kinds = new Set(p.options.map((o) => o.kind));
      assert.ok(kinds.has('allow_once') && kinds.has('allow_always') && kinds.has('reject_once'));
      return p.options.find((o) => o.kind === 'allow_once').optionId;
    },
  });
  const id = await c.session();
  const running = c.prompt(id, 'run');
  await c.until('the live output', () =>
    c
      .of('tool_call_update')
      .some(
        (u) =>
          u.status === 'in_progress' && u.content?.some((x) => x.content?.text?.includes('first')),
      ),
  );
  fs.writeFileSync(w.path('go'), '');
  assert.equal((await running).stopReason, 'end_turn');
  assert.equal(w.read('out.txt'), 'second\n');
  const end = c.of('tool_call_update').at(-1);
  assert.equal(end.status, 'completed');
  assert.match(end.rawOutput.result, /second/);
});

test('a refused command is not run', async (t) => {
  const w = world(t, {
    script: [bash('touch made'), { expect: { lastTool: '.' }, text: 'as you wish' }],
  });
  const c = await connect(t, w, {
    permission: (p) => p.options.find((o) => o.kind === 'reject_once').optionId,
  });
  const id = await c.session();
  assert.equal((await c.prompt(id, 'run')).stopReason, 'end_turn');
  assert.equal(c.of('tool_call_update').at(-1).status, 'failed');
  assert.ok(!fs.existsSync(w.path('made')));
});

test('a cancel while the model answers ends the turn', async (t) => {
  const c = await connect(t, world(t, { script: [slowly, { text: 'next' }] }));
  const id = await c.session();
  const running = c.prompt(id, 'slow');
  await c.until("the answer's beginning", () => c.text());
  await c.notify(M.agent.session.cancel, { sessionId: id });
  assert.equal((await running).stopReason, 'cancelled');
  assert.ok(c.text().length < slowly.text.length, 'the whole answer came');
  assert.equal((await c.prompt(id, 'again')).stopReason, 'end_turn');
  assert.match(c.text(), /^x+next$/);
});

test('two cancels right after the prompt end the turn', async (t) => {
  const c = await connect(t, world(t, { script: Array(5).fill(later) }));
  const id = await c.session();
  for (let i = 0; i < 5; i++) {
    const running = c.prompt(id, 'slow');
    c.notify(M.agent.session.cancel, { sessionId: id });
    c.notify(M.agent.session.cancel, { sessionId: id });
    assert.equal((await running).stopReason, 'cancelled');
  }
});

test('cancelling the request also ends the turn', async (t) => {
  const c = await connect(t, world(t, { script: [later, { text: 'next' }] }));
  const id = await c.session();
  const stop = new AbortController();
  const running = c.request(
    M.agent.session.prompt,
    { sessionId: id, prompt: [{ type: 'text', text: 'slow' }] },
    { cancellationSignal: stop.signal },
  );
  await c.until('the turn', () => c.of('session_info_update').length);
  stop.abort();
  const ended = await running.catch((e) => e);
  assert.ok(ended.stopReason === 'cancelled' || ended.code === -32800, JSON.stringify(ended));
});

test('cancel while a command runs leaves no child behind', async (t) => {
  const w = world(t, {
    script: [
      bash("trap '' TERM; echo $$ > pid; (setsid sleep 300 & echo $! > pid2); sleep 300"),
      { text: 'never' },
    ],
  });
  const c = await connect(t, w, { env: { AGENT_LSP_SANDBOX: 'off' } });
  const id = await c.session();
  await c.set(id, 'permissions', 'trust');
  const running = c.prompt(id, 'run');
  await c.until(
    'the command',
    () => fs.existsSync(w.path('pid2')) && w.read('pid2').trim() && c.updates.length,
  );
  const pids = ['pid', 'pid2'].map((f) => Number(w.read(f)));
  await c.notify(M.agent.session.cancel, { sessionId: id });
  assert.equal((await running).stopReason, 'cancelled');
  await c.until('the end of both', () => !pids.some(alive));
});

test('cancel while a permission is open ends the question', async (t) => {
  for (const [what, step] of [
    ['command', bash('touch made')],
    ['edit', edit('a.txt', 'a\n', 'b\n')],
  ]) {
    await t.test(what, async (t) => {
      const w = world(t, { files: { 'a.txt': 'a\n' }, script: [step, { text: 'never' }] });
      let withdrawn = false;
      const c = await connect(t, w, {
        permission: (_, signal) =>
          new Promise((r) => signal.addEventListener('abort', () => ((withdrawn = true), r(null)))),
      });
      const id = await c.session();
      const running = c.prompt(id, 'ask');
      await c.until('the question', () => c.asked.length);
      await c.notify(M.agent.session.cancel, { sessionId: id });
      assert.equal((await running).stopReason, 'cancelled');
      await c.until(
        'the end of the question',
        () => withdrawn || c.wire.some(({ m }) => m.method === '$/cancel_request'),
      );
      assert.ok(!fs.existsSync(w.path('made')));
      assert.equal(w.read('a.txt'), 'a\n');
    });
  }
});

test('a client may answer its open permissions when it cancels', async (t) => {
  const w = world(t, {
    files: { 'a.txt': 'a\n' },
    script: [edit('a.txt', 'a\n', 'b\n'), { text: 'next' }],
  });
  let answer;
  const c = await connect(t, w, { permission: () => new Promise((r) => (answer = r)) });
  const id = await c.session();
  const running = c.prompt(id, 'ask');
  await c.until('the question', () => answer);
  await c.notify(M.agent.session.cancel, { sessionId: id });
  answer(null);
  assert.equal((await running).stopReason, 'cancelled');
  assert.equal((await c.prompt(id, 'again')).stopReason, 'end_turn');
});

test('steering reaches the running turn', async (t) => {
  const w = world(t, {
    script: [
      bash('touch started; while [ ! -e go ]; do sleep 0.05; done'),
      { expect: { lastUser: 'turn left' }, text: 'left' },
      { text: 'alone' },
    ],
  });
  const c = await connect(t, w);
  const id = await c.session();
  await c.set(id, 'permissions', 'trust');
  const running = c.prompt(id, 'go');
  await c.until('the command', () =>
    c.of('tool_call_update').some((u) => u.status === 'in_progress'),
  );
  const steer = (more) =>
    c.request('_session/steering', {
      sessionId: id,
      prompt: [{ type: 'text', text: 'turn left' }],
      ...more,
    });
  assert.equal((await steer()).outcome, 'injected');
  fs.writeFileSync(w.path('go'), '');
  assert.equal((await running).stopReason, 'end_turn');
  assert.equal(c.text(), 'left');
  assert.equal((await steer({ idleBehavior: 'promptRequired' })).outcome, 'failed');
  assert.equal((await steer()).outcome, 'startedNewTurn');
  await c.until('its answer', () => c.text() === 'leftalone');
});

test('a question becomes a form, or a choice', async (t) => {
  const ask = call('ask_user', {
    question: 'Which color?',
    options: [{ label: 'red' }, { label: 'blue', description: 'like the sky' }],
  });
  await t.test('a form', async (t) => {
    const c = await connect(
      t,
      world(t, { script: [ask, { expect: { lastTool: 'blue' }, text: 'ok' }] }),
      {
        elicit: (p) => {
          assert.equal(p.message, 'Which color?');
          assert.deepEqual(
            p.requestedSchema.properties.answer.oneOf.map((o) => o.const),
            ['red', 'blue'],
          );
          return { action: 'accept', content: { answer: 'blue' } };
        },
      },
    );
    await c.prompt(await c.session(), 'ask');
    assert.equal(c.text(), 'ok');
  });
  await t.test('several answers', async (t) => {
    const many = call('ask_user', {
      question: 'Which?',
      options: ['red', 'blue', 'green'].map((label) => ({ label })),
      multi: true,
    });
    const c = await connect(
      t,
      world(t, { script: [many, { expect: { lastTool: 'red, green' }, text: 'ok' }] }),
      {
        elicit: () => ({ action: 'accept', content: { answer: ['red', 'green'] } }),
      },
    );
    await c.prompt(await c.session(), 'ask');
    assert.equal(c.text(), 'ok');
  });
  await t.test('without forms each answer is a separate question', async (t) => {
    const c = await connect(
      t,
      world(t, { script: [ask, { expect: { lastTool: 'blue' }, text: 'ok' }] }),
      {
        permission: (p) => {
          assert.deepEqual(
            p.options.map((o) => o.kind),
            ['allow_once', 'reject_once'],
          );
          assert.equal(p.toolCall.toolCallId, c.of('tool_call').at(-1).toolCallId);
          return /blue/.test(p.toolCall.title) ? 'yes' : 'no';
        },
      },
    );
    await c.prompt(await c.session(), 'ask');
    assert.equal(c.text(), 'ok');
    assert.deepEqual(
      c.asked.map((p) => p.toolCall.title),
      ['Which color? 1 of 2: red', 'Which color? 2 of 2: blue: like the sky'],
    );
  });
  await t.test('several answers without forms', async (t) => {
    const many = call('ask_user', {
      question: 'Which?',
      options: ['red', 'blue', 'green'].map((label) => ({ label })),
      multi: true,
    });
    const c = await connect(
      t,
      world(t, { script: [many, { expect: { lastTool: 'red, green' }, text: 'ok' }] }),
      { permission: (p) => (/blue/.test(p.toolCall.title) ? 'no' : 'yes') },
    );
    await c.prompt(await c.session(), 'ask');
    assert.equal(c.text(), 'ok');
  });
  for (const [name, answer, times] of [
    ['every answer is refused', 'no', 2],
    ['the question is dismissed', null, 1],
  ]) {
    await t.test(name, async (t) => {
      const c = await connect(
        t,
        world(t, { script: [ask, { expect: { lastTool: 'declined' }, text: 'ok' }] }),
        { permission: () => answer },
      );
      await c.prompt(await c.session(), 'ask');
      assert.equal(c.text(), 'ok');
      assert.equal(c.asked.length, times);
    });
  }
  await t.test('a client that cannot ask', async (t) => {
    const free = call('ask_user', { question: 'What is your name?' });
    const c = await connect(
      t,
      world(t, { script: [free, { expect: { lastTool: 'declin' }, text: 'ok' }] }),
    );
    await c.prompt(await c.session(), 'ask');
    assert.match(c.text(), /ok$/);
  });
});

test('a plan is sent as one update', async (t) => {
  const plan = call('plan', {
    entries: [
      { content: 'look', status: 'completed' },
      { content: 'act', status: 'inProgress' },
      { content: 'check', status: 'pending' },
    ],
  });
  const c = await connect(t, world(t, { script: [plan, { text: 'ok' }] }));
  await c.prompt(await c.session(), 'plan');
  assert.equal(c.of('plan').length, 1);
  assert.deepEqual(
    c
      .of('plan')
      .at(-1)
      .entries.map((e) => [e.content, e.status]),
    [
      ['look', 'completed'],
      ['act', 'in_progress'],
      ['check', 'pending'],
    ],
  );
});

test('usage is sent only when it changes', async (t) => {
  const usage = { prompt_tokens: 100, completion_tokens: 5, total_tokens: 105 };
  const w = world(t, {
    script: [
      { text: 'ok', usage },
      { text: 'ok', usage },
    ],
  });
  fs.writeFileSync(
    path.join(w.dir, '.agent-lsp.json'),
    JSON.stringify({ windows: { '*': 32000 } }),
  );
  const c = await connect(t, w);
  const id = await c.session();
  const res = await c.prompt(id, 'count');
  const u = await c.until('usage', () => c.of('usage_update').at(-1));
  assert.ok(u.size > 0 && u.used > 0);
  assert.ok(res._meta.agentLsp.turn.usage.total > 0);
  await c.prompt(id, 'count again');
  const told = c.of('usage_update').map((u) => JSON.stringify([u.used, u.size, u.cost]));
  told.forEach((u, i) => assert.notEqual(u, told[i - 1]));
});

test('stop reasons', async (t) => {
  await t.test('a model failure is an error', async (t) => {
    const c = await connect(
      t,
      world(t, { script: [{ error: { status: 400, code: 'bad', message: 'the model said no' } }] }),
    );
    const id = await c.session();
    const e = await c.prompt(id, 'fail').then(
      () => assert.fail('not refused'),
      (e) => e,
    );
    assert.equal(e.code, -32603);
    assert.match(e.message, /the model said no/);
  });
  await t.test('a refused key asks for authentication', async (t) => {
    const c = await connect(
      t,
      world(t, {
        script: [{ error: { status: 401, code: 'invalid_api_key', message: 'no key' } }],
      }),
    );
    assert.equal(await code(c.prompt(await c.session(), 'fail')), -32000);
  });
  await t.test('too many model calls', async (t) => {
    const w = world(t, { script: Array(10).fill(call('ls', {})) });
    fs.writeFileSync(path.join(w.dir, '.agent-lsp.json'), JSON.stringify({ maxModelCalls: 2 }));
    const c = await connect(t, w);
    assert.equal((await c.prompt(await c.session(), 'loop')).stopReason, 'max_turn_requests');
  });
});

test('MCP servers of the client are used', async (t) => {
  const w = world(t);
  const server = path.join(w.base, 'mcp.mjs');
  fs.writeFileSync(
    server,
    `
    import readline from "node:readline";
    const say = (id, result) => console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
    readline.createInterface({ input: process.stdin }).on("line", (l) => {
      const { id, method, params } = JSON.parse(l);
      if (method === "initialize") say(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } });
      else if (method === "tools/list") say(id, { tools: [{ name: "greet", description: "Greets", inputSchema: { type: "object", properties: {} } }] });
      else if (method === "tools/call") say(id, { content: [{ type: "text", text: "greetings from " + process.env.WHO }] });
      else if (id !== undefined) say(id, {});
    });`,
  );
  const c = await connect(t, w);
  const mcpServers = [
    {
      name: 'friend',
      command: process.execPath,
      args: [server],
      env: [{ name: 'WHO', value: 'a friend' }],
    },
  ];
  // MCP servers start in the background, so the model gets their tools only after the servers have
  // answered.
  const greet = [call('friend_greet', {}), { text: 'ok' }];
  fs.writeFileSync(
    w.script,
    Array(400)
      .fill(greet)
      .flat()
      .map((r) => JSON.stringify(r))
      .join('\n'),
  );
  const id = await c.session({ mcpServers });
  await c.set(id, 'permissions', 'trust');
  const greeted = () =>
    c.of('tool_call_update').some((u) => u.rawOutput?.result?.includes('greetings from a friend'));
  for (let i = 0; !greeted() && i < 400; i++) {
    await c.prompt(id, 'greet');
    if (!greeted()) await new Promise((r) => setTimeout(r, 10 * i)); // the wait is short at first
  }
  assert.ok(greeted(), JSON.stringify(c.of('tool_call_update').at(-1)));
  assert.equal(
    await code(
      c.session({
        mcpServers: [{ type: 'sse', name: 'old', url: 'http://127.0.0.1:1', headers: [] }],
      }),
    ),
    -32602,
  );
});

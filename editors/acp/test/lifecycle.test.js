import assert from 'node:assert/strict';
import fs from 'node:fs';
import { test } from 'node:test';
import { acp, M, call, code, connect, world } from './harness.js';

test('initialize returns the capabilities, and starts nothing', async (t) => {
  const c = await connect(t, world(t));
  const { protocolVersion, agentCapabilities, agentInfo, authMethods, _meta } = c.initialized;
  assert.equal(protocolVersion, acp.PROTOCOL_VERSION);
  assert.equal(agentInfo.name, 'agent-lsp');
  assert.equal(agentCapabilities.loadSession, true);
  assert.deepEqual(Object.keys(agentCapabilities.sessionCapabilities).sort(), [
    'additionalDirectories',
    'close',
    'delete',
    'list',
    'resume',
  ]);
  assert.equal(authMethods[0].id, 'provider');
  assert.equal(_meta.steering.supported, true);
});

test('authenticate checks whether a provider is configured', async (t) => {
  const c = await connect(t, world(t));
  assert.deepEqual(await c.request(M.agent.authenticate, { methodId: 'provider' }), {});
  assert.equal(await code(c.request(M.agent.authenticate, { methodId: 'nothing' })), -32602);
  assert.deepEqual(await c.request(M.agent.logout, {}), {});
});

test('without a provider a prompt asks for authentication', async (t) => {
  const c = await connect(t, world(t), {
    env: { AGENT_LSP_SCRIPT: '', AGENT_LSP_PROBE: '0', OPENAI_BASE_URL: '' },
  });
  const id = await c.session();
  assert.equal(await code(c.prompt(id, 'hello')), -32000);
  assert.equal(await code(c.request(M.agent.authenticate, { methodId: 'provider' })), -32000);
});

test('a prompt streams its answer and ends its turn', async (t) => {
  const c = await connect(
    t,
    world(t, { script: [{ reasoning: 'thinking about it', text: 'Hello, world.', chunks: 6 }] }),
  );
  const id = await c.session();
  const res = await c.prompt(id, 'hello');
  assert.equal(res.stopReason, 'end_turn');
  assert.equal(c.text(), 'Hello, world.');
  assert.equal(c.text('agent_thought_chunk'), 'thinking about it');
  const chunks = c.of('agent_message_chunk');
  assert.equal(new Set(chunks.map((u) => u.messageId)).size, 1);
  await c.until('the commands', () => c.of('available_commands_update').length);
  await c.until('the title', () => c.of('session_info_update').some((u) => u.title === 'hello'));
  // Every update of the turn must arrive before the turn's response.
  const answer = c.wire.findIndex((x) => x.from === 'agent' && x.m.result?.stopReason);
  const last = c.wire.findLastIndex(
    (x) => x.m.params?.update?.sessionUpdate === 'agent_message_chunk',
  );
  assert.ok(last < answer);
});

test("/compact is a command of the session, and follows the user's instructions", async (t) => {
  const long = (nth) => ({
    text: `${nth} of the long answers that nobody needs to know later on.\n\n`,
    repeat: 200,
  });
  const summary = {
    expect: { lastUser: "The user's request for the notes: keep the goal" },
    text: '## Goal\nTalk.\n## Progress\nThree answers were given.',
  };
  const script = [
    { window: 200000 },
    long('First'),
    long('Second'),
    { text: 'Third.' },
    summary,
    {
      expect: { lastUser: 'go on', sent: 'Three answers were given', notSent: 'nobody needs' },
      text: 'On.',
    },
  ];
  const c = await connect(
    t,
    world(t, { script, files: { '.agent-lsp.json': `{"context": {"window": 200000}}` } }),
  );
  const id = await c.session();
  await c.until('the command', () =>
    c
      .of('available_commands_update')
      .some((u) => u.availableCommands.some((x) => x.name === 'compact' && x.input?.hint)),
  );
  for (const text of ['one', 'two', 'three'])
    assert.equal((await c.prompt(id, text)).stopReason, 'end_turn');
  assert.equal((await c.prompt(id, '/compact keep the goal')).stopReason, 'end_turn');
  const [, now, before] = c.text().match(/now has (\d+) tokens instead of (\d+)/);
  assert.ok(Number(now) < Number(before) / 4, `${now} of ${before}`);
  assert.equal((await c.prompt(id, 'go on')).stopReason, 'end_turn');
  assert.match(c.text(), /On\.$/);
});

test("a user's own compact command takes precedence, and /compacted is a prompt", async (t) => {
  const w = world(t, {
    script: [
      { expect: { lastUser: 'Fold the map' }, text: 'folded' },
      { expect: { lastUser: '/compacted' }, text: 'said' },
    ],
  });
  fs.mkdirSync(w.path('.agent-lsp/commands'), { recursive: true });
  fs.writeFileSync(w.path('.agent-lsp/commands/compact.md'), 'Fold the map\n');
  const c = await connect(t, w);
  const id = await c.session();
  assert.equal((await c.prompt(id, '/compact')).stopReason, 'end_turn');
  assert.equal((await c.prompt(id, '/compacted')).stopReason, 'end_turn');
  assert.equal(c.text(), 'foldedsaid');
});

test('no update of a session precedes the response that contains its id', async (t) => {
  const c = await connect(t, world(t));
  for (let i = 0; i < 10; i++) await c.session();
  const named = new Set();
  for (const { from, m } of c.wire) {
    if (from === 'agent' && m.result?.sessionId) named.add(m.result.sessionId);
    if (m.method === 'session/update')
      assert.ok(named.has(m.params.sessionId), 'an update came first');
  }
});

test('sessions are listed, loaded with their history, resumed, closed and deleted', async (t) => {
  const script = [
    { reasoning: 'hm', text: 'First answer.' },
    call('read', { path: 'a.txt' }),
    { text: 'Second answer.' },
  ];
  const w = world(t, { files: { 'a.txt': 'text\n' }, script });
  const first = await connect(t, w);
  const id = await first.session();
  await first.prompt(id, 'first question');
  await first.prompt(id, 'second question');
  first.child.stdin.end();
  assert.deepEqual(await first.exited, { code: 0, signal: null });

  const c = await connect(t, w);
  const { sessions } = await c.request(M.agent.session.list, { cwd: w.dir });
  assert.deepEqual(
    sessions.map((s) => [s.sessionId, s.title, s.cwd]),
    [[id, 'first question', w.dir]],
  );
  assert.ok(!Number.isNaN(Date.parse(sessions[0].updatedAt)));
  assert.equal((await c.request(M.agent.session.list, {})).sessions.length, 1);

  const loaded = await c.request(M.agent.session.load, {
    sessionId: id,
    cwd: w.dir,
    mcpServers: [],
  });
  assert.equal(loaded.modes.currentModeId, 'default');
  assert.equal(c.text('user_message_chunk'), 'first questionsecond question');
  assert.equal(c.text(), 'First answer.Second answer.');
  assert.equal(c.text('agent_thought_chunk'), 'hm');
  assert.deepEqual(
    c.of('tool_call').map((u) => [u.kind, u.status]),
    [['read', 'completed']],
  );
  assert.equal(c.of('tool_call_update').at(-1).status, 'completed');

  c.updates.length = 0;
  await c.request(M.agent.session.close, { sessionId: id });
  assert.equal(await code(c.prompt(id, 'closed')), -32002);
  await c.request(M.agent.session.resume, { sessionId: id, cwd: w.dir, mcpServers: [] });
  assert.equal(c.of('user_message_chunk').length, 0, 'resume tells nothing again');
  await c.request(M.agent.session.delete, { sessionId: id });
  assert.equal((await c.request(M.agent.session.list, { cwd: w.dir })).sessions.length, 0);
  assert.equal(
    await code(c.request(M.agent.session.load, { sessionId: id, cwd: w.dir, mcpServers: [] })),
    -32002,
  );
});

test('modes and options change the session', async (t) => {
  const w = world(t, {
    files: { 'a.txt': 'one\n' },
    script: [call('write', { path: 'b.txt', content: 'new\n' }), { text: 'done' }],
  });
  const c = await connect(t, w);
  const made = await c.request(M.agent.session.new, { cwd: w.dir, mcpServers: [] });
  const id = made.sessionId;
  const ids = made.configOptions.map((o) => o.id);
  assert.deepEqual(ids, ['mode', 'model', 'thinking', 'editPolicy', 'permissions']);
  const current = (r, name) => r.configOptions.find((o) => o.id === name).currentValue;
  for (const [name, value] of [
    ['editPolicy', 'auto'],
    ['permissions', 'workspace'],
    ['thinking', 'high'],
    ['model', 'default'],
  ]) {
    assert.equal(current(await c.set(id, name, value), name), value);
  }
  assert.equal(current(await c.set(id, 'thinking', 'default'), 'thinking'), 'default');
  assert.deepEqual(await c.request(M.agent.session.setMode, { sessionId: id, modeId: 'plan' }), {});
  await c.until('the mode', () =>
    c.of('current_mode_update').some((u) => u.currentModeId === 'plan'),
  );
  assert.equal(current(await c.set(id, 'mode', 'default'), 'mode'), 'default');
  await c.until('the models', () =>
    c
      .of('config_option_update')
      .some((u) => u.configOptions[1].options.some((o) => o.value === 'script')),
  );
  assert.equal((await c.prompt(id, 'write')).stopReason, 'end_turn');
  assert.equal(c.asked.length, 0);
  assert.equal(w.read('b.txt'), 'new\n');
});

test('every announced kind of content reaches the model', async (t) => {
  const w = world(t, {
    files: { 'a.txt': 'linked\n' },
    script: [{ expect: { lastUser: 'read this' }, text: 'seen' }],
  });
  const c = await connect(t, w);
  const id = await c.session();
  const pixel =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const res = await c.prompt(id, [
    { type: 'text', text: 'read this' },
    { type: 'resource_link', name: 'a.txt', uri: 'file://' + w.path('a.txt') },
    { type: 'resource_link', name: 'page', uri: 'https://example.com/page' },
    {
      type: 'resource',
      resource: { uri: 'file:///notes.md', text: 'notes', mimeType: 'text/markdown' },
    },
    { type: 'image', mimeType: 'image/png', data: pixel },
  ]);
  assert.equal(res.stopReason, 'end_turn');
  assert.equal(c.text(), 'seen');
  assert.equal(
    await code(c.prompt(id, [{ type: 'audio', mimeType: 'audio/wav', data: 'AAAA' }])),
    -32602,
  );
});

test('a link to lines of a file sends those lines, and an empty buffer is sent as empty', async (t) => {
  const w = world(t, {
    files: { 'a.txt': 'one\ntwo\nthree\nfour\n' },
    script: [
      { expect: { lastUser: 'two\nthree' }, text: 'seen' },
      { expect: { lastUser: '(empty)' }, text: 'empty' },
    ],
  });
  const c = await connect(t, w);
  const id = await c.session();
  const uri = 'file://' + w.path('a.txt');
  await c.prompt(id, [{ type: 'resource_link', name: 'a.txt', uri: uri + '#L2:3' }]);
  await c.prompt(id, [
    { type: 'text', text: 'and now?' },
    { type: 'resource', resource: { uri, text: '' } },
  ]);
  assert.equal(c.text(), 'seenempty');
  const next = await connect(t, w);
  await c.request(M.agent.session.close, { sessionId: id });
  await next.request(M.agent.session.load, { sessionId: id, cwd: w.dir, mcpServers: [] });
  assert.equal(next.text(), 'seenempty');
  // An image without data is refused. The agent does not read the file to which the image's URI
  // refers.
  const image = { type: 'image', mimeType: 'image/png', data: '', uri: 'file:///etc/passwd' };
  assert.equal(await code(next.prompt(id, [image])), -32602);
});

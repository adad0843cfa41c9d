// Tests which folders are valid for a session, and that each session sees only its own folders.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { M, call, connect, readThen, world } from './harness.js';

// refusal returns the error of a refused request.
const refusal = (promise) =>
  promise.then(
    () => assert.fail('the request was not refused'),
    (e) => e,
  );

const wrong = (w) => [
  ['a relative path', 'work'],
  ['no path', ''],
  ['a missing folder', w.path('missing')],
  ['a file', w.path('a.txt')],
];

test('every method with a cwd refuses one that is not a folder, and names the field', async (t) => {
  const w = world(t, { files: { 'a.txt': 'a\n' }, script: [{ text: 'ok' }] });
  const c = await connect(t, w);
  const id = await c.session();
  const ways = {
    new: (cwd) => c.request(M.agent.session.new, { cwd, mcpServers: [] }),
    load: (cwd) => c.request(M.agent.session.load, { sessionId: id, cwd, mcpServers: [] }),
    resume: (cwd) => c.request(M.agent.session.resume, { sessionId: id, cwd }),
    list: (cwd) => c.request(M.agent.session.list, { cwd }),
  };
  for (const [name, send] of Object.entries(ways)) {
    for (const [what, cwd] of wrong(w)) {
      const e = await refusal(send(cwd));
      assert.equal(e.code, -32602, `${name}, ${what}`);
      assert.match(e.message, /^cwd: /, `${name}, ${what}`);
    }
  }
  assert.equal(
    (await c.prompt(id, 'still there?')).stopReason,
    'end_turn',
    'a refusal harms no session',
  );
});

test('additional folders have the same checks, and errors name their index', async (t) => {
  const w = world(t, { files: { 'a.txt': 'a\n' } });
  const c = await connect(t, w);
  const id = await c.session();
  for (const [what, bad] of wrong(w)) {
    for (const send of [
      (additionalDirectories) => c.session({ additionalDirectories }),
      (additionalDirectories) =>
        c.request(M.agent.session.load, {
          sessionId: id,
          cwd: w.dir,
          mcpServers: [],
          additionalDirectories,
        }),
      (additionalDirectories) =>
        c.request(M.agent.session.resume, { sessionId: id, cwd: w.dir, additionalDirectories }),
    ]) {
      const e = await refusal(send([w.base, bad]));
      assert.equal(e.code, -32602, what);
      assert.match(e.message, /^additionalDirectories\[1\]: /, what);
    }
  }
});

test('a session that cannot be loaded from another folder continues where it is', async (t) => {
  const w = world(t, { script: [{ text: 'one ' }, { text: 'two' }] });
  const other = path.join(w.base, 'other');
  fs.mkdirSync(other);
  const c = await connect(t, w);
  const id = await c.session();
  await c.prompt(id, 'hello');
  assert.equal(
    (await refusal(c.request(M.agent.session.load, { sessionId: id, cwd: other, mcpServers: [] })))
      .code,
    -32002,
  );
  assert.equal(
    (await refusal(c.request(M.agent.session.resume, { sessionId: id, cwd: other }))).code,
    -32002,
  );
  assert.equal((await c.prompt(id, 'again')).stopReason, 'end_turn');
  assert.equal(c.text(), 'one two');
});

test('two sessions in one process see only their own folders', async (t) => {
  const w = world(t);
  const dirs = ['one', 'two'].map((n) => path.join(w.base, n));
  for (const dir of dirs) {
    fs.mkdirSync(dir);
    fs.writeFileSync(path.join(dir, 'own.txt'), `in ${path.basename(dir)}\n`);
  }
  // Each session reads its file by name, then both files by their absolute paths, and then writes
  // into both folders.
  const script = [
    call('read', { path: 'own.txt' }),
    ...dirs.map((dir) => call('read', { path: path.join(dir, 'own.txt') })),
    ...dirs.map((dir) => call('write', { path: path.join(dir, 'made.txt'), content: 'made\n' })),
    { text: 'done' },
  ];
  fs.writeFileSync(w.script, script.map((r) => JSON.stringify(r)).join('\n') + '\n');
  const c = await connect(t, w);
  const sessions = [];
  for (const dir of dirs) {
    const id = await c.session({ cwd: dir });
    await c.set(id, 'editPolicy', 'auto');
    sessions.push(id);
  }
  for (const [i, id] of sessions.entries()) {
    const made = () => dirs.map((dir) => fs.existsSync(path.join(dir, 'made.txt')));
    const before = made();
    c.updates.length = 0;
    assert.equal((await c.prompt(id, 'look around')).stopReason, 'end_turn');
    const ended = c.updates
      .filter((u) => u.sessionId === id && u.update.rawOutput)
      .map((u) => u.update);
    const [byName, ...others] = ended.map((u) => [u.status, u.rawOutput.result]);
    assert.equal(byName[0], 'completed');
    assert.match(byName[1], new RegExp(`in ${path.basename(dirs[i])}`));
    const want = dirs.map((_, j) => (j === i ? 'completed' : 'failed'));
    assert.deepEqual(
      others.map(([status]) => status),
      [...want, ...want],
      JSON.stringify(others),
    );
    assert.ok(
      !JSON.stringify(ended).includes(`in ${path.basename(dirs[1 - i])}`),
      "the other's text was read",
    );
    assert.deepEqual(
      made(),
      before.map((was, j) => was || j === i),
      'written into its own folder alone',
    );
  }
  // Each session is listed only with its own folder.
  for (const [i, dir] of dirs.entries()) {
    const { sessions: listed } = await c.request(M.agent.session.list, { cwd: dir });
    assert.deepEqual(
      listed.map((s) => [s.sessionId, s.cwd]),
      [[sessions[i], dir]],
    );
  }
});

test('an additional folder is a root of its session', async (t) => {
  const w = world(t, { files: { 'a.txt': 'a\n' } });
  const more = path.join(w.base, 'more');
  fs.mkdirSync(more);
  fs.writeFileSync(path.join(more, 'b.txt'), 'b\n');
  const script = [
    readThen(
      path.join(more, 'b.txt'),
      call('edit', { path: path.join(more, 'b.txt'), oldText: 'b\n', newText: 'B\n' }),
    ),
    { expect: { lastTool: 'applied' }, text: 'done' },
  ];
  fs.writeFileSync(w.script, script.map((r) => JSON.stringify(r)).join('\n') + '\n');
  const c = await connect(t, w, { permission: () => 'accept' });
  await c.prompt(await c.session({ additionalDirectories: [more] }), 'edit');
  assert.equal(c.text(), 'done');
  assert.equal(fs.readFileSync(path.join(more, 'b.txt'), 'utf8'), 'B\n');
});

test('a session can be loaded again with other MCP servers', async (t) => {
  const w = world(t, { script: [{ text: 'said. ' }] });
  const c = await connect(t, w);
  const id = await c.session();
  await c.prompt(id, 'hello');
  c.updates.length = 0;
  const mcpServers = [{ name: 'gone', command: '/does/not/exist', args: [], env: [] }];
  await c.request(M.agent.session.load, { sessionId: id, cwd: w.dir, mcpServers });
  // The warning may arrive at any time during the turn.
  const said = () => c.text().replace(/\n\[warning\] MCP server gone: [^\n]*\n/, '');
  assert.equal(said(), 'said. ');
  assert.equal((await c.prompt(id, 'again')).stopReason, 'end_turn');
  assert.equal(said(), 'said. said. ');
  assert.equal(c.of('user_message_chunk').length, 1, 'its past was told once');
});

test('a closed session is released, and another agent can continue it', async (t) => {
  const w = world(t, { script: [{ text: 'said. ' }] });
  const [c, other] = [await connect(t, w), await connect(t, w)];
  const id = await c.session();
  await c.prompt(id, 'hello');
  await c.request(M.agent.session.close, { sessionId: id });
  await other.request(M.agent.session.load, { sessionId: id, cwd: w.dir, mcpServers: [] });
  assert.equal((await other.prompt(id, 'again')).stopReason, 'end_turn');
  assert.equal(other.text(), 'said. said. ');
  // Only one agent can write a session that both have open. The other agent's prompt is refused. It
  // can load the session again once the first agent has closed it.
  await c.request(M.agent.session.load, { sessionId: id, cwd: w.dir, mcpServers: [] });
  assert.equal((await refusal(c.prompt(id, 'me too'))).code, -32600);
  await other.request(M.agent.session.close, { sessionId: id });
  await c.request(M.agent.session.load, { sessionId: id, cwd: w.dir, mcpServers: [] });
  assert.match(c.text(), /said\. said\. $/);
});

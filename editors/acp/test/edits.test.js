import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import * as acp from '@agentclientprotocol/sdk';
import { M, call, connect, edit, readThen, world } from './harness.js';

const lines = (n) => Array.from({ length: n }, (_, i) => `line ${i + 1}\n`).join('');
const two = (p) =>
  readThen(
    p,
    call('edit', {
      path: p,
      edits: [
        { oldText: 'line 2\n', newText: 'LINE 2\n' },
        { oldText: 'line 30\n', newText: 'LINE 30\n' },
      ],
    }),
  );

// index returns the index of the first message that satisfies f, or -1.
const index = (c, f) => c.wire.findIndex(({ m }) => f(m));

test('an edit is shown as a diff, then confirmed, then applied', async (t) => {
  const w = world(t, {
    files: { 'a.txt': lines(5) },
    script: [
      edit('a.txt', 'line 2\n', 'LINE 2\n'),
      { expect: { lastTool: 'applied' }, text: 'done' },
    ],
  });
  const c = await connect(t, w, {
    permission: (p) => {
      assert.equal(w.read('a.txt'), lines(5), 'nothing is written before the answer');
      assert.deepEqual(
        p.options.map((o) => o.optionId),
        ['accept', 'reject', 'accept_always'],
      );
      const diff = p.toolCall.content.find((x) => x.type === 'diff');
      assert.deepEqual(
        [diff.path, diff.oldText, diff.newText],
        [w.path('a.txt'), lines(5), lines(5).replace('line 2', 'LINE 2')],
      );
      return 'accept';
    },
  });
  const id = await c.session();
  assert.equal((await c.prompt(id, 'edit')).stopReason, 'end_turn');
  assert.equal(w.read('a.txt'), lines(5).replace('line 2', 'LINE 2'));
  assert.equal(c.text(), 'done');
  const started = c.of('tool_call').find((u) => u.kind === 'edit');
  const shown = index(
    c,
    (m) =>
      m.params?.update?.toolCallId === started.toolCallId &&
      m.params.update.content?.some((x) => x.type === 'diff'),
  );
  const asked = index(c, (m) => m.method === 'session/request_permission');
  assert.ok(shown >= 0 && shown < asked, 'the diff comes before the question');
  const end = c.of('tool_call_update').findLast((u) => u.toolCallId === started.toolCallId);
  assert.equal(end.status, 'completed');
  assert.equal(end.title, 'Edit a.txt');
  assert.deepEqual(end.locations, [{ path: w.path('a.txt'), line: 2 }]);
  assert.ok(
    c.of('tool_call').every((u) => u.rawInput === undefined),
    'nothing is shown of arguments that still come',
  );
  assert.ok(end.content.some((x) => x.type === 'diff'));
});

const L = lines(40);
const upper = (text, ...n) => n.reduce((all, i) => all.replace(`line ${i}\n`, `LINE ${i}\n`), text);
const shown = (p) => p.toolCall.content.map((x) => [path.basename(x.path), x.oldText, x.newText]);

test('all hunks of a file are one diff, and can be decided one by one', async (t) => {
  const w = world(t, {
    files: { 'a.txt': L },
    script: [
      two('a.txt'),
      { expect: { lastTool: 'applied 1/2 hunks; hunk 1 rejected' }, text: 'done' },
    ],
  });
  const c = await connect(t, w, {
    permission: (p) => {
      assert.deepEqual(shown(p), [
        ['a.txt', L, [upper(L, 2, 30), upper(L, 2), upper(L, 30)][c.asked.length - 1]],
      ]);
      const kinds = p.options.map((o) => o.kind);
      assert.equal(new Set(kinds).size, kinds.length, 'no two options are of one kind');
      return ['each_hunk', 'reject', 'accept'][c.asked.length - 1];
    },
  });
  const id = await c.session();
  await c.prompt(id, 'edit');
  assert.equal(c.asked.length, 3);
  assert.deepEqual(
    c.asked.map((p) => p.toolCall.locations[0].line),
    [2, 2, 30],
  );
  assert.equal(w.read('a.txt'), upper(L, 30));
  const end = c.of('tool_call_update').findLast((u) => u.kind === 'edit');
  assert.equal(end.status, 'completed');
  assert.deepEqual(
    end.content.filter((x) => x.type === 'diff').map((x) => [x.oldText, x.newText]),
    [[L, upper(L, 30)]],
    'in the end it shows what was made',
  );
  assert.match(end.content.find((x) => x.type === 'content').content.text, /hunk 1 rejected/);
});

const patch = (...names) => {
  const of = (n) =>
    `*** Update File: ${n}\n@@\n line 1\n-line 2\n+LINE 2\n line 3\n@@\n line 29\n-line 30\n+LINE 30\n line 31\n`;
  const reads = names.flatMap((n) => call('read', { path: n }).toolCalls);
  return {
    toolCalls: [
      ...reads,
      ...call('apply_patch', { patch: `*** Begin Patch\n${names.map(of).join('')}*** End Patch\n` })
        .toolCalls,
    ],
  };
};

test('several files of an edit can be decided one by one', async (t) => {
  const w = world(t, {
    files: { 'a.txt': L, 'b.txt': L, 'c.txt': L },
    script: [patch('a.txt', 'b.txt', 'c.txt'), { text: 'done' }],
  });
  const answers = ['each_file', 'accept', 'each_hunk', 'reject', 'accept', 'reject'];
  const c = await connect(t, w, { permission: () => answers[c.asked.length - 1] });
  const id = await c.session();
  await c.prompt(id, 'edit');
  const [a, b, both] = [['a.txt'], ['b.txt'], ['c.txt']].map(([n]) => [n, L, upper(L, 2, 30)]);
  assert.deepEqual(c.asked.map(shown), [
    [a, b, both],
    [a],
    [b],
    [['b.txt', L, upper(L, 2)]],
    [['b.txt', L, upper(L, 30)]],
    [both],
  ]);
  assert.deepEqual(['a.txt', 'b.txt', 'c.txt'].map(w.read), [upper(L, 2, 30), upper(L, 30), L]);
});

for (const take of ['first', 'last']) {
  test(`a client with one button per kind, which sends the ${take} option of a kind, accepts all`, async (t) => {
    const w = world(t, {
      files: { 'a.txt': L, 'b.txt': L },
      script: [patch('a.txt', 'b.txt'), { expect: { lastTool: 'applied' }, text: 'done' }],
    });
    const c = await connect(t, w, {
      permission: (p) =>
        p.options[take === 'first' ? 'find' : 'findLast']((o) => o.kind === 'allow_once').optionId,
    });
    const id = await c.session();
    await c.prompt(id, 'edit');
    assert.equal(c.asked.length, take === 'first' ? 1 : 3);
    assert.deepEqual(['a.txt', 'b.txt'].map(w.read), [upper(L, 2, 30), upper(L, 2, 30)]);
  });
}

test('the plugins of this project decide every hunk in one answer', async (t) => {
  const w = world(t, {
    files: { 'a.txt': lines(40) },
    script: [two('a.txt'), { expect: { lastTool: 'keep the second' }, text: 'done' }],
  });
  const c = await connect(t, w, {
    permission: (p) => {
      const hunks = p._meta.agentLsp.proposal.files[0].hunks;
      const decisions = [
        { hunkId: hunks[0].hunkId, action: 'accept' },
        { hunkId: hunks[1].hunkId, action: 'reject', comment: 'keep the second' },
      ];
      return {
        outcome: { outcome: 'selected', optionId: 'accept' },
        _meta: { agentLsp: { decisions } },
      };
    },
  });
  const id = await c.session();
  await c.prompt(id, 'edit');
  assert.equal(c.text(), 'done');
  assert.equal(w.read('a.txt'), lines(40).replace('line 2\n', 'LINE 2\n'));
});

test('a cancel after one of two hunks was accepted keeps that one', async (t) => {
  const w = world(t, { files: { 'a.txt': lines(40) }, script: [two('a.txt'), { text: 'next' }] });
  const c = await connect(t, w, {
    permission: (_p, signal) =>
      ['each_hunk', 'accept'][c.asked.length - 1] ??
      new Promise((r) => signal.addEventListener('abort', () => r(null))),
  });
  const id = await c.session();
  const running = c.prompt(id, 'edit');
  await c.until('the question about the rest', () => c.asked.length === 3);
  await c.notify(M.agent.session.cancel, { sessionId: id });
  assert.equal((await running).stopReason, 'cancelled');
  assert.equal(w.read('a.txt'), upper(L, 2));
  assert.equal((await c.prompt(id, 'again')).stopReason, 'end_turn');
  assert.equal(c.text(), 'next');
});

for (const [name, answer] of [
  ['rejected', 'reject'],
  ['dismissed', null],
  ['answered with nonsense', 'no-such-option'],
]) {
  test(`an edit that is ${name} is not applied, and the turn continues`, async (t) => {
    const w = world(t, {
      files: { 'a.txt': lines(5) },
      script: [
        edit('a.txt', 'line 2\n', 'LINE 2\n'),
        { expect: { lastTool: 'reject' }, text: 'as you wish' },
      ],
    });
    const c = await connect(t, w, { permission: () => answer });
    const id = await c.session();
    assert.equal((await c.prompt(id, 'edit')).stopReason, 'end_turn');
    assert.equal(w.read('a.txt'), lines(5));
    assert.equal(c.text(), 'as you wish');
  });
}

test('accept_always applies later edits without asking', async (t) => {
  const w = world(t, {
    files: { 'a.txt': lines(5) },
    script: [
      edit('a.txt', 'line 2\n', 'LINE 2\n'),
      edit('a.txt', 'line 3\n', 'LINE 3\n'),
      { text: 'done' },
    ],
  });
  const c = await connect(t, w, { permission: () => 'accept_always' });
  const id = await c.session();
  await c.prompt(id, 'edit');
  assert.equal(c.asked.length, 1);
  assert.equal(w.read('a.txt'), lines(5).replace('line 2', 'LINE 2').replace('line 3', 'LINE 3'));
  assert.ok(
    c
      .of('config_option_update')
      .some((u) => u.configOptions.find((o) => o.id === 'editPolicy').currentValue === 'auto'),
  );
});

for (const policy of ['collect', 'review']) {
  test(`under ${policy} the user is asked about the edits at the end of the turn`, async (t) => {
    const w = world(t, {
      files: { 'a.txt': lines(40) },
      script: [edit('a.txt', 'line 2\n', 'LINE 2\n'), { text: 'done' }],
    });
    const c = await connect(t, w, {
      permission: () => {
        assert.equal(c.text(), 'done', 'the turn has ended');
        return 'reject';
      },
    });
    const id = await c.session();
    await c.set(id, 'editPolicy', policy);
    assert.equal((await c.prompt(id, 'edit')).stopReason, 'end_turn');
    assert.equal(c.asked.length, 1);
    assert.equal(w.read('a.txt'), lines(40));
  });
}

test('a question that a client drops outside a prompt is asked again with the next prompt', async (t) => {
  const w = world(t, {
    files: { 'a.txt': lines(5) },
    script: [
      { when: { lastUser: 'edit' }, ...edit('a.txt', 'line 2\n', 'LINE 2\n') },
      { when: { lastTool: '.' }, text: 'done' },
    ],
  });
  const never = () => new Promise(() => {});
  const before = await connect(t, w, { permission: never });
  const id = await before.session();
  await before.set(id, 'editPolicy', 'collect');
  before.prompt(id, 'edit').catch(() => {});
  await before.until('the question', () => before.asked.length === 1);
  before.child.kill('SIGKILL');
  await before.exited; // until then, the session is locked
  const c = await connect(t, w, { permission: () => (c.asked.length === 1 ? never() : 'accept') });
  await c.request(M.agent.session.load, { sessionId: id, cwd: w.dir, mcpServers: [] });
  await c.until('the question of a loaded session', () => c.asked.length === 1);
  assert.equal((await c.prompt(id, 'go on')).stopReason, 'end_turn');
  assert.equal(c.asked.length, 2);
  assert.equal(w.read('a.txt'), lines(5).replace('line 2', 'LINE 2'));
  const [first] = c.wire.filter(({ m }) => m.method === 'session/request_permission');
  assert.deepEqual(
    c.wire.filter(({ m }) => m.method === '$/cancel_request').map(({ m }) => m.params.requestId),
    [first.m.id],
  );
});

test('a client without file access is also shown the whole file', async (t) => {
  const w = world(t, {
    files: { 'a.txt': L, 'b.txt': L },
    script: [
      two('a.txt'),
      readThen('b.txt', call('write', { path: 'b.txt', content: 'new\n' })),
      { text: 'done' },
    ],
  });
  const c = await connect(t, w, { permission: () => 'accept' });
  const id = await c.session();
  await c.prompt(id, 'edit');
  const ends = c
    .of('tool_call_update')
    .filter((u) => u.kind === 'edit' && u.status === 'completed');
  assert.deepEqual(
    ends.map((u) => u.content.map((x) => [x.oldText, x.newText])),
    [[[L, upper(L, 2, 30)]], [[L, 'new\n']]],
  );
});

test('a created file has no old text', async (t) => {
  const w = world(t, {
    script: [call('write', { path: 'new.txt', content: 'fresh\n' }), { text: 'done' }],
  });
  const c = await connect(t, w, {
    permission: (p) => (
      assert.ok(p.toolCall.content.some((x) => x.type === 'diff' && x.oldText == null)), 'accept'
    ),
  });
  const id = await c.session();
  await c.prompt(id, 'create');
  assert.equal(w.read('new.txt'), 'fresh\n');
});

// editor simulates a client whose buffers may differ from the files on disk. A buffer that the user
// has typed into is not saved.
function editor(_w, buffers = {}) {
  const e = {
    buffers,
    reads: [],
    writes: [],
    readFile: (p) => (
      e.reads.push(p), e.buffers[p] ?? fs.readFileSync(p, 'utf8').replaceAll('\r\n', '\n')
    ),
    writeFile: (p, text) => {
      e.writes.push(p);
      if (p in e.buffers) e.buffers[p] = text.replaceAll('\r\n', '\n');
      const crlf = fs.existsSync(p) && fs.readFileSync(p, 'utf8').includes('\r\n');
      fs.writeFileSync(p, crlf ? text.replaceAll('\r\n', '\n').replaceAll('\n', '\r\n') : text);
    },
  };
  return e;
}

test('the model reads and edits the unsaved buffer', async (t) => {
  const w = world(t, {
    files: { 'a.txt': lines(5) },
    script: [
      call('read', { path: 'a.txt' }),
      { expect: { lastTool: 'typed' }, ...edit('a.txt', 'typed\n', 'TYPED\n') },
      { expect: { lastTool: 'applied' }, text: 'done' },
    ],
  });
  const p = w.path('a.txt');
  const e = editor(w, { [p]: 'typed\n' + lines(5) });
  const c = await connect(t, w, { permission: () => 'accept', ...e });
  const id = await c.session();
  assert.equal((await c.prompt(id, 'edit')).stopReason, 'end_turn');
  assert.equal(c.text(), 'done');
  assert.equal(e.buffers[p], 'TYPED\n' + lines(5));
  assert.equal(w.read('a.txt'), 'TYPED\n' + lines(5));
  assert.deepEqual(e.writes, [p]);
});

test('text typed while an edit waits is kept', async (t) => {
  const w = world(t, {
    files: { 'a.txt': lines(5) },
    script: [
      edit('a.txt', 'line 4\n', 'LINE 4\n'),
      { expect: { lastTool: 'applied' }, text: 'done' },
    ],
  });
  const p = w.path('a.txt');
  const e = editor(w, { [p]: lines(5) });
  const c = await connect(t, w, {
    ...e,
    permission: () => ((e.buffers[p] = 'typed meanwhile\n' + lines(5)), 'accept'),
  });
  const id = await c.session();
  await c.prompt(id, 'edit');
  assert.equal(e.buffers[p], 'typed meanwhile\n' + lines(5).replace('line 4', 'LINE 4'));
  assert.equal(c.text(), 'done');
});

test('line endings survive an editor that hides them', async (t) => {
  const crlf = lines(5).replaceAll('\n', '\r\n');
  const w = world(t, {
    files: { 'a.txt': crlf },
    script: [edit('a.txt', 'line 4\n', 'LINE 4\n'), { text: 'done' }],
  });
  const c = await connect(t, w, { ...editor(w), permission: () => 'accept' });
  const id = await c.session();
  await c.prompt(id, 'edit');
  assert.equal(w.read('a.txt'), crlf.replace('line 4', 'LINE 4'));
});

test('a write that the client reports but does not perform is detected', async (t) => {
  const w = world(t, {
    files: { 'a.txt': lines(5) },
    script: [
      edit('a.txt', 'line 4\n', 'LINE 4\n'),
      { expect: { lastTool: 'not|fail|conflict|skip' }, text: 'told' },
    ],
  });
  const c = await connect(t, w, {
    permission: () => 'accept',
    readFile: () => lines(5),
    writeFile: () => {},
  });
  const id = await c.session();
  assert.equal((await c.prompt(id, 'edit')).stopReason, 'end_turn');
  assert.equal(c.text(), 'told');
  assert.equal(w.read('a.txt'), lines(5));
});

test('a client that can only read keeps its unsaved buffer', async (t) => {
  const w = world(t, {
    files: { 'a.txt': lines(5) },
    script: [edit('a.txt', 'line 4\n', 'LINE 4\n'), { expect: { lastTool: 'save' }, text: 'told' }],
  });
  const c = await connect(t, w, {
    permission: () => 'accept',
    readFile: () => 'unsaved\n' + lines(5),
  });
  const id = await c.session();
  await c.prompt(id, 'edit');
  assert.equal(c.text(), 'told');
  assert.equal(w.read('a.txt'), lines(5));
});

test('a file that the client denies is not read from the disk', async (t) => {
  const w = world(t, {
    files: { 'a.txt': 'of the disk\n', 'b.txt': 'seen\n' },
    script: [
      call('read', { path: 'a.txt' }),
      {
        expect: { lastTool: 'not for you' },
        ...call('edit', { path: 'a.txt', old_string: 'x', new_string: 'y' }),
      },
      { expect: { lastTool: 'not for you' }, ...call('read', { path: 'b.txt' }) },
      { expect: { lastTool: 'seen' }, text: 'denied' },
    ],
  });
  const denies = (p) => {
    if (p === w.path('a.txt')) throw new Error('not for you');
    throw acp.RequestError.resourceNotFound(p);
  };
  const c = await connect(t, w, {
    permission: () => 'accept',
    readFile: denies,
    writeFile: () => {},
  });
  const id = await c.session();
  assert.equal((await c.prompt(id, 'read')).stopReason, 'end_turn');
  assert.equal(c.text(), 'denied');
  assert.ok(
    !JSON.stringify(c.updates).includes('of the disk'),
    'the text of a denied file is in an update',
  );
  assert.equal(w.read('a.txt'), 'of the disk\n');
});

test('the client writes a new file, and is asked to read it at most once', async (t) => {
  const w = world(t, {
    script: [
      call('write', { path: 'deep/new.txt', content: 'new\n' }),
      { expect: { lastTool: 'applied' }, text: 'made' },
    ],
  });
  const p = w.path('deep/new.txt');
  const reads = [],
    writes = [];
  const c = await connect(t, w, {
    permission: () => 'accept',
    readFile: (path) => {
      reads.push(path);
      throw acp.RequestError.resourceNotFound(path);
    },
    writeFile: (path, text) => {
      writes.push([path, text]);
      fs.mkdirSync(path.slice(0, path.lastIndexOf('/')), { recursive: true });
      fs.writeFileSync(path, text);
    },
  });
  const id = await c.session();
  await c.prompt(id, 'make');
  assert.equal(c.text(), 'made');
  assert.deepEqual(writes, [[p, 'new\n']]);
  assert.ok(reads.length <= 1, `${reads.length} reads that failed before the file was written`);
  assert.equal(w.read('deep/new.txt'), 'new\n');
});

test('a client that refuses to write a new file is not bypassed', async (t) => {
  const w = world(t, {
    script: [
      call('write', { path: 'new.txt', content: 'new\n' }),
      { expect: { lastTool: 'read-only today' }, text: 'refused' },
    ],
  });
  const c = await connect(t, w, {
    permission: () => 'accept',
    readFile: (path) => {
      throw acp.RequestError.resourceNotFound(path);
    },
    writeFile: () => {
      throw new Error('read-only today');
    },
  });
  const id = await c.session();
  await c.prompt(id, 'make');
  assert.equal(c.text(), 'refused');
  assert.ok(!fs.existsSync(w.path('new.txt')));
});

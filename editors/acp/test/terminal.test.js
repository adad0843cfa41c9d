import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { M, acp, call, connect, world } from './harness.js';

const bash = (command, more = {}) => call('bash', { command, ...more });

// terminals runs the requested commands and records the requests.
function terminals() {
  const open = new Map();
  const log = [];
  const of = (p) => open.get(p.terminalId) ?? assert.fail(`no terminal ${p.terminalId}`);
  return {
    log,
    create(p) {
      log.push('create');
      const child = spawn(p.command, p.args, {
        cwd: p.cwd,
        detached: true,
        env: { PATH: process.env.PATH, IN_TERMINAL: 'yes' },
      });
      const t = { child, output: '', truncated: false };
      for (const s of [child.stdout, child.stderr])
        s.on('data', (d) => {
          t.output += d;
          if (p.outputByteLimit && t.output.length > p.outputByteLimit)
            (t.output = t.output.slice(-p.outputByteLimit)), (t.truncated = true);
        });
      t.exited = new Promise((r) =>
        child.on('close', (exitCode, signal) => r({ exitCode, signal })),
      );
      const terminalId = `t${open.size + 1}`;
      open.set(terminalId, t);
      return { terminalId };
    },
    output: (p) => (log.push('output'), { output: of(p).output, truncated: of(p).truncated }),
    wait: (p) => (log.push('wait'), of(p).exited),
    kill(p) {
      log.push('kill');
      try {
        process.kill(-of(p).child.pid, 'SIGKILL');
      } catch {}
      return of(p).exited.then(() => ({}));
    },
    release: (p) => (log.push('release'), of(p), {}),
  };
}

// off returns a world whose commands run without agent-lsp's sandbox, which a client's terminal
// cannot provide.
function off(t, options, sandbox = 'off') {
  const w = world(t, options);
  fs.mkdirSync(path.join(w.base, '.config', 'agent-lsp'), { recursive: true });
  fs.writeFileSync(
    path.join(w.base, '.config', 'agent-lsp', 'config.json'),
    JSON.stringify({ sandbox }),
  );
  return w;
}

test("a command runs in the client's terminal, which is shown with its call", async (t) => {
  const w = off(t, {
    script: [
      bash('echo $IN_TERMINAL > env; echo out; echo err >&2; exit 3'),
      { expect: { lastTool: '(?s)out.*err.*exit.*3|(?s)err.*out.*3' }, text: 'done' },
    ],
  });
  const terminal = terminals();
  const c = await connect(t, w, {
    terminal,
    permission: (p) => p.options.find((o) => o.kind === 'allow_once').optionId,
  });
  const id = await c.session();
  assert.equal((await c.prompt(id, 'run')).stopReason, 'end_turn');
  assert.equal(c.text(), 'done');
  assert.equal(w.read('env'), 'yes\n');
  assert.deepEqual(terminal.log, ['create', 'wait', 'output', 'release']);
  const shown = c
    .of('tool_call_update')
    .filter((u) => u.content?.some((x) => x.type === 'terminal'));
  assert.ok(shown.some((u) => u.status === 'in_progress') && shown.at(-1).status === 'completed');
});

test('a long output is truncated to its end', async (t) => {
  const w = off(t, {
    script: [bash('seq 1 100000'), { expect: { lastTool: '(?s)omitted.*100000' }, text: 'done' }],
  });
  const c = await connect(t, w, { terminal: terminals() });
  const id = await c.session();
  await c.set(id, 'permissions', 'trust');
  await c.prompt(id, 'run');
  assert.equal(c.text(), 'done');
});

test("a cancel kills the terminal's command", async (t) => {
  const w = off(t, { script: [bash('echo $$ > pid; sleep 300'), { text: 'next' }] });
  const terminal = terminals();
  const c = await connect(t, w, { terminal });
  const id = await c.session();
  await c.set(id, 'permissions', 'trust');
  const running = c.prompt(id, 'run');
  await c.until('the command', () => fs.existsSync(w.path('pid')) && w.read('pid').trim());
  await c.notify(M.agent.session.cancel, { sessionId: id });
  assert.equal((await running).stopReason, 'cancelled');
  await c.until('the release', () => terminal.log.includes('release'));
  assert.deepEqual(
    terminal.log.filter((x) => x !== 'wait' && x !== 'output'),
    ['create', 'kill', 'release'],
  );
  await c.until('the end of the command', () => !fs.existsSync(`/proc/${w.read('pid').trim()}`));
  assert.equal((await c.prompt(id, 'again')).stopReason, 'end_turn');
});

test('a command that takes too long is killed, and the model is notified', async (t) => {
  const w = off(t, {
    script: [
      bash('sleep 300', { timeout: 0.5 }),
      { expect: { lastTool: '(?i)time' }, text: 'done' },
    ],
  });
  const terminal = terminals();
  const c = await connect(t, w, { terminal });
  const id = await c.session();
  await c.set(id, 'permissions', 'trust');
  await c.prompt(id, 'run');
  assert.equal(c.text(), 'done');
  assert.ok(terminal.log.includes('kill'));
});

test('if the client turns out to have no terminals, the agent runs the command itself', async (t) => {
  const w = off(t, { script: [bash('echo ours${IN_TERMINAL} > env'), { text: 'done' }] });
  const terminal = {
    ...terminals(),
    create: () => {
      throw acp.RequestError.methodNotFound('terminal/create');
    },
  };
  const c = await connect(t, w, { terminal });
  const id = await c.session();
  await c.set(id, 'permissions', 'trust');
  await c.prompt(id, 'run');
  assert.equal(w.read('env'), 'ours\n');
});

test('a command whose terminal is refused is not run elsewhere', async (t) => {
  const w = off(t, {
    script: [
      bash('echo ran > env'),
      { expect: { lastTool: 'not run.*refused.*denied by the user' }, text: 'done' },
    ],
  });
  const terminal = {
    ...terminals(),
    create: () => {
      throw new Error('denied by the user');
    },
  };
  const c = await connect(t, w, { terminal });
  const id = await c.session();
  await c.set(id, 'permissions', 'trust');
  await c.prompt(id, 'run');
  assert.equal(c.text(), 'done');
  assert.ok(!fs.existsSync(w.path('env')));
});

test('a terminal that is created too late is killed, and its command does not run twice', async (t) => {
  const w = off(t, {
    script: [
      bash('echo once >> runs; sleep 30; echo end >> runs'),
      {
        expect: { lastTool: 'did not report in time whether it created a terminal' },
        text: 'done',
      },
    ],
  });
  const terminal = terminals();
  const create = terminal.create;
  let make;
  const asked = new Promise((r) => (make = r));
  terminal.create = async (p) => {
    await asked;
    return create(p);
  };
  const c = await connect(t, w, { terminal });
  const id = await c.session();
  await c.set(id, 'permissions', 'trust');
  await c.prompt(id, 'run');
  assert.equal(c.text(), 'done');
  assert.ok(!fs.existsSync(w.path('runs')));
  make();
  await c.until("the late terminal's end", () => terminal.log.includes('release'));
  assert.deepEqual(terminal.log, ['create', 'kill', 'release']);
  // The kill may arrive before the shell opens the file or before the shell writes its first line.
  const runs = fs.existsSync(w.path('runs')) ? w.read('runs') : '';
  assert.ok(['', 'once\n'].includes(runs), `it wrote ${JSON.stringify(runs)}`);
});

test('a required sandbox is not bypassed for a terminal', async (t) => {
  const w = off(t, { script: [bash('echo in'), { text: 'done' }] }, 'require');
  const terminal = terminals();
  const c = await connect(t, w, { terminal });
  const id = await c.session();
  await c.set(id, 'permissions', 'trust');
  await c.prompt(id, 'run');
  assert.deepEqual(terminal.log, []);
});

// Tests features around the conversation: diagnostics, the walkthrough, crashes, reloads, folders
// and workspace trust.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { parent, program } from '../processes.mjs';
import { until } from '../workbench.mjs';
import { edit, prices, review, talk } from './model.mjs';

async function fixDiagnostic(d) {
  d.write('broken.json', '{ "a": 1,, }\n');
  await d.play(
    {
      expect: { lastUser: '(?s)Fix .*broken.json.*line 1' },
      ...edit(d.at('broken.json'), '1,,', '1'),
    },
    { text: 'Fixed.' },
  );
  await d.openFile('broken.json');
  await d.goto(1);
  await d.page.locator('.squiggly-error').first().waitFor();
  await d.agent('Fix the Problem at the Cursor');
  await d.click(review(d).getByRole('button', { name: 'Accept file' }));
  await d.entry('assistantMessage', 'Fixed').waitFor();
  await d.bufferHas('"a": 1 }');
}

async function daemonKilled(d) {
  await d.play({ text: 'First answer.' }, talk('Before the crash. '));
  await d.prompt('begin');
  await d.entry('assistantMessage', 'First answer').waitFor();
  await d.idle();
  await d.prompt('talk on');
  await d.entry('assistantMessage', 'Before the crash').waitFor();
  fs.writeFileSync(d.script, JSON.stringify({ text: 'After the crash.' }) + '\n');
  process.kill(d.daemon, 'SIGKILL');
  await until('another daemon runs', () => d.daemons().some((other) => other !== d.daemon));
  await d.idle();
  await d.entry('assistantMessage', 'First answer').waitFor();
  await d.prompt('still there?');
  await d.entry('assistantMessage', 'After the crash').waitFor();
  assert.equal(await d.entry('userMessage', 'begin').count(), 1);
}

async function reloadInMidTurn(d) {
  await d.play(talk('Before the reload. '));
  await d.prompt('talk on');
  await d.entry('assistantMessage', 'Before the reload').waitFor();
  await d.input.fill('half a sen');
  fs.writeFileSync(d.script, JSON.stringify({ text: 'After the reload.' }) + '\n');
  await d.reload();
  await d.entry('userMessage', 'talk on').waitFor();
  await d.entry('assistantMessage', 'Before the reload').waitFor();
  await d.idle();
  assert.equal(await d.input.inputValue(), 'half a sen', 'what was being written is kept');
  await d.prompt('and now?');
  await d.entry('assistantMessage', 'After the reload').waitFor();
  assert.equal(await d.entry('userMessage', 'talk on').count(), 1);
}

async function twoFolders(d) {
  const second = path.join(d.dir, 'second');
  fs.mkdirSync(second, { recursive: true });
  fs.writeFileSync(path.join(second, 'other.txt'), 'one\n');
  const file = path.join(d.dir, 'two.code-workspace');
  fs.writeFileSync(file, JSON.stringify({ folders: [{ path: d.workspace }, { path: second }] }));
  await until('both folders are open', async () => {
    await d.open({ workspace: file });
    // This workbench does not watch files. A window that was opened before its workspace file could
    // be read has no folders.
    return (await d.command('folders')) === 2;
  });
  await d.play(edit(path.join(second, 'other.txt'), 'one', 'two'), { text: 'Changed there.' });
  await d.prompt('change the other');
  await d.click(review(d).getByRole('button', { name: 'Accept file' }));
  await d.entry('assistantMessage', 'Changed there').waitFor();
  await until(
    'the file is changed',
    () => fs.readFileSync(path.join(second, 'other.txt'), 'utf8') === 'two\n',
  );
}

async function untrusted(d) {
  const folder = path.join(d.dir, 'stranger');
  fs.mkdirSync(path.join(folder, '.vscode'), { recursive: true });
  fs.writeFileSync(path.join(folder, 'a.txt'), 'one\n');
  const evil = path.join(folder, 'evil.sh');
  fs.writeFileSync(evil, `#!/bin/sh\ntouch '${folder}/evil-ran'\n`, { mode: 0o755 });
  fs.writeFileSync(
    path.join(folder, '.vscode', 'settings.json'),
    JSON.stringify({
      'agentLsp.server.path': evil,
      'agentLsp.systemPrompt': 'evil',
      'agentLsp.hooks': { beforeRun: [{ command: evil }] },
    }),
  );
  d.setting('security.workspace.trust.enabled', true);
  d.setting('security.workspace.trust.startupPrompt', 'never');
  await d.open({ folder });
  await d.page.locator('.statusbar-item', { hasText: 'Restricted' }).waitFor();
  await d.play({ text: 'Hello, stranger.' });
  await d.prompt('hello');
  await d.entry('assistantMessage', 'Hello, stranger').waitFor();
  assert.equal(fs.existsSync(path.join(folder, 'evil-ran')), false);
  d.setting('security.workspace.trust.enabled', false);
}

/**
 * Checks which daemon is started. The daemon comes from the package, but the setting takes
 * precedence. (The unit tests cover PATH, which the host gets from the user's shell.) The daemon
 * runs on the machine with the files, not on the machine with the window.
 */
async function whereTheDaemonIs(d) {
  const restarted = (wanted) =>
    until(`the daemon is ${wanted}`, async () => {
      await d.command('agentLsp.restartServer');
      return d.daemons().map(program).includes(wanted);
    });
  await d.play({ text: 'Hello.' });
  const bundled = program(d.daemon);
  assert.ok(
    bundled.startsWith(path.join(fs.realpathSync(d.dir), 'extensions')),
    `the package's own: ${bundled}`,
  );
  const { name, kind, pid } = await d.command('remote');
  assert.ok(name !== '', 'the window is one of another machine, as far as the editor knows');
  assert.equal(kind, 2, 'the extension is one of the workspace');
  assert.equal(parent(d.daemon), pid, 'the daemon is a child of the remote extension host');
  const mine = path.join(fs.realpathSync(d.dir), 'mine', 'agent-lsp');
  fs.mkdirSync(path.dirname(mine));
  fs.copyFileSync(bundled, mine);
  await d.configure('agentLsp.server.path', mine);
  await restarted(mine);
  await d.configure('agentLsp.server.path', `${mine}-not`);
  await until('a wrong setting is told', async () => {
    await d.command('agentLsp.restartServer');
    return d.panel.locator('.problem', { hasText: 'not an executable file' }).isVisible();
  });
  await d.shot('no-daemon');
  await d.configure('agentLsp.server.path', null);
  await restarted(bundled);
}

/**
 * Starts a model server on the first free one of the usual ports, as on a user's machine. The
 * server counts its prompts. Its model has a price at the provider that hosts it.
 */
async function localServer(model) {
  let prompts = 0;
  const usage = { prompt_tokens: 50_000, completion_tokens: 100, total_tokens: 50_100 };
  const reply = (text) =>
    [{ delta: { role: 'assistant', content: text } }, { delta: {}, finish_reason: 'stop' }]
      .map(
        (choice) =>
          `data: ${JSON.stringify({ id: '1', object: 'chat.completion.chunk', model, choices: [{ index: 0, ...choice }], usage })}\n\n`,
      )
      .join('');
  const server = http.createServer((request, response) => {
    if (request.url.endsWith('/models'))
      return void response
        .setHeader('content-type', 'application/json')
        .end(JSON.stringify({ object: 'list', data: [{ id: model, object: 'model' }] }));
    if (!request.url.endsWith('/chat/completions')) return void response.writeHead(404).end();
    prompts++;
    request
      .resume()
      .on('end', () =>
        response
          .setHeader('content-type', 'text/event-stream')
          .end(`${reply('Hello from this machine.')}data: [DONE]\n\n`),
      );
  });
  const listen = (port) =>
    new Promise((resolve) =>
      server.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => resolve(true)),
    );
  const free = await [11434, 1234, 8000, 8080].reduce(
    async (found, port) => (await found) || (await listen(port)),
    false,
  );
  assert.ok(free, 'one of the usual ports of model servers is free');
  return { server, prompts: () => prompts };
}

/**
 * Checks that the walkthrough's second step finds a server without configuration, and that the
 * server's model is used. A prompt to this server costs nothing.
 */
async function localModel(d) {
  const { server, prompts } = await localServer('gpt-4o-mini');
  try {
    await d.configure('agentLsp.prices', null);
    await d.play({ text: 'Scripted.' });
    await d.configure('agentLsp.server.env', { AGENT_LSP_SCRIPT: '' });
    await d.restartDaemon();
    await d.newSession();
    await d.agent('First Steps');
    const step = d.page.locator('.getting-started-step', { hasText: 'Find a model' });
    const look = step.locator('.monaco-button', { hasText: 'Find a model' });
    await d.clickUntil(step, () => look.isVisible());
    await d.clickUntil(look, () =>
      d.page.locator('.notification-toast', { hasText: 'gpt-4o-mini' }).isVisible(),
    );
    await step.locator('.codicon-getting-started-step-checked').waitFor();
    await d.shot('local-model');
    await d.prompt('hello');
    const ask = d.panel.locator('.ask', { hasText: 'Send prompts to' });
    await ask.waitFor();
    assert.equal(prompts(), 0, 'the server gets no prompt before the answer');
    await d.shot('local-model-question');
    await d.click(ask.getByRole('button', { name: /^Allow: send prompts to it/ }));
    await d.entry('assistantMessage', 'Hello from this machine').waitFor();
    await d.idle();
    await d.panel.locator('.gauge .share', { hasText: 'Context' }).waitFor();
    assert.equal(await d.panel.locator('.gauge .cost').count(), 0, 'no cost on this machine');
  } finally {
    server.close();
    await d.configure('agentLsp.server.env', null);
    await d.configure('agentLsp.prices', prices);
  }
  await d.play({ text: 'From the script again.' });
  await d.prompt('who answers?');
  await d.entry('assistantMessage', 'From the script again').waitFor();
}

/**
 * Checks that the messages between the editor and the daemon are shown while the setting enables
 * them.
 */
async function trace(d) {
  await d.configure('agentLsp.trace.server', 'verbose');
  await d.play({ text: 'Traced.' });
  await d.prompt('trace me');
  await d.entry('assistantMessage', 'Traced').waitFor();
  await d.agent('Show Trace');
  await d.page
    .locator('.part.panel select, .part.panel .monaco-select-box')
    .filter({ hasText: 'agent-lsp trace' })
    .first()
    .waitFor();
  const written = (text) =>
    until(`the channel has '${text}'`, async () =>
      (await d.buffer('.part.panel .output-view')).includes(text),
    );
  await written("'agent/job/list"); // this is the last message after a turn
  await d.shot('trace');
  await d.agent('Show Log');
  await written('(bundled)');
  await d.configure('agentLsp.trace.server', null);
  await d.run('View: Toggle Panel Visibility');
}

export const surroundingSteps = [
  ['where the daemon is', whereTheDaemonIs],
  ['a local model is found', localModel],
  ['trace', trace],
  ['fix a diagnostic', fixDiagnostic],
  ['daemon killed during a turn', daemonKilled],
  ['reload during a turn', reloadInMidTurn],
  ['two folders', twoFolders],
  ['untrusted workspace', untrusted],
];

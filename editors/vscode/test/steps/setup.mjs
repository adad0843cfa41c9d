// Sets up a provider in the editor with a correct and a wrong key, from the empty state to the
// first answer.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import path from 'node:path';
import { until } from '../workbench.mjs';
import { edit, openCalc, pendingHunks } from './model.mjs';

/** Starts a provider that requires a key. Its list also contains a model that cannot chat. */
async function providerServer(key) {
  const json = (response, status, body) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const chunk = (choice) =>
    `data: ${JSON.stringify({ id: '1', object: 'chat.completion.chunk', model: 'tiny-chat', choices: [{ index: 0, ...choice }] })}\n\n`;
  const server = http.createServer((request, response) => {
    if (server.broken && request.method === 'POST')
      return void json(response, 500, { error: { message: 'out of memory' } });
    if (request.headers.authorization !== `Bearer ${key}`)
      return void json(response, 401, { error: { message: 'who are you?' } });
    if (request.url === '/v1/models')
      return void json(response, 200, {
        object: 'list',
        data: ['tiny-chat', 'text-embedding-3', 'whisper-1'].map((id) => ({ id, object: 'model' })),
      });
    if (request.url !== '/v1/chat/completions') return void response.writeHead(404).end();
    request
      .resume()
      .on('end', () =>
        response
          .setHeader('content-type', 'text/event-stream')
          .end(
            `${chunk({ delta: { role: 'assistant', content: 'Hello from the provider.' } })}${chunk({ delta: {}, finish_reason: 'stop' })}data: [DONE]\n\n`,
          ),
      );
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

const toast = (d, text) => d.page.locator('.notification-toast', { hasText: text });
/**
 * Returns the rows of the open list. The rows of a closed list remain in the page but are not
 * visible.
 */
const rows = (d) =>
  d.page
    .locator('.quick-input-list .monaco-list-row .label-name')
    .evaluateAll((all) =>
      all.filter((row) => row.checkVisibility()).map((row) => row.textContent.trim()),
    );

/**
 * Waits for a notification. If a list closes at the same time, the editor hides the toast and keeps
 * the notification in the notification center.
 */
async function notified(d, text) {
  const said = d.page.locator('.notification-list-item', { hasText: text });
  await until(`the notification '${text}'`, async () => {
    if (await said.first().isVisible()) return true;
    await d.page.locator('.statusbar-item[id="status.notifications"]').click({ timeout: 5000 });
    return said.first().isVisible();
  });
  await d.run('Notifications: Clear All Notifications');
}

/** Returns the paths of the files in a folder that contain the text. */
export function filesWith(dir, text) {
  const files = fs
    .readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile());
  return files
    .map((entry) => path.join(entry.parentPath, entry.name))
    .filter((file) => fs.readFileSync(file).includes(text));
}

async function setUpProvider(d) {
  const key = `sk-${'good-'.repeat(4)}${Date.now()}`;
  const server = await providerServer(key);
  const url = `http://127.0.0.1:${server.address().port}/v1`;
  const model = 'tiny-chat';
  await d.play({ text: 'Scripted.' });
  try {
    await d.configure('agentLsp.server.env', { AGENT_LSP_SCRIPT: '', AGENT_LSP_KEYRING: 'file' });
    await d.configure('agentLsp.provider', { probe: false });
    await d.restartDaemon();
    await d.newSession();
    await d.panel.locator('.welcome', { hasText: 'No model provider is set up' }).waitFor();
    await d.shot('setup-1-nothing');
    await d.prompt('hello');
    const problem = d.panel.locator('.problem', { hasText: 'No model provider is configured.' });
    await problem.waitFor();
    assert.deepEqual(await problem.getByRole('button').allTextContents(), [
      'Choose a provider',
      'Try the demo',
    ]);
    await until(
      'what could not be sent is in the input',
      async () => (await d.input.inputValue()) === 'hello',
    );
    const daemon = d.daemon;
    await d.click(problem.getByRole('button', { name: 'Choose a provider' }));
    const providers =
      'OpenAI Anthropic Gemini OpenRouter Ollama llama-server LM-Studio vLLM Azure-OpenAI Other-URL';
    await until(
      'all providers are listed',
      async () => (await rows(d)).map((row) => row.replace(' ', '-')).join(' ') === providers,
    );
    await d.shot('setup-2-providers');
    await d.choose('Other URL');
    await d.answer(url);
    await d.page
      .locator('.quick-input-title', { hasText: `API key for ${new URL(url).host}` })
      .waitFor();
    await d.answer('sk-wrong');
    await toast(d, `The API key of ${new URL(url).host} is invalid: who are you?`).waitFor();
    await d.shot('setup-3-wrong-key');
    await d.click(
      toast(d, 'is invalid').locator('.monaco-button', { hasText: 'Enter the key again' }),
    );
    await d.answer(key);
    await until(
      'the models that can chat are listed, and they alone',
      async () => (await rows(d)).join() === `${model},Another model…`,
    );
    await d.shot('setup-4-models');
    await d.choose(model);
    await notified(d, 'answered in');
    await d.panel.locator('.picker.model', { hasText: 'tiny-chat' }).waitFor();
    await problem.waitFor({ state: 'hidden' });
    await d.panel.locator('.welcome', { hasText: 'Ask for a change' }).waitFor();
    await d.shot('setup-5-done');
    await d.input.press('Enter');
    await d.entry('assistantMessage', 'Hello from the provider.').waitFor();
    await d.idle();
    assert.deepEqual(d.daemons(), [daemon], 'nothing was restarted');
    assert.deepEqual(
      filesWith(d.dir, key).map((file) => path.basename(file)),
      ['keys.json'],
      'the key is in no other file',
    );
    await d.newSession();
    await d.panel.locator('.picker.model', { hasText: 'tiny-chat' }).waitFor(); // the new default
    await serverFails(d, server);
  } finally {
    server.close();
    for (const name of ['server.env', 'provider', 'providers', 'model', 'retry'])
      await d.configure(`agentLsp.${name}`, null);
  }
}

/** Checks that an error names the server, and that its button opens the provider's settings. */
async function serverFails(d, server) {
  await d.configure('agentLsp.retry', { maxRetries: 0 });
  server.broken = true;
  await d.prompt('hello again');
  const host = `127.0.0.1:${server.address().port}`;
  const failed = d.entry('turn', `HTTP 500 from ${host}`);
  await failed.locator('.what', { hasText: `HTTP 500 from ${host}: out of memory.` }).waitFor();
  await d.idle();
  await d.shot('setup-6-server-error');
  await d.click(failed.getByRole('button', { name: 'Settings' }));
  const setting = (name) => d.page.locator('.settings-editor .setting-item', { hasText: name });
  await setting('Providers').waitFor();
  assert.equal(await setting('').count(), 2, 'the settings of the providers and no others');
}

/** Stores a key while changes from another session are pending. They stay pending. */
async function keyKeepsPending(d) {
  const file = await openCalc(d);
  await d.configure('agentLsp.server.env', { AGENT_LSP_KEYRING: 'file' });
  await d.play(edit(file, 'a - b', 'a + b'), { text: 'Accepted.' }, { text: 'Over.' });
  const mine = await d.session();
  await d.prompt('fix add');
  await pendingHunks(d, 1);
  await d.newSession();
  const { daemon } = d;
  await d.focusEditor();
  await d.agent('Set API Key');
  const key = `sk-${'kept-'.repeat(4)}${Date.now()}`;
  await d.answer(key);
  await d.choose('Another model…');
  await d.answer('script');
  await d.inputFocused(); // for the first prompt to the model
  await notified(d, 'script answered');
  assert.deepEqual(d.daemons(), [daemon], 'nothing was restarted');
  await pendingHunks(d, 1);
  assert.notEqual(await d.session(), mine);
  await d.agent('Accept All Changes');
  await d.bufferHas('a + b');
  for (const name of ['server.env', 'model']) await d.configure(`agentLsp.${name}`, null);
  // While an OpenAI key is stored, the extension does not look for a local model.
  for (const stored of filesWith(d.dir, key)) fs.rmSync(stored);
}

export const setupSteps = [
  ['a provider is set up', setUpProvider],
  ['a key is set while changes are pending', keyKeepsPending],
];

// Tests a user's first minutes with the extension: the user sets up a server that requires a key,
// reviews changes in four files, undoes them, and opens the session again.
import assert from 'node:assert/strict';
import http from 'node:http';
import { until } from '../workbench.mjs';
import { call, lens, pendingHunks } from './model.mjs';

const files = ['one.js', 'two.js', 'three.js', 'four.js'];
const before = 'module.exports = () => "Helo";\n';

/**
 * Returns the server's next reply: four edits, a command, or an answer. The earlier calls determine
 * which one is next.
 */
function reply(messages, at) {
  const made = JSON.stringify(messages.findLast(({ role }) => role === 'assistant') ?? '');
  if (made.includes('node -e')) return { content: 'All four files greet now, except the third.' };
  if (made.includes('"edit'))
    return { content: 'I check them.', tool_calls: call('bash', { command: 'node -e 1' }) };
  if (messages.some(({ role }) => role === 'tool'))
    return {
      content: 'Each of the four files has a typo.',
      tool_calls: {
        toolCalls: files.flatMap(
          (name) =>
            call('edit', { path: at(name), old_string: 'Helo', new_string: 'Hello' }).toolCalls,
        ),
      },
    };
  return {
    content: 'I read them.',
    tool_calls: {
      toolCalls: files.flatMap((name) => call('read', { path: at(name) }).toolCalls),
    },
  };
}

async function chatServer(key, at) {
  const send = (response, status, body) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const server = http.createServer((request, response) => {
    if (request.headers.authorization !== `Bearer ${key}`)
      return void send(response, 401, { error: { message: 'Incorrect API key provided' } });
    if (request.url === '/v1/models')
      return void send(response, 200, { object: 'list', data: [{ id: 'tiny-chat' }] });
    if (request.url !== '/v1/chat/completions') return void response.writeHead(404).end();
    let body = '';
    request
      .on('data', (data) => (body += data))
      .on('end', () => {
        const { messages, tools } = JSON.parse(body);
        const { content, tool_calls } = tools ? reply(messages, at) : { content: 'Greetings' };
        const calls = (tool_calls?.toolCalls ?? []).map(({ name, arguments: args }, index) => ({
          index,
          id: `${messages.length}-${index}`,
          type: 'function',
          function: { name, arguments: JSON.stringify(args) },
        }));
        const chunk = (delta, finish_reason = null) =>
          `data: ${JSON.stringify({ id: '1', object: 'chat.completion.chunk', model: 'tiny-chat', choices: [{ index: 0, delta, finish_reason }] })}\n\n`;
        response.setHeader('content-type', 'text/event-stream');
        response.write(chunk({ role: 'assistant', content }));
        if (calls.length > 0) response.write(chunk({ tool_calls: calls }));
        response.end(`${chunk({}, calls.length > 0 ? 'tool_calls' : 'stop')}data: [DONE]\n\n`);
      });
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

/** Sets up a provider from the empty state: another URL, its key, its model, and the test call. */
async function setUp(d, server, key) {
  await d.configure('agentLsp.server.env', { AGENT_LSP_SCRIPT: '', AGENT_LSP_KEYRING: 'file' });
  await d.configure('agentLsp.provider', { probe: false });
  await d.restartDaemon();
  await d.newSession();
  await d.click(d.panel.locator('.welcome').getByRole('button', { name: 'Choose a provider' }));
  await d.choose('Other URL');
  await d.answer(`http://127.0.0.1:${server.address().port}/v1`);
  await d.answer(key);
  const listed = d.page.locator('.quick-input-list .monaco-list-row .label-name');
  await listed.filter({ hasText: 'tiny-chat' }).waitFor();
  assert.equal(await listed.first().textContent(), 'tiny-chat', 'its provider is in the heading');
  await d.page.keyboard.press('Enter');
  await d.panel.locator('.picker.model', { hasText: 'Model: tiny-chat' }).waitFor();
  await d.inputFocused();
  await d.shot('trial-1-set-up');
}

/**
 * Accepts the first change, edits the second in its diff, rejects the third with a comment, and
 * accepts the fourth.
 */
async function decide(d) {
  await pendingHunks(d, 4);
  await d.panel.locator('.changes', { hasText: '4 changes in 4 files' }).waitFor();
  await d.shot('trial-2-proposed');
  await d.click(d.panel.locator('.changes').getByRole('button', { name: 'Review' }));
  await d.page.locator('.multiDiffEntry').first().waitFor();
  await d.shot('trial-3-review');
  await d.openFile('one.js');
  await lens(d, 'Accept').first().waitFor();
  await d.shot('trial-4-hunk');
  await d.clickUntil(lens(d, 'Accept'), () =>
    d.page.locator('.statusbar-item', { hasText: '3 to review' }).isVisible(),
  );
  // The next change is shown.
  await d.page.locator('.tab.active[data-resource-name="two.js"]').waitFor();
  const menu = d.page.locator('.codelens-decoration a:has(.codicon-ellipsis)').first();
  const row = (text) => d.page.locator('.quick-input-list .monaco-list-row', { hasText: text });
  await d.clickUntil(menu, () => row('Show as diff').isVisible());
  await d.shot('trial-5-menu');
  await d.chooseLike('Show as diff', 'Show as diff');
  await d.page.locator('.monaco-diff-editor .modified .view-line', { hasText: 'Hello' }).waitFor();
  await d.goto(1);
  await d.page.keyboard.press('End');
  await d.page.keyboard.type(' // mine');
  await d.shot('trial-6-edited');
  await d.page.keyboard.press('Control+Alt+y');
  await pendingHunks(d, 2);
  // After a decision in a diff, the next change also opens as a diff.
  await d.page.locator('.tab.active', { hasText: 'three.js: proposed change' }).waitFor();
  await d.editorFocused(); // the next key decides this change
  await d.openFile('three.js');
  await d.clickUntil(menu, () => row('Comment').isVisible());
  await d.chooseLike('Comment', 'Comment');
  await d.answer('the typo is the point of this file');
  await d.page.locator('.review-comment', { hasText: 'the point' }).waitFor();
  await d.shot('trial-7-comment');
  await d.clickUntil(lens(d, 'Reject'), () =>
    d.page.locator('.statusbar-item', { hasText: '1 to review' }).isVisible(),
  );
  await d.page.locator('.tab.active[data-resource-name="four.js"]').waitFor();
  await d.editorFocused();
  await d.page.keyboard.press('Control+Alt+y');
}

async function firstMinutes(d) {
  const key = `sk-${'trial-'.repeat(4)}${Date.now()}`;
  const server = await chatServer(key, (name) => d.at(name));
  for (const name of files) d.write(name, before);
  await d.play({ text: 'Scripted.' });
  try {
    await setUp(d, server, key);
    await d.showPanel();
    await d.page.keyboard.type('correct the greeting in all four files');
    await d.page.keyboard.press('Enter');
    await decide(d);
    const ask = d.panel.locator('.ask', { hasText: 'node -e 1' });
    await ask.waitFor();
    await d.shot('trial-8-permission');
    await d.click(ask.getByRole('button', { name: /^Allow once/ }));
    await d.entry('assistantMessage', 'All four files greet now').waitFor();
    await d.idle();
    const bar = d.panel.locator('.changes', { hasText: '3 files changed' });
    await bar.waitFor();
    const card = d.entry('toolCall', 'two.js').last().locator('.diff .added');
    await card.filter({ hasText: 'Hello"; // mine' }).waitFor(); // this includes the user's change
    await d.shot('trial-9-done');
    await d.command('workbench.action.files.saveAll');
    const texts = () => files.map((name) => d.read(name));
    const hello = before.replace('Helo', 'Hello');
    const decided = [hello, `${hello.trimEnd()} // mine\n`, before, hello];
    await until('the files are as decided', () => texts().join() === decided.join());
    await d.click(bar.getByRole('button', { name: 'Undo all' }));
    const undo = d.entry('restore', '3 files restored').getByRole('button', { name: 'Undo' });
    await undo.waitFor();
    await d.shot('trial-10-undone');
    await until('all is as before', async () => {
      await d.command('workbench.action.files.saveAll');
      return texts().every((text) => text === before);
    });
    await d.click(undo);
    await d.entry('restore', '3 files brought back').waitFor();
    await until('all is back', async () => {
      await d.command('workbench.action.files.saveAll');
      return texts().join() === decided.join();
    });
    await d.newSession();
    await d.click(d.panel.locator('.welcome').getByRole('button', { name: 'Earlier sessions' }));
    await d.page.locator('.quick-input-list .monaco-list-row').first().waitFor();
    await d.page.keyboard.type('greeting');
    const found = d.page.locator('.quick-input-list .monaco-list-row.focused', {
      hasText: 'correct the greeting',
    });
    await found.waitFor();
    await d.shot('trial-11-sessions');
    await d.page.keyboard.press('Enter');
    await d.entry('assistantMessage', 'All four files greet now').waitFor();
    assert.match(
      await d.entry('toolCall', 'three.js').last().textContent(),
      /rejected.*the typo is the point of this file/i,
    );
    await card.filter({ hasText: 'Hello"; // mine' }).waitFor();
    await d.shot('trial-12-opened');
  } finally {
    server.close();
    for (const name of ['server.env', 'provider', 'providers', 'model'])
      await d.configure(`agentLsp.${name}`, null);
  }
}

export const trialSteps = [['the first minutes with a server that needs a key', firstMinutes]];

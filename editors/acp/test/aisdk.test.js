// Tests the agent with the AI SDK, a second independent client, through its public provider for ACP
// agents. The client allows every request. The messages are also checked against the protocol's
// schema.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createACPProvider } from '@mcpc-tech/acp-ai-provider';
import { streamText } from 'ai';
import { alive, bin, call, edit, look, world } from './harness.js';
import { validator } from './schema.js';

const tee = fileURLToPath(new URL('tee.js', import.meta.url));

// aisdk returns a world, a function that prompts the agent in that world, and a function that ends
// the agent. With `persist`, all prompts share a session. Otherwise, each prompt has its own agent.
function aisdk(t, { persist = false, ...options }) {
  const w = world(t, options);
  const log = path.join(w.base, 'wire');
  fs.writeFileSync(log, '');
  const provider = createACPProvider({
    command: process.execPath,
    args: [tee, log, bin, 'acp', '--state-dir', w.state],
    env: { PATH: process.env.PATH, HOME: w.base, AGENT_LSP_SCRIPT: w.script },
    session: { cwd: w.dir, mcpServers: [] },
    persistSession: persist,
    authMethodId: 'provider',
  });
  const wire = () =>
    fs
      .readFileSync(log, 'utf8')
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
  const processes = () =>
    wire()
      .filter((m) => m.from === 'start')
      .flatMap((m) => m.text.split(' '));
  const end = () => {
    provider.cleanup();
    return look('the end of the agent', () => !processes().some(alive));
  };
  w.ends.push(async () => {
    await end();
    const check = validator();
    for (const m of wire()) if (m.from !== 'start') check.message(JSON.parse(m.text), m.from);
  });
  const prompt = async (text) => {
    const parts = [];
    const { fullStream } = streamText({
      model: provider.languageModel(),
      tools: provider.tools,
      prompt: text,
    });
    for await (const part of fullStream) {
      parts.push(part);
      if (part.type === 'error') break; // an error leaves the stream open
    }
    return parts;
  };
  return { w, prompt, end };
}

const text = (parts) =>
  parts
    .filter((p) => p.type === 'text-delta')
    .map((p) => p.text)
    .join('');

describe('the AI SDK', { concurrency: true }, () => {
  test('prompts twice in a session, with an edit and a command that it allows', async (t) => {
    const { w, prompt } = aisdk(t, {
      persist: true,
      files: { 'a.txt': 'one\ntwo\n' },
      script: [
        { ...edit('a.txt', 'two\n', 'TWO\n'), reasoning: 'hm', text: 'Editing. ' },
        call('bash', { command: 'touch ran; echo out' }),
        { text: 'All done.' },
        { expect: { lastUser: 'again', sent: '(?s)work.*again' }, text: 'I remember.' },
      ],
    });
    const first = await prompt('work');
    assert.equal(text(first), 'Editing. All done.');
    const results = first.filter((p) => p.type === 'tool-result').map((p) => p.output);
    assert.ok(
      results.every((r) => !r.isError),
      JSON.stringify(results),
    );
    const shown = results.map((r) => r.result);
    for (const [i, part] of [/two/, /applied 1\/1/, /^out/].entries()) assert.match(shown[i], part);
    assert.equal(first.at(-1).finishReason, 'stop');
    assert.deepEqual(['a.txt', 'ran'].map(w.read), ['one\nTWO\n', '']);
    assert.equal(text(await prompt('again')), 'I remember.');
  });

  test('stops its agent during a command, and the command ends too', async (t) => {
    const { w, prompt, end } = aisdk(t, {
      script: [call('bash', { command: 'touch ran; sleep 600; touch after' }), { text: 'Late.' }],
    });
    prompt('work').catch(() => {});
    await look('the command', () => fs.existsSync(w.path('ran')));
    await end(); // the abort signal does not reach the agent, so the test kills the agent
    assert.ok(!fs.existsSync(w.path('after')));
  });

  test('gets the error of a turn as an error', async (t) => {
    const { prompt } = aisdk(t, { script: [{ error: { status: 400, message: 'no such model' } }] });
    const parts = await prompt('work').catch((e) => [{ type: 'error', error: e }]);
    const failed = parts.find((p) => p.type === 'error');
    assert.match(JSON.stringify([String(failed?.error), failed?.error]), /no such model/);
  });
});

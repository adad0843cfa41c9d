import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { unpackDemo } from '../../src/demo';

const media = path.join(process.cwd(), 'media/demo');

test('the sample of the demo is the one that the program plays', () => {
  const sample = path.join(process.cwd(), '../../internal/cli/sample');
  for (const name of ['stats.sh', 'check.sh']) {
    const [a, b] = [media, sample].map((dir) => fs.readFileSync(path.join(dir, name), 'utf8'));
    assert.equal(a, b, name);
  }
});

test('the demo has a folder, a state and a script of its own, and an answer to what is asked after it', () => {
  const { folder, environment } = unpackDemo(media);
  const script = environment.AGENT_LSP_SCRIPT ?? '';
  assert.deepEqual(fs.readdirSync(folder).sort(), ['check.sh', 'stats.sh']);
  assert.equal(path.dirname(environment.XDG_STATE_HOME ?? ''), path.dirname(folder));
  const lines = fs.readFileSync(script, 'utf8').trim().split('\n');
  const replies = lines.map((line) => JSON.parse(line));
  assert.match(replies.at(-1).text, /This was the demo/);
  fs.rmSync(path.dirname(folder), { recursive: true });
});

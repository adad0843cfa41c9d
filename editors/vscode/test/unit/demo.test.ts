import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { unpackDemo } from '../../src/demo';

const media = path.join(process.cwd(), 'media/demo');

test('the sample of the demo is identical to that of the program', () => {
  const sample = path.join(process.cwd(), '../../internal/cli/sample');
  for (const name of ['stats.sh', 'check.sh']) {
    const [a, b] = [media, sample].map((dir) => fs.readFileSync(path.join(dir, name), 'utf8'));
    assert.equal(a, b, name);
  }
});

test('the demo has its own folder, state and script, and answers a later prompt', () => {
  const { folder, environment } = unpackDemo(media);
  const script = environment.AGENT_LSP_SCRIPT ?? '';
  assert.deepEqual(fs.readdirSync(folder).sort(), ['check.sh', 'stats.sh']);
  assert.equal(path.dirname(environment.XDG_STATE_HOME ?? ''), path.dirname(folder));
  const lines = fs.readFileSync(script, 'utf8').trim().split('\n');
  const replies = lines.map((line) => JSON.parse(line));
  assert.match(replies.at(-1).text, /This was the demo/);
  fs.rmSync(path.dirname(folder), { recursive: true });
});

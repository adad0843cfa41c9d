// node profile.mjs NAME FILE checks that an editor sent the same capabilities that the session
// script of its profile replays. FILE contains the messages that the editor sent, or only its
// capabilities. UPDATE=1 prints the capabilities that were sent.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';

const folder = path.join(import.meta.dirname, '..', '..', 'testdata', 'session', 'profile');

/** Returns the params of the editor's first message, which is initialize. */
function initialize(sent) {
  if (sent.startsWith('{')) return { capabilities: JSON.parse(sent) };
  const bytes = Buffer.from(sent);
  const begin = bytes.indexOf('\r\n\r\n') + 4;
  const length = Number(/content-length: *(\d+)/i.exec(bytes.subarray(0, begin).toString())[1]);
  const { method, params } = JSON.parse(bytes.subarray(begin, begin + length).toString());
  assert.equal(method, 'initialize');
  return params;
}

/** Compares the capabilities, and returns the name and version that the editor reports. */
export function check(name, sent) {
  const { capabilities, clientInfo } = initialize(sent);
  if (process.env.UPDATE) console.log(JSON.stringify({ capabilities, clientInfo }));
  const script = fs.readFileSync(path.join(folder, `${name}.txtar`), 'utf8');
  const replayed = JSON.parse(/^-- initialize\.json --\n(.*)\n/m.exec(script)[1]);
  assert.deepEqual(
    replayed.capabilities,
    capabilities,
    `${name} sends other capabilities than its profile says`,
  );
  if (!sent.startsWith('{')) assert.equal(replayed.clientInfo?.name, clientInfo?.name);
  return clientInfo;
}

if (process.argv[1] === import.meta.filename)
  check(process.argv[2], fs.readFileSync(process.argv[3], 'utf8'));

// Checks, after a complete run, that the tests used each method of the protocol, except for the
// methods in `unused`, and that there are schemas for its messages.
import fs from 'node:fs';
import * as acp from '@agentclientprotocol/sdk';
import { schemas } from './schema.js';

// The agent uses only form elicitations, which need no completion notification.
const unused = new Set(['elicitation/complete']);
const flat = (o) => Object.values(o).flatMap((v) => (typeof v === 'string' ? [v] : flat(v)));
const all = new Set([...flat(acp.methods), ...Object.keys(schemas)]);
const seen = new Set(fs.readFileSync(process.env.ACP_SEEN, 'utf8').split('\n'));
const wrong = [...all].filter(
  (m) => seen.has(m) === unused.has(m) || (!schemas[m] && !unused.has(m)),
);
if (wrong.length) {
  console.error(`not driven, not checked, or driven and said not to be: ${wrong.join(', ')}`);
  process.exit(1);
}
console.log(`all ${all.size - unused.size} methods were driven and checked`);

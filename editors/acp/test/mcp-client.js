// node mcp-client.js URL acts as the client that MCP's conformance suite runs. It starts the agent
// with the MCP server at URL, in a session whose model calls the tool for MCP_CONFORMANCE_SCENARIO.
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Readable, Writable } from 'node:stream';
import * as acp from '@agentclientprotocol/sdk';

const tools = {
  tools_call: ['add_numbers', { a: 5, b: 3 }],
  'elicitation-sep1034-client-defaults': ['test_client_elicitation_defaults', {}],
  'sse-retry': ['test_reconnection', {}],
};

const base = fs.mkdtempSync(path.join(os.tmpdir(), 'acp-'));
const [tool, args] = tools[process.env.MCP_CONFORMANCE_SCENARIO] ?? [];
const calls = tool
  ? [
      ['tool_search', { query: `select:suite_${tool}` }],
      [`suite_${tool}`, args],
    ]
  : [['tool_search', { query: 'anything' }]];
const replies = calls.map(([name, a]) => ({ toolCalls: [{ name, arguments: a }] }));
const script = path.join(base, 'script.jsonl');
const lines = [...replies, { text: 'Done.' }].map((r) => JSON.stringify(r));
fs.writeFileSync(script, lines.join('\n') + '\n');

const agent = spawn(process.env.AGENT_LSP_BIN, ['acp', '--state-dir', path.join(base, 'state')], {
  cwd: base,
  stdio: ['pipe', 'pipe', 'inherit'],
  env: { PATH: process.env.PATH, HOME: base, AGENT_LSP_SCRIPT: script },
});
const ended = new Promise((r) => agent.on('exit', r));
const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
const { client } = acp.methods;
const connection = acp
  .client({ name: 'conformance' })
  .onNotification(client.session.update, ({ params: { update } }) => {
    if (update.sessionUpdate === 'tool_call_update') console.log(JSON.stringify(update));
  })
  .onRequest(client.session.requestPermission, ({ params }) => ({
    outcome: { outcome: 'selected', optionId: params.options[0].optionId },
  }))
  // This simulates a user who accepts every form unchanged.
  .onRequest(client.elicitation.create, ({ params }) => {
    console.log(JSON.stringify(params));
    return { action: 'accept', content: {} };
  })
  .connect(stream);
const { request } = connection.agent;
const ask = request.bind(connection.agent);
const { agent: M } = acp.methods;
await ask(M.initialize, {
  protocolVersion: acp.PROTOCOL_VERSION,
  clientInfo: { name: 'conformance', version: '1' },
  clientCapabilities: { elicitation: { form: {} } },
});
const { sessionId } = await ask(M.session.new, {
  cwd: base,
  mcpServers: [{ type: 'http', name: 'suite', url: process.argv[2], headers: [] }],
});
const { stopReason } = await ask(M.session.prompt, {
  sessionId,
  prompt: [{ type: 'text', text: 'Call the tool.' }],
});
agent.stdin.end();
await ended;
fs.rmSync(base, { recursive: true, force: true });
process.exit(stopReason === 'end_turn' ? 0 : 1);

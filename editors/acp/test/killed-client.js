// Acts as the client for crash.test.js. It starts the agent, lets the agent run a command, and
// waits to be killed.
import { spawn } from 'node:child_process';
import fs from 'node:fs';

const w = JSON.parse(process.env.ACP_TEST_CLIENT);
const agent = spawn(process.env.AGENT_LSP_BIN, ['acp', '--state-dir', w.state], {
  cwd: w.dir,
  stdio: ['pipe', 'pipe', 'inherit'],
  env: {
    PATH: process.env.PATH,
    HOME: w.base,
    AGENT_LSP_SCRIPT: w.script,
    AGENT_LSP_SANDBOX: 'off',
  },
});
let rest = '',
  sessionId;
const send = (id, method, params) =>
  agent.stdin.write(JSON.stringify({ jsonrpc: '2.0', id, method, params }) + '\n');
agent.stdout.on('data', (d) => {
  const lines = (rest + d).split('\n');
  rest = lines.pop();
  for (const { id, method, result } of lines.map((l) => JSON.parse(l))) {
    if (method) continue;
    if (id === 1)
      send(2, 'session/new', {
        cwd: w.dir,
        mcpServers: [
          {
            name: 'slow',
            command: 'sh',
            args: [
              '-c',
              'echo $$ >> ' + w.path + '; setsid sleep 300 & echo $! >> ' + w.path + '; sleep 300',
            ],
            env: [],
          },
        ],
      });
    if (id === 2)
      send(3, 'session/set_config_option', {
        sessionId: (sessionId = result.sessionId),
        configId: 'permissions',
        value: 'trust',
      });
    if (id === 3) send(4, 'session/prompt', { sessionId, prompt: [{ type: 'text', text: 'go' }] });
  }
});
send(1, 'initialize', { protocolVersion: 1 });
fs.writeFileSync(w.agent, String(agent.pid));

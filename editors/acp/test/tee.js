// node tee.js LOG COMMAND ARGS… acts as a proxy between a client and the agent. It forwards
// everything, and logs each line with its sender.
import { spawn } from 'node:child_process';
import fs from 'node:fs';

const [log, command, ...args] = process.argv.slice(2);
const note = (from, text) => fs.appendFileSync(log, JSON.stringify({ from, text }) + '\n');
const agent = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
note('start', `${process.pid} ${agent.pid}`);
const pass = (from, source, to) => {
  let rest = '';
  source.on('data', (d) => {
    const lines = (rest + d).split('\n');
    rest = lines.pop();
    for (const line of lines) note(from, line);
    to.write(d);
  });
  source.on('end', () => to.end());
};
pass('client', process.stdin, agent.stdin);
pass('agent', agent.stdout, process.stdout);
for (const s of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(s, () => agent.kill(s));
agent.on('exit', () => process.stdin.destroy());

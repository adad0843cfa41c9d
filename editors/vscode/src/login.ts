// Stores a provider's key with `agent-lsp login`. The running daemon uses the key from its next
// model call on.
import { spawn } from 'node:child_process';
import type { Config } from './protocol';

export interface Login {
  program: string;
  /** The provider's name. */
  name: string;
  key: string;
  /** The provider settings from the editor, which the program cannot read itself. */
  providers: Config['providers'];
  environment: Record<string, string>;
  cwd: string;
}

/**
 * Runs `agent-lsp login` and resolves to its output, which reports where the key is stored and
 * which key overrides it, if any. The key is passed only on stdin.
 */
export function login({ program, name, key, providers, environment, cwd }: Login): Promise<string> {
  const env = {
    ...process.env,
    ...environment,
    AGENT_LSP_PROVIDERS: JSON.stringify(providers ?? {}),
  };
  return new Promise((resolve, reject) => {
    const child = spawn(program, ['login', name, '--stdin'], { cwd, env, stdio: 'pipe' });
    let [output, problem] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (problem += text));
    child.on('error', reject);
    child.on('close', (code) => {
      if (code === 0) resolve(output.trim());
      else reject(new Error(`The key was not stored: ${problem.trim() || `exit code ${code}`}`));
    });
    // The program may exit before it reads its input. Its error message explains why.
    child.stdin.on('error', () => {});
    child.stdin.end(`${key}\n`);
  });
}

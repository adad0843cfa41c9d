// Tests the package without the daemon. If the program is not found, the message says what the user
// can do, and each suggestion works.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { until } from '../workbench.mjs';

const home = (dir) => path.join(dir, 'home');
/** Returns the user's own folder on the PATH, which is empty at first. */
const onPath = (dir) => path.join(home(dir), 'bin');
const program = process.env.AGENT_LSP_BIN;
/** The machine's PATH, except folders that contain a daemon. */
const others = (process.env.PATH ?? '')
  .split(':')
  .filter((dir) => !fs.existsSync(path.join(dir, 'agent-lsp')));

/** Returns the paths of the running daemons. */
const running = (d) =>
  d.daemons().map((pid) => fs.readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')[0]);
const problem = (d, text) => d.panel.locator('.problem', { hasText: text });

export const withoutBinary = {
  without: true,
  // The editor gets the PATH from the login shell.
  env: (dir) => ({ HOME: home(dir), SHELL: '/bin/bash' }),
  prepare({ dir }) {
    fs.mkdirSync(onPath(dir), { recursive: true });
    fs.writeFileSync(
      path.join(home(dir), '.profile'),
      `PATH='${[onPath(dir), ...others].join(':')}'\n`,
    );
    fs.writeFileSync(
      path.join(dir, 'script.jsonl'),
      '{"expect":{"lastUser":"hello"},"text":"The script says hello."}\n',
    );
  },
};

const restart = (d) =>
  d.click(d.panel.locator('.problem').getByRole('button', { name: 'Restart' }));

/** Checks that the daemon at a path answers the prompt in the input. */
async function answered(d, program) {
  await until(`${program} runs`, () => running(d).join() === program);
  await problem(d, 'agent-lsp').waitFor({ state: 'hidden' });
  await d.newSession();
  await d.input.press('Enter');
  await d.entry('assistantMessage', 'The script says hello.').waitFor();
  await d.idle();
}

async function withoutTheProgram(d) {
  await d.showPanel();
  await d.prompt('say hello');
  await problem(
    d,
    'The agent-lsp program was not found. Locate it on this machine, add its folder to the PATH',
  ).waitFor();
  await until(
    'what could not be sent stands in the input',
    async () => (await d.input.inputValue()) === 'say hello',
  );
  assert.deepEqual(await d.panel.locator('.problem').getByRole('button').allTextContents(), [
    'Locate…',
    'Download',
    'Settings',
    'Restart',
    'Log',
  ]);
  await d.shot('bare-1-nowhere');
  assert.deepEqual(running(d), []);
  const page = d.page.locator('.monaco-dialog-box', { hasText: '/releases' });
  await d.clickUntil(problem(d, '').getByRole('button', { name: 'Download' }), () =>
    page.isVisible(),
  );
  await d.click(page.locator('.monaco-button', { hasText: 'Cancel' }));
  await page.waitFor({ state: 'hidden' });

  fs.symlinkSync(program, path.join(onPath(d.dir), 'agent-lsp'));
  await restart(d);
  await answered(d, path.join(onPath(d.dir), 'agent-lsp'));
  await d.shot('bare-2-on-the-path');

  await d.configure('agentLsp.server.path', path.join(d.dir, 'mine', 'agent-lsp'));
  await d.command('agentLsp.restartServer');
  await problem(
    d,
    'mine/agent-lsp, which is not an executable file. Correct or clear the setting.',
  ).waitFor();
  await d.shot('bare-3-wrong-setting');
  fs.mkdirSync(path.join(d.dir, 'mine'));
  fs.symlinkSync(program, path.join(d.dir, 'mine', 'agent-lsp'));
  await d.input.fill('say hello');
  await restart(d);
  await answered(d, path.join(d.dir, 'mine', 'agent-lsp'));
  await d.shot('bare-4-by-setting');

  await d.configure('agentLsp.server.path', path.join(d.dir, 'nowhere'));
  await d.command('agentLsp.restartServer');
  await d.input.fill('say hello');
  await d.click(d.panel.locator('.problem').getByRole('button', { name: 'Settings' }));
  await d.page.locator('.settings-editor .setting-item', { hasText: 'Path' }).waitFor();
  assert.equal(
    await d.page.locator('.settings-editor .setting-item').count(),
    1,
    'it is the one setting',
  );
  await d.command('closeEditors');
  await d.page.locator('.settings-editor').waitFor({ state: 'hidden' });
  await d.clickUntil(d.panel.locator('.problem').getByRole('button', { name: 'Locate…' }), () =>
    d.page.locator('.quick-input-title', { hasText: 'Locate the agent-lsp program' }).isVisible(),
  );
  await d.answerPath(path.join(d.dir, 'mine', 'agent-lsp'));
  await answered(d, path.join(d.dir, 'mine', 'agent-lsp'));
}

/**
 * Opens the home folder, and then the folder that contains it, as the workspace. Nothing is started
 * before the user has agreed once.
 */
async function wholeHome(d) {
  await d.configure('agentLsp.server.path', program);
  const old = d.daemons();
  await d.open({ folder: home(d.dir) });
  const dialog = d.page.locator('.monaco-dialog-box', { hasText: 'your home folder' });
  // A palette command is not used here, because its keys would answer the dialog.
  const shown = d.command('agentLsp.prompt');
  await dialog.waitFor();
  await d.shot('home-folder');
  await d.click(dialog.locator('.monaco-button', { hasText: 'Cancel' }));
  await shown;
  await problem(d, 'is your home folder, not a project.').waitFor();
  await d.command('agentLsp.newSession'); // commands that need the daemon do not ask again
  assert.equal(await dialog.count(), 0);
  assert.deepEqual(
    d.daemons().filter((pid) => !old.includes(pid)),
    [],
    'nothing was started',
  );
  await restart(d);
  await d.click(dialog.locator('.monaco-button', { hasText: 'Use the Whole Folder' }));
  await until('the daemon runs there', () =>
    d
      .daemons()
      .some(
        (pid) =>
          !old.includes(pid) &&
          fs.readlinkSync(`/proc/${pid}/cwd`) === fs.realpathSync(home(d.dir)),
      ),
  );
  await problem(d, 'home folder').waitFor({ state: 'hidden' });
  await d.command('agentLsp.restartServer'); // the user is not asked again
  await d.newSession();
  await d.prompt('say hello'); // the daemon does not ask the user either, so there is a reply
  await d.entry('assistantMessage', 'The script says hello.').waitFor();
  await d.idle();
  await d.open({ folder: path.dirname(home(d.dir)) });
  const around = d.page.locator('.monaco-dialog-box', {
    hasText: 'a folder that contains your home',
  });
  const asked = d.command('agentLsp.prompt');
  await around.waitFor();
  await d.click(around.locator('.monaco-button', { hasText: 'Cancel' }));
  await asked;
  await problem(d, 'is a folder that contains your home folder, not a project.').waitFor();
}

export const withoutBinarySteps = [
  ['without a binary', withoutTheProgram],
  ['the home folder as workspace', wholeHome],
];

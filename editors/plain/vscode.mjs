// node vscode.mjs EXTENSION.vsix tests a generic client of 30 lines in a real workbench. The test
// performs the steps with the palette, lenses and notifications.
import fs from 'node:fs';
import path from 'node:path';
import { Driver } from '../vscode/test/driver.mjs';
import { until, withWorkbench } from '../vscode/test/workbench.mjs';
import { check } from './profile.mjs';
import { ran } from './ran.mjs';

const vsix = path.resolve(process.argv[2]);
const binary = process.env.AGENT_LSP_BIN;
if (!binary) throw new Error('AGENT_LSP_BIN names the daemon');

const before = '// one\n// two\n// three\n// four\n// five\n// six\n';
const call = (name, args) => ({ toolCalls: [{ name, arguments: args }] });
const script = [
  call('bash', { command: 'touch made' }),
  call('read', { path: 'a.js' }),
  call('edit', {
    path: 'a.js',
    edits: [
      { old_string: 'two', new_string: 'TWO' },
      { old_string: 'six', new_string: 'SIX' },
    ],
  }),
  { expect: { lastTool: '1/2' }, text: 'One of two.' },
  call('bash', { command: 'touch never' }),
  { expect: { lastUser: 'once more' }, text: 'Still here.' },
];

await withWorkbench(
  {
    vsix,
    env: (dir) => {
      // The client's messages are recorded, so that they can be compared with those that the
      // session script replays.
      fs.writeFileSync(path.join(dir, 'server'), `#!/bin/sh\ntee '${dir}/sent' | '${binary}'\n`, {
        mode: 0o755,
      });
      fs.writeFileSync(
        path.join(dir, 'script.jsonl'),
        script.map((r) => JSON.stringify(r) + '\n').join(''),
      );
      fs.mkdirSync(path.join(dir, 'config', 'agent-lsp'), { recursive: true });
      fs.writeFileSync(path.join(dir, 'config', 'agent-lsp', 'config.json'), '{"sandbox": "off"}');
      fs.writeFileSync(
        path.join(dir, 'Machine', 'settings.json'),
        JSON.stringify({ 'plain.server': path.join(dir, 'server') }),
      );
      return { AGENT_LSP_SCRIPT: path.join(dir, 'script.jsonl') };
    },
    settings: { 'security.workspace.trust.enabled': false, 'editor.codeLens': true },
    limit: 900_000,
  },
  async ({ page, dir, workspace, lap, url, socket }) => {
    const did = [];
    const done = (text, ...steps) => {
      did.push(...steps);
      lap(text);
    };
    const d = new Driver({ page, dir, workspace, url, lap, socket });
    d.write('a.js', before);
    await d.open();
    await d.openFile('a.js');
    lap('workbench up');

    const ask = async (text) => {
      await d.run('Plain Agent: Prompt');
      await page.locator('.quick-input-widget input.input').fill(text);
      await page.keyboard.press('Enter');
    };
    const toast = (text) => page.locator('.notification-toast', { hasText: text }).first();
    // press clicks an element until the click has worked, because the screen may change and remove
    // the element before the click reaches it.
    const press = (what, target, worked) =>
      until(what, async () => {
        if (await worked()) return true;
        await target()
          .click({ timeout: 2000 })
          .catch(() => {});
        return worked();
      });
    const lens = (title) => page.locator('.codelens-decoration a', { hasText: title }).first();
    const buffer = async (text) => (await d.buffer()).includes(text);

    await until('the client has started', () => fs.existsSync(path.join(dir, 'sent')));
    await ask('shout');
    await press(
      'a permission is given',
      () => toast('touch made').getByRole('button', { name: 'Allow', exact: true }),
      () => fs.existsSync(path.join(workspace, 'made')),
    );
    done('prompted and permitted', 'prompt', 'permit');
    await press(
      'the first hunk is accepted',
      () => lens('Accept +1'),
      () => buffer('// TWO'),
    );
    // The lenses of the accepted hunk may still be shown here. The turn ends when the other hunk is
    // decided.
    await press(
      'reject the second hunk, which ends the turn',
      () => lens(/^Reject$/),
      () => toast('Agent: One of two.').isVisible(),
    );
    if (!(await buffer('// six'))) throw new Error('the rejected hunk was made');
    done('reviewed by lenses', 'review');
    await d.run('Plain Agent: Show Transcript');
    await until('the transcript is a document', () => buffer('## User'));
    lap('read the transcript');
    await page.locator('.tab', { hasText: 'a.js' }).first().click();
    await d.run('Plain Agent: Undo Last Changes');
    await until('the change is undone', () => buffer('// two'));
    done('undone', 'undo');
    await d.run('Notifications: Clear All Notifications');
    await ask('again');
    await until('a permission is asked', () => toast('touch never').isVisible());
    await d.run('Plain Agent: Stop');
    // The question may still be shown. Its answer then comes too late: the command must not run,
    // and the next turn must end.
    await toast('touch never')
      .getByRole('button', { name: 'Allow', exact: true })
      .click({ timeout: 2000 })
      .catch(() => {});
    await ask('once more');
    await until('the next turn ends', () => toast('Agent: Still here.').isVisible());
    if (fs.existsSync(path.join(workspace, 'never')))
      throw new Error('a command of the stopped turn ran');
    done('stopped', 'stop');
    const { version } = check('vscode-generic', fs.readFileSync(path.join(dir, 'sent'), 'utf8'));
    ran('vscode-generic', `VS Code ${/^\d+\.\d+/.exec(version)[0]}`, did);
  },
);

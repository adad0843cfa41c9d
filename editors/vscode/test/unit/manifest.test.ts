import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

interface Setting {
  description?: string;
  markdownDescription?: string;
  scope?: string;
  properties?: Record<string, Setting>;
  items?: Setting;
}

const root = process.cwd();
const read = (name: string) => fs.readFileSync(path.join(root, name), 'utf8');
const manifest = JSON.parse(read('package.json'));
const settings: Record<string, Setting> = Object.assign(
  {},
  ...manifest.contributes.configuration.map((part: { properties: object }) => part.properties),
);
const commands: string[] = manifest.contributes.commands.map(
  ({ command }: { command: string }) => command,
);
const sources = (fs.readdirSync(path.join(root, 'src'), { recursive: true }) as string[])
  .filter((name) => name.endsWith('.ts'))
  .map((name) => read(path.join('src', name)))
  .join('\n');

/** The ids of commands to which existing key bindings refer. They must not change. */
const fixed =
  'prompt promptInline steer queue abort newSession sessions acceptHunk rejectHunk acceptFile rejectFile acceptAll rejectAll nextHunk previousHunk review showDiff restoreCheckpoint compact selectModel fixDiagnostic explainSelection restartServer showLog';

test('every fixed command is in the palette under the title that the end-to-end tests use', () => {
  const titles: Record<string, string> = JSON.parse(read('test/commands.json'));
  assert.deepEqual(
    Object.keys(titles),
    fixed.split(' ').map((id) => `agentLsp.${id}`),
  );
  for (const { command, title } of manifest.contributes.commands)
    if (titles[command]) assert.equal(titles[command], title, command);
  for (const id of Object.keys(titles)) assert.ok(commands.includes(id), id);
});

test('every command of the manifest is implemented, and every id that the manifest names exists', () => {
  for (const id of commands) assert.ok(sources.includes(`'${id}':`), `${id} is implemented`);
  const { menus, keybindings, walkthroughs } = manifest.contributes;
  const named = [...Object.values(menus).flat(), ...keybindings]
    .map((entry) => (entry as { command?: string }).command)
    .filter(Boolean) as string[];
  const linked = [
    ...JSON.stringify(walkthroughs).matchAll(/(?:command:|onCommand:)(agentLsp\.\w+)/g),
  ].map((match) => match[1] ?? '');
  for (const id of [...named, ...linked]) assert.ok(commands.includes(id), id);
});

test('every key of Config is a setting, and every setting says what it does', () => {
  const config = /export interface Config \{([^]*?)\n\}/.exec(read('src/protocol.ts'))?.[1] ?? '';
  const keys = [...config.matchAll(/^ {2}(\w+)\??:/gm)].map((match) => match[1] ?? '');
  assert.ok(keys.length > 30, `keys of Config: ${keys.length}`);
  for (const key of keys) assert.ok(settings[`agentLsp.${key}`], `agentLsp.${key} is a setting`);
  const described = (name: string, setting: Setting, top = true): void => {
    if (top)
      assert.ok(
        (setting.description ?? setting.markdownDescription ?? '').length > 8,
        `${name} has a description`,
      );
    for (const [key, inner] of Object.entries(setting.properties ?? {}))
      described(`${name}.${key}`, inner);
    if (setting.items) described(`${name}[]`, setting.items, false);
  };
  for (const [name, setting] of Object.entries(settings)) described(name, setting);
});

/** The settings that could run a program, send data elsewhere or loosen permissions. */
const dangerous =
  'provider permissions sandbox sandboxPaths hooks mcpServers languageServers check formatters shell webSearch fetch modes agents subagents editPolicy server.path server.args server.env';

test('a workspace cannot set dangerous settings, and an untrusted workspace cannot set any', () => {
  for (const name of dangerous.split(' '))
    assert.equal(settings[`agentLsp.${name}`]?.scope, 'machine', name);
  assert.deepEqual(
    [...manifest.capabilities.untrustedWorkspaces.restrictedConfigurations].sort(),
    Object.keys(settings).sort(),
  );
});

test('diffs show the buttons above pending changes, which are code lenses', () => {
  const defaults: Record<string, unknown> = manifest.contributes.configurationDefaults;
  assert.equal(defaults['diffEditor.codeLens'], true);
});

test('the extension runs on the same host as the files and is activated only by its use', () => {
  assert.deepEqual(manifest.extensionKind, ['workspace']);
  assert.deepEqual(manifest.activationEvents, [
    'onView:agentLsp.panel',
    'onFileSystem:agent-proposed',
  ]);
});

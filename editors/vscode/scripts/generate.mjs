// node scripts/generate.mjs AGENT_LSP [--check] generates src/protocol.ts from the daemon's wire
// types, and the settings in package.json from the daemon's Config. With --check, it writes nothing
// and fails if a file is outdated.
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..');
const [binary, check] = process.argv.slice(2);
if (!binary) throw new Error('usage: node scripts/generate.mjs AGENT_LSP [--check]');
const schema = (kind) =>
  execFileSync(binary, ['schema', kind], { encoding: 'utf8', maxBuffer: 1 << 26 });

/** The settings that a workspace could abuse. Only the user may set them. */
const machine = new Set([
  'provider',
  'permissions',
  'sandbox',
  'sandboxPaths',
  'hooks',
  'mcpServers',
  'languageServers',
  'check',
  'formatters',
  'shell',
  'webSearch',
  'fetch',
  'modes',
  'agents',
  'subagents',
  'memory',
  'editPolicy',
]);
const own = /^agentLsp\.(server|trace|review|panel|notify)\./;

function settings() {
  const { $defs } = JSON.parse(schema('json'));
  const inline = (node, depth = 0) => {
    if (node === null || typeof node !== 'object' || depth > 12) return node;
    if (Array.isArray(node)) return node.map((n) => inline(n, depth));
    const { $ref, ...rest } = node;
    if (!$ref)
      return Object.fromEntries(
        Object.entries(rest).map(([key, value]) => [key, inline(value, depth + 1)]),
      );
    const { description: _general, ...target } = inline($defs[$ref.split('/').pop()], depth + 1);
    return { ...target, ...rest };
  };
  const properties = inline($defs.Config).properties;
  const names = Object.keys(properties).sort();
  return Object.fromEntries(
    names.map((name) => [
      `agentLsp.${name}`,
      { ...shown(properties[name]), scope: machine.has(name) ? 'machine' : 'resource' },
    ]),
  );
}

/**
 * Returns a setting with null as its default. A setting without a value is not sent, so no default
 * here can differ from the daemon's.
 */
function shown({ type, enum: choices, ...rest }) {
  const nullable = choices
    ? { enum: [null, ...choices], type: [type ?? 'string', 'null'] }
    : { type: Array.isArray(type) ? type : [type ?? 'object', 'null'] };
  return { ...rest, ...nullable, default: null };
}

function emit(file, content) {
  const target = path.join(root, file);
  if (check) {
    if (fs.readFileSync(target, 'utf8') !== content)
      throw new Error(`${file} is not current: run node scripts/generate.mjs AGENT_LSP`);
  } else {
    fs.writeFileSync(target, content);
  }
}

const manifest = JSON.parse(fs.readFileSync(path.join(root, 'package.json'), 'utf8'));
const [client, agent] = manifest.contributes.configuration;
client.properties = Object.fromEntries(
  Object.entries(client.properties).filter(([name]) => own.test(name)),
);
agent.properties = settings();
manifest.capabilities.untrustedWorkspaces.restrictedConfigurations = [
  ...Object.keys(client.properties),
  ...Object.keys(agent.properties),
].sort();
emit('package.json', `${JSON.stringify(manifest, null, 2)}\n`);
emit('src/protocol.ts', schema('typescript'));

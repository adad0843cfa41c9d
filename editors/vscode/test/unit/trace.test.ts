import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TraceChannel } from '../../src/trace';
import { fake, LogLevel } from './vscode';

test('the trace level follows its setting, and messages are written to the channel', () => {
  const channel = new TraceChannel();
  const levels: number[] = [];
  channel.onDidChangeLogLevel((level) => levels.push(level));
  assert.equal(channel.logLevel, LogLevel.Info);
  fake.settings['agentLsp.trace.server'] = 'verbose';
  fake.configured.fire({ affectsConfiguration: (name) => name === 'agentLsp.trace.server' });
  fake.configured.fire({ affectsConfiguration: () => false });
  assert.deepEqual(levels, [LogLevel.Trace]);
  assert.equal(
    fake.output.has('agent-lsp trace'),
    false,
    'the channel is made with the first message',
  );
  channel.trace('Sending request');
  channel.error(new Error('broken'));
  assert.match(
    fake.output.get('agent-lsp trace') ?? '',
    /^\S+Z Sending request\n\S+Z Error: broken\n$/,
  );
});

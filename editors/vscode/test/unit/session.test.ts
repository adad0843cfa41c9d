import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Daemon } from '../../src/client';
import { SessionControl } from '../../src/session';
import { EventEmitter, fake } from './vscode';

/** Returns the session of a new window whose daemon creates sessions with the given settings. */
function newWindow(config: object) {
  const never = new EventEmitter<never>().event;
  const daemon = {
    state: 'running',
    onNotification: never,
    onState: never,
    onRestarted: never,
    request: async () => ({ sessionId: 's', config }),
  };
  const state = { get: () => undefined, update: async () => {} };
  return new SessionControl(daemon as unknown as Daemon, state as never);
}

test('before the first session, the panel shows the settings of the next one', async () => {
  const control = newWindow({ editPolicy: 'collect', permissions: { profile: 'readOnly' } });
  const shown = () => [control.view().policy, control.view().profile];
  assert.deepEqual(shown(), ['ask', 'ask']);
  fake.settings = { editPolicy: 'review', permissions: { profile: 'workspace' } };
  assert.deepEqual(shown(), ['review', 'workspace']);
  fake.settings = { editPolicy: null, permissions: { rules: [] } };
  assert.deepEqual(shown(), ['ask', 'ask']);
  await control.create();
  assert.deepEqual(shown(), ['collect', 'readOnly'], 'the values of the session');
});

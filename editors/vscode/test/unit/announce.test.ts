import assert from 'node:assert/strict';
import { test } from 'node:test';
import { announcement, askAnnouncement } from '../../src/webview/announce';
import type { AgentEvent } from '../../src/webview/messages';

const stamp = { sessionId: 's', seq: 1, turnId: 't' };
const completed = (item: object, more = {}) =>
  announcement({
    method: 'agent/item/completed',
    params: { ...stamp, ...more, item: { itemId: 'i', createdAt: '', ...item } },
  } as AgentEvent);

test('a reply is announced as plain text', () => {
  assert.equal(
    completed({
      type: 'assistantMessage',
      text: 'See **this** `x` [page](https://x.y):\n\n```js\na();\n```\n\n- end',
    }),
    'See this x page: Code. - end',
  );
  assert.equal(completed({ type: 'assistantMessage', text: 'long '.repeat(500) }).length, 601);
});

test('replayed items, nested items, deltas and successful tool calls are not announced', () => {
  assert.equal(completed({ type: 'assistantMessage', text: 'hi' }, { replay: true }), '');
  assert.equal(completed({ type: 'assistantMessage', text: 'hi', parentItemId: 'x' }), '');
  assert.equal(
    announcement({
      method: 'agent/delta',
      params: { ...stamp, itemId: 'i', kind: 'text', text: 'x' },
    } as AgentEvent),
    '',
  );
  assert.equal(completed({ type: 'toolCall', status: 'completed', label: 'Read a' }), '');
});

test('failures and pending permissions are announced', () => {
  assert.equal(
    completed({ type: 'toolCall', status: 'failed', label: 'Run make' }),
    'Run make: failed.',
  );
  const ask = {
    kind: 'permission',
    params: {
      requestId: 'r',
      sessionId: 's',
      title: 'Run make',
      subject: { command: 'make' },
      reason: '',
      options: [
        { optionId: 'a', name: 'Allow', kind: 'allowOnce' },
        { optionId: 'b', name: 'Deny', kind: 'rejectOnce' },
      ],
    },
  };
  assert.equal(
    askAnnouncement(ask as never),
    'The agent is waiting for your permission: Run make. make Allow, Deny.',
  );
});

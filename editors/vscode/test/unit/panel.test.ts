import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContentBlock, Delta, Item, Turn } from '../../src/protocol';
import { keyAction, wordAt } from '../../src/webview/composer';
import type { AgentEvent } from '../../src/webview/messages';
import { Conversation, splitStable, wordsOf } from '../../src/webview/model';

const stamp = { sessionId: 's', seq: 1, turnId: 't' };
const item = (itemId: string, type: Item['type'], more: Partial<Item> = {}): Item => ({
  itemId,
  type,
  createdAt: '',
  ...more,
});
const started = (i: Item): AgentEvent => ({
  method: 'agent/item/started',
  params: { ...stamp, item: i },
});
const completed = (i: Item): AgentEvent => ({
  method: 'agent/item/completed',
  params: { ...stamp, item: i },
});
const delta = (itemId: string, text: string, kind: Delta['kind'] = 'text'): AgentEvent => ({
  method: 'agent/delta',
  params: { ...stamp, itemId, kind, text },
});
const turn: Turn = {
  turnId: 't',
  status: 'completed',
  modelCalls: 1,
  toolCalls: 0,
  toolErrors: 0,
  usage: { input: 0, output: 0, cached: 0, cacheWrite: 0, reasoning: 0, total: 0 },
};

function told(...events: AgentEvent[]): Conversation {
  const conversation = new Conversation();
  for (const event of events) conversation.take(event);
  return conversation;
}

test('deltas are joined, and the completed text replaces them', () => {
  const c = told(
    started(item('a', 'assistantMessage', { text: '' })),
    delta('a', 'one '),
    delta('a', 'two'),
  );
  assert.equal(c.entries.get('a')?.text, 'one two');
  c.take(completed(item('a', 'assistantMessage', { text: 'one two!' })));
  assert.equal(c.entries.get('a')?.text, 'one two!');
  c.take(delta('a', 'late'));
  assert.equal(c.entries.get('a')?.text, 'one two!');
});

test('repeated events change nothing', () => {
  const events = [
    completed(item('u', 'userMessage', { text: 'hi' })),
    started(item('a', 'assistantMessage', { text: 'so far' })),
  ];
  const c = told(...events, ...events);
  assert.deepEqual(c.order, ['u', 'a']);
  assert.equal(c.entries.get('a')?.text, 'so far');
});

test('the items of a sub-agent belong to its call', () => {
  const c = told(
    started(item('call', 'toolCall')),
    started(item('inner', 'assistantMessage', { text: 'x', parentItemId: 'call' })),
  );
  assert.deepEqual(c.order, ['call']);
  assert.deepEqual(c.entries.get('call')?.children, ['inner']);
});

test('parallel calls keep the order in which they were called, regardless of when they end', () => {
  const at = (fraction: string | number) => `2026-01-01T00:00:00.1234${fraction}Z`;
  const call = (id: string, nth: number) => completed(item(id, 'toolCall', { createdAt: at(nth) }));
  const text = completed(item('text', 'assistantMessage', { createdAt: at(51) }));
  const mixed = told(call('third', 31), call('first', 1), call('second', 3));
  assert.deepEqual(mixed.order, ['first', 'second', 'third']);
  const apart = told(call('late', 4), text, call('early', 1));
  assert.deepEqual(apart.order, ['late', 'text', 'early']);
});

test('a retry is shown until the next item starts', () => {
  const retry: AgentEvent = {
    method: 'agent/retry',
    params: {
      ...stamp,
      attempt: 1,
      maxRetries: 3,
      delayMs: 100,
      error: { kind: 'transient', message: 'no' },
    },
  };
  const c = told(retry, retry);
  assert.deepEqual(c.order, ['retry-t']);
  c.take(started(item('a', 'assistantMessage')));
  assert.deepEqual(c.order, ['a']);
});

test('a queued prompt is labeled with its text, or else with its attachments', () => {
  const file: ContentBlock = {
    type: 'resource',
    uri: 'file:///a.go',
    text: '(open in the editor)',
  };
  assert.equal(wordsOf('words'), 'words');
  assert.equal(
    wordsOf([{ type: 'text', text: 'explain' }, file, { type: 'text', text: 'this' }]),
    'explain this',
  );
  assert.equal(wordsOf([file, { type: 'image', data: 'AA==' }]), 'file:///a.go image');
});

test('the end of a turn completes its open items', () => {
  const c = told(started(item('a', 'toolCall')), {
    method: 'agent/turn/completed',
    params: { ...stamp, turn },
  });
  assert.equal(c.entries.get('a')?.done, true);
});

test('a message is drawn again when it is pinned or unpinned, and only then', () => {
  const updated = (pinned?: string[]): AgentEvent => ({
    method: 'agent/session/updated',
    params: { ...stamp, status: 'idle', pinned },
  });
  const c = told(
    completed(item('u', 'userMessage', { pinned: true })),
    completed(item('v', 'userMessage')),
  );
  assert.deepEqual(c.take(updated(['u'])), []);
  assert.deepEqual(c.take(updated(['v'])).sort(), ['u', 'v']);
  assert.deepEqual(
    [c.entries.get('u')?.item?.pinned, c.entries.get('v')?.item?.pinned],
    [false, true],
  );
  assert.deepEqual(c.take(updated()), ['v']);
  assert.equal(c.entries.get('v')?.item?.pinned, false);
});

test('live output is bounded', () => {
  const c = told(started(item('a', 'toolCall')));
  for (let i = 0; i < 100; i++) c.take(delta('a', 'x'.repeat(10_000), 'toolOutput'));
  assert.ok((c.entries.get('a')?.text.length ?? 0) <= 128 * 1024);
});

test('unknown notifications are ignored', () => {
  assert.deepEqual(told().take({ method: 'agent/new/thing', params: {} } as never), []);
});

test('Markdown is split only where the text can no longer change', () => {
  const check = (text: string, stable: string) =>
    assert.equal(text.slice(0, splitStable(text, 0)), stable);
  check('one\n\ntwo', 'one\n\n');
  check('one\n\n', '');
  check('```\na\n\nb', '');
  check('```\na\n\nb\n```\n\nnext', '```\na\n\nb\n```\n\n');
  check('- a\n\n- b', '');
  check('- a\n\n  more', '');
  check('1. a\n\n2. b', '');
});

test('keyAction maps keys to actions', () => {
  const key = (name: string, more = {}) =>
    keyAction({
      key: name,
      shiftKey: false,
      altKey: false,
      ctrlKey: false,
      isComposing: false,
      ...more,
    });
  assert.equal(key('Enter'), 'send');
  assert.equal(key('Enter', { altKey: true }), 'queue');
  assert.equal(key('Enter', { shiftKey: true }), undefined);
  assert.equal(key('Enter', { isComposing: true }), undefined);
  assert.equal(key('Escape'), 'escape');
});

test('wordAt returns the mention or command to complete', () => {
  assert.deepEqual(wordAt('see @src/a', 10), { start: 4, query: '@src/a' });
  assert.deepEqual(wordAt('/com', 4), { start: 0, query: '/com' });
  assert.equal(wordAt('mail a@b', 8), undefined);
  assert.equal(wordAt('see /tmp', 8), undefined);
});

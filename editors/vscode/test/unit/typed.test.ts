import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PermissionOption } from '../../src/protocol';
import type { Waiting } from '../../src/webview/messages';
import { answerOf, inputHint, optionGroups, replyWith, visible } from '../../src/webview/typed';

type Kind = PermissionOption['kind'];
const option = (optionId: string, kind: Kind) => ({ optionId, name: optionId, kind });
const options = [
  option('once', 'allow_once'),
  option('always', 'allow_always'),
  option('no', 'reject_once'),
];
const stamp = { requestId: 'r', sessionId: 's', turnId: 't', itemId: 'i' };
const permission: Waiting = {
  kind: 'permission',
  params: {
    ...stamp,
    title: '',
    reason: '',
    subject: { kind: 'shell', command: 'ls' },
    options,
  } as never,
};
const question: Waiting = {
  kind: 'ask',
  params: { ...stamp, question: 'Which?', options: [{ label: 'Red' }, { label: 'Blue' }] } as never,
};

test('only a digit, yes or no answers a permission', () => {
  const check = (text: string, optionId: string | undefined) => {
    assert.deepEqual(
      answerOf(text, permission),
      optionId && { type: 'permission', requestId: 'r', optionId },
      text,
    );
  };
  for (const yes of ['1', 'y', 'Y', 'yes', ' yes ']) check(yes, 'once');
  for (const no of ['2', 'n', 'no', 'NO']) check(no, 'no');
  for (const other of [
    '',
    '0',
    '3',
    '4',
    '11',
    '1.',
    '1 2',
    'yess',
    'yes please',
    'no, use the other',
    'allow',
    'ok',
  ])
    check(other, undefined);
});

test('an answer cannot select an option that is not offered', () => {
  const without = {
    kind: 'permission',
    params: { ...permission.params, options: [option('always', 'allow_always')] },
  } as Waiting;
  assert.equal(answerOf('y', without), undefined);
  assert.equal(answerOf('n', without), undefined);
  assert.deepEqual(replyWith('why', without), {
    type: 'permission',
    requestId: 'r',
    optionId: '',
    feedback: 'why',
  });
});

test('a question is answered by the digit of a choice', () => {
  assert.deepEqual(answerOf('2', question), { type: 'answer', requestId: 'r', answer: 'Blue' });
  for (const other of ['3', 'y', 'no']) assert.equal(answerOf(other, question), undefined);
  assert.deepEqual(replyWith('Green', question), {
    type: 'answer',
    requestId: 'r',
    answer: 'Green',
  });
  assert.equal(
    answerOf('1', { kind: 'ask', params: { ...question.params, multi: true } } as Waiting),
    undefined,
  );
});

test('the digits of the menu are valid only while the menu is open', () => {
  assert.equal(answerOf('3', permission), undefined);
  assert.deepEqual(answerOf('3', permission, true), {
    type: 'permission',
    requestId: 'r',
    optionId: 'always',
  });
});

test('allow once and reject are shown, the rest is in the menu', () => {
  const ids = (list: { optionId: string }[]) => list.map((o) => o.optionId);
  const { shown, menu } = optionGroups(options);
  assert.deepEqual([ids(shown), ids(menu)], [['once', 'no'], ['always']]);
  assert.deepEqual(ids(optionGroups([option('always', 'allow_always')]).shown), ['always']);
});

test('invisible characters in a command are shown as escapes', () => {
  assert.equal(visible('a\u202eb\u200bc\x1b[0m\td\ne é'), 'a\\u202eb\\u200bc\\x1b[0m\td\ne é');
  assert.equal(visible('a\ufe0fb\u180bc\u3164d\u00a0e'), 'a\\ufe0fb\\u180bc\\u3164d\\xa0e');
  assert.equal(visible('a\u{e0100}b\u{e0041}c'), 'a\\U000e0100b\\U000e0041c');
});

test('the input names the answers that count', () => {
  const hint = (waiting: Waiting) => inputHint(waiting, 1)?.replaceAll('\u00a0', ' ');
  assert.equal(hint(permission), 'Answer with 1, 2, y or n, or write a message');
  const always = { params: { ...permission.params, options: options.slice(1, 2) } };
  assert.equal(hint({ ...permission, ...always } as Waiting), 'Answer with 1, or write a message');
  assert.equal(hint(question), 'Answer with a digit or in your own words');
  const open = { params: { ...question.params, options: undefined } };
  assert.equal(hint({ ...question, ...open } as Waiting), 'Answer in your own words');
});

test('while changes are pending, the input says that Enter asks first', () => {
  assert.match(inputHint(undefined, 1) ?? '', /^Enter asks before it rejects changes; /);
  assert.equal(inputHint(undefined, 0), undefined);
});

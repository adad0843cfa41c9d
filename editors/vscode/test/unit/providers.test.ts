import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NoProgramError } from '../../src/bootstrap';
import { problemOf } from '../../src/problems';
import {
  nameForUrl,
  providerChoices,
  providerInUse,
  references,
  urlProblem,
  withProvider,
} from '../../src/providers';

const choice = (name: string) =>
  providerChoices.find((known) => known.name === name) ?? assert.fail(name);
const model = (id: string) => ({ id, provider: 'corp', source: 'server' as const });

test('a server that the user enters by URL gets a name that is valid in references', () => {
  assert.equal(nameForUrl('https://llm.example.com/v1', {}), 'llm-example-com');
  assert.equal(nameForUrl('http://127.0.0.1:9000/v1', {}), '127-0-0-1-9000');
  assert.equal(nameForUrl('http://openai/v1', {}), 'openai-2', 'a built-in name is not taken');
  assert.equal(
    nameForUrl('https://a.example/v1', { 'a-example': { baseUrl: 'https://other/v1' } }),
    'a-example-2',
  );
  assert.equal(
    nameForUrl('https://a.example/v1', { mine: { baseUrl: 'https://a.example/v1' } }),
    'mine',
  );
  assert.deepEqual(
    ['ftp://a/', 'a.example', '', 'https://a.example'].map((url) => urlProblem(url) === undefined),
    [false, false, false, true],
  );
});

test('a provider gets an entry in the settings only if it needs one', () => {
  assert.equal(withProvider(choice('openai'), 'openai', undefined, {}), undefined);
  assert.deepEqual(withProvider(choice('ollama'), 'ollama', undefined, {}), { ollama: {} });
  assert.equal(
    withProvider(choice('ollama'), 'ollama', undefined, { providers: { ollama: {} } }),
    undefined,
  );
  assert.deepEqual(
    withProvider(choice('openai'), 'openai', undefined, { provider: { baseUrl: 'https://x/v1' } }),
    { openai: {} },
  );
  const before = { azure: { baseUrl: 'https://old/', headers: { a: 'b' } }, corp: {} };
  assert.deepEqual(withProvider(choice('azure'), 'azure', 'https://new/', { providers: before }), {
    azure: { baseUrl: 'https://new/', headers: { a: 'b' } },
    corp: {},
  });
});

test('a listed model becomes a reference that names its provider', () => {
  assert.deepEqual(
    references('corp', [model('corp/a')]).map((r) => r.reference),
    ['corp/a'],
  );
  assert.deepEqual(
    references('corp', [model('a'), model('corp/b')]).map((r) => r.reference),
    ['corp/a', 'corp/corp/b'],
    'bare ids may begin like the name',
  );
});

test('providerInUse finds the provider to which a key belongs', () => {
  assert.equal(providerInUse({}), 'openai');
  assert.equal(providerInUse({ model: 'anthropic/a' }), 'anthropic');
  assert.equal(providerInUse({ model: 'corp/a', providers: { corp: {} } }), 'corp');
  assert.equal(providerInUse({ model: 'qwen/a', provider: { api: 'gemini' } }), 'gemini');
  assert.equal(
    providerInUse({ model: 'anthropic/a', provider: { baseUrl: 'https://x/v1' } }),
    undefined,
  );
});

test('an error about a missing provider omits variables, and its kind selects the help', () => {
  const hint = 'set OPENAI_API_KEY, or start a local server';
  const error = { code: 1006, message: `no model provider is configured: ${hint}`, data: { hint } };
  assert.deepEqual(problemOf(error), { text: 'No model provider is configured.', kind: 'setup' });
  assert.deepEqual(problemOf({ code: 1004, message: 'busy', data: { hint: 'wait' } }), {
    text: 'busy wait',
    kind: 'other',
  });
  assert.equal(problemOf(new NoProgramError('not found')).kind, 'program');
});

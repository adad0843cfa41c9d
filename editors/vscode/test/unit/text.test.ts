import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  counted,
  errorParts,
  firstLine,
  modelFacts,
  shortCount,
  withoutIcons,
} from '../../src/text';
import { argumentsText, sentence } from '../../src/webview/model';

test('counts use the singular and the plural', () => {
  assert.deepEqual(
    [0, 1, 2].map((n) => counted(n, 'file')),
    ['0 files', '1 file', '2 files'],
  );
});

test('firstLine returns one line for a list row', () => {
  assert.equal(firstLine('  fix add\nand the rest'), 'fix add');
  assert.equal(firstLine('x'.repeat(100), 10), `${'x'.repeat(9)}…`);
});

test('a message from another program ends as a sentence', () => {
  assert.deepEqual(['too busy', 'Wait!', 'What?', 'done.', 'on and on…'].map(sentence), [
    'too busy.',
    'Wait!',
    'What?',
    'done.',
    'on and on…',
  ]);
});

test('an error of the model is separated from its help', () => {
  assert.deepEqual(
    errorParts('HTTP 500 from example.org (try again; if the error persists, check the network)'),
    {
      what: 'HTTP 500 from example.org.',
      help: 'Try again; if the error persists, check the network.',
    },
  );
  assert.deepEqual(errorParts('the API key of openai is invalid: no'), {
    what: 'The API key of openai is invalid: no.',
    help: '',
  });
});

test('arguments are shown verbatim, one per line', () => {
  assert.equal(
    argumentsText({ path: 'a.js', limit: 20, all: true }),
    'path: a.js\nlimit: 20\nall: true',
  );
  assert.equal(
    argumentsText({ command: 'one\ntwo', timeout: 5 }),
    'command:\n  one\n  two\ntimeout: 5',
  );
  assert.equal(
    argumentsText({ edits: [{ old: 'a' }] }),
    'edits:\n  [\n    {\n      "old": "a"\n    }\n  ]',
  );
  assert.equal(argumentsText('{"half":'), '{"half":');
  assert.equal(argumentsText({ command: 'one\ntwo' }), 'one\ntwo');
  assert.equal(argumentsText({}), '');
  assert.equal(argumentsText([1]), '[\n  1\n]');
});

test('a model is listed with its window, its price and its abilities', () => {
  assert.equal(
    modelFacts({
      contextWindow: 200_000,
      cost: { input: 3, output: 15 },
      tools: true,
      vision: true,
      thinking: ['low'],
    }),
    '200K context · $3 in, $15 out per million tokens · tools, images, thinking',
  );
  assert.equal(modelFacts({ tools: false, vision: false, thinking: [] }), 'no tools');
  assert.equal(modelFacts({}), '');
  assert.deepEqual([512, 8192, 1_000_000, 1_048_576, 1_500_000].map(shortCount), [
    '512',
    '8K',
    '1M',
    '1M',
    '1.5M',
  ]);
});

test("icon syntax in a program's text is escaped, and other text is unchanged", () => {
  assert.equal(withoutIcons('a=$(pwd) b=$(sync~spin)'), 'a=\\$(pwd) b=\\$(sync~spin)');
  assert.equal(withoutIcons('sum: $(sum "$@")'), 'sum: $(sum "$@")');
});

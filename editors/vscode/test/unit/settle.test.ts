import assert from 'node:assert/strict';
import { beforeEach, test, type TestContext } from 'node:test';
import { settled, watch } from '../../src/settle';
import { fake, Uri, type Problem } from './vscode';

const ask = 'typescript.tsserverRequest';
const problem = (message: string, source = 'ts'): Problem => ({
  message,
  source,
  severity: 0,
  range: { start: { line: 0, character: 4 } },
});
let made = 0;

/**
 * Returns a document whose text has just changed. Each test uses its own language name, so that the
 * tests do not affect each other.
 */
function changed(languageId: string, problems: Problem[] = []): Uri {
  const uri = Uri.file(`/${++made}`);
  fake.problems.set(uri.toString(), problems);
  watch();
  fake.documents.push({ uri, languageId, version: 1 });
  type(uri);
  return uri;
}

function type(uri: Uri): void {
  const document = fake.documents.find((d) => d.uri === uri)!;
  document.version++;
  fake.changed.fire({ document, contentChanges: [{}] });
}

function tell(uri: Uri, problems: Problem[]): void {
  fake.problems.set(uri.toString(), problems);
  fake.told.fire({ uris: [uri] });
}

/** Installs a fake of TypeScript's server that always gives the same answer. */
function server(...said: string[]): void {
  const body = said.map((text) => ({ start: { line: 1, offset: 5 }, text }));
  fake.commands[ask] = (kind: string) => ({ body: kind.startsWith('semantic') ? body : [] });
}

/** Returns the number of milliseconds that `settled` takes on the test's clock, and its result. */
async function took(
  t: TestContext,
  uri: Uri,
  meanwhile: Record<number, () => void> = {},
): Promise<[number, boolean]> {
  let answer: boolean | undefined;
  let at = 0;
  void settled({ uris: [uri.toString()], timeoutMs: 3000 }).then((is) => (answer = is));
  for (; ; at += 10) {
    for (let i = 0; i < 20; i++) await null;
    if (answer !== undefined) return [at, answer];
    meanwhile[at]?.();
    t.mock.timers.tick(10);
  }
}

beforeEach((t) => {
  fake.commands = {};
  (t as TestContext).mock.timers.enable({
    apis: ['setTimeout', 'Date'],
    now: 1_000_000 + made * 100_000,
  });
});

test('the wait ends shortly after the server publishes', async (t) => {
  const uri = changed('python');
  assert.deepEqual(await took(t, uri, { 100: () => tell(uri, [problem('bad')]) }), [350, true]);
});

test('the wait for an unreported clean file takes one second, and only once per language', async (t) => {
  assert.deepEqual(await took(t, changed('markdown')), [1000, true]);
  assert.deepEqual(await took(t, changed('markdown')), [0, true]);
});

test('problems that no server publishes again may be outdated', async (t) => {
  assert.deepEqual(await took(t, changed('ruby', [problem('bad')])), [3000, false]);
});

test("a file with unchanged problems is settled by TypeScript's answer once no other server is expected", async (t) => {
  server('bad');
  const uri = changed('typescript', [problem('bad')]);
  assert.deepEqual(await took(t, uri), [1000, true], 'the first time others are waited for');
  type(uri);
  assert.deepEqual(await took(t, uri), [0, true]);
  server('worse');
  type(uri);
  assert.deepEqual(
    await took(t, uri, { 400: () => tell(uri, [problem('worse')]) }),
    [650, true],
    'what it says otherwise has to be shown first',
  );
  type(uri);
  assert.deepEqual(await took(t, uri), [0, true]);
});

test('the wait includes another tool that has published for scripts', async (t) => {
  server();
  const uri = changed('javascript');
  assert.deepEqual(await took(t, uri), [1000, true]);
  tell(uri, [problem('style', 'eslint')]);
  type(uri);
  tell(uri, []);
  type(uri);
  assert.deepEqual(await took(t, uri, { 500: () => tell(uri, [problem('style', 'eslint')]) }), [
    750,
    true,
  ]);
});

test('an answer of the server applies only once it is shown, also in a file that was clean', async (t) => {
  server('bad');
  const uri = changed('javascriptreact');
  tell(uri, []);
  type(uri);
  assert.deepEqual(await took(t, uri, { 1500: () => tell(uri, [problem('bad')]) }), [1750, true]);
});

test('an answer about an older text is ignored', async (t) => {
  server();
  const uri = changed('typescriptreact');
  await took(t, uri);
  const asked: ((reply: unknown) => void)[] = [];
  fake.commands[ask] = () => new Promise((reply) => asked.push(reply));
  type(uri);
  const late = () => asked.forEach((reply) => reply({ body: [] }));
  assert.deepEqual(await took(t, uri, { 50: () => type(uri), 100: late }), [1000, true]);
});

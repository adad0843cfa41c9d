import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { FolderQuestion, tooLarge } from '../../src/folders';
import { fake, Uri } from './vscode';

test('the home folder, its parent folders and the root are too large for a workspace', () => {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'home-'));
  assert.equal(tooLarge('/', home), 'the root of the file system');
  assert.equal(tooLarge(home, home), 'your home folder');
  assert.equal(tooLarge(path.dirname(home), home), 'a folder that contains your home folder');
  fs.symlinkSync(path.dirname(home), path.join(home, 'up'));
  assert.equal(tooLarge(path.join(home, 'up'), home), 'a folder that contains your home folder');
  for (const other of [`${home}/project`, `${home}-2`, `${path.dirname(home)}/..home`])
    assert.equal(tooLarge(other, home), undefined);
  fs.rmSync(home, { recursive: true });
});

function newQuestion() {
  const kept = new Map<string, unknown>();
  const state = {
    get: (key: string, otherwise: unknown) => kept.get(key) ?? otherwise,
    update: async (key: string, value: unknown) => void kept.set(key, value),
  };
  const asked: string[] = [];
  const answers = (answer: string | undefined) => {
    fake.warned = (text) => {
      asked.push(text);
      return answer;
    };
  };
  return { question: new FolderQuestion(state as never), asked, answers };
}

test('a refusal applies until the user asks again, and an approval is permanent', async () => {
  const { question, asked, answers } = newQuestion();
  fake.folders = [{ uri: Uri.file('/') }];
  answers(undefined);
  await assert.rejects(question.ask(false), /root of the file system.*press Restart/);
  await assert.rejects(question.ask(false), /press Restart/);
  assert.equal(asked.length, 1, 'what needs the daemon does not ask again');
  await assert.rejects(question.ask(true), /press Restart/);
  answers('Use the Whole Folder');
  await question.ask(true);
  await question.ask(false);
  assert.equal(asked.length, 3);
  fake.folders = [];
});

test('an approval covers the folder that was shown, and no folder that is added later', async () => {
  const { question, asked, answers } = newQuestion();
  const home = { uri: Uri.file(os.homedir()) };
  fake.folders = [home, { uri: Uri.file(path.join(os.homedir(), 'project')) }];
  answers('Use the Whole Folder');
  await question.ask(false);
  assert.equal(question.agreed, true);
  fake.folders = [home, { uri: Uri.file('/') }];
  assert.equal(
    question.agreed,
    false,
    'the daemon asks about a folder that is added while it runs',
  );
  await question.ask(false);
  assert.deepEqual(
    asked.map((text) => text.split(' ')[0]),
    [os.homedir(), '/'],
  );
  assert.equal(question.agreed, true);
  fake.folders = [];
});

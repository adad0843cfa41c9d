import assert from 'node:assert/strict';
import os from 'node:os';
import { test } from 'node:test';
import { tooLarge } from '../../src/folders';

test('the home folder and the root are hardly meant as a workspace', () => {
  const home = os.tmpdir();
  assert.equal(tooLarge('/', home), 'the root of the file system');
  assert.equal(tooLarge(home, home), 'your home folder');
  assert.equal(tooLarge(`${home}/project`, home), undefined);
});

import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { applyExactly, refusal } from '../../src/apply';
import { findBinary, type Places } from '../../src/bootstrap';

const places = (files: string[], more: Partial<Places> = {}): Places => ({
  setting: '',
  extensionDir: '/ext',
  pathVariable: 'bin:/usr/bin:/opt/bin',
  home: '/home/u',
  platform: 'linux',
  isExecutable: (file) => files.includes(file),
  ...more,
});

test('the setting takes precedence over the bundled binary, and that over PATH', () => {
  const all = ['/mine/agent-lsp', path.join('/ext', 'bin', 'agent-lsp'), '/opt/bin/agent-lsp'];
  assert.deepEqual(findBinary(places(all, { setting: '/mine/agent-lsp' })), {
    file: '/mine/agent-lsp',
    source: 'setting',
  });
  assert.equal(findBinary(places(all)).source, 'bundled');
  assert.deepEqual(findBinary(places(['/opt/bin/agent-lsp'])), {
    file: '/opt/bin/agent-lsp',
    source: 'PATH',
  });
});

test('a wrong setting is reported, not ignored', () => {
  assert.throws(
    () => findBinary(places(['/opt/bin/agent-lsp'], { setting: '~/nothing' })),
    /server\.path names \/home\/u\/nothing/,
  );
});

test('a relative entry of PATH is ignored', () => {
  assert.throws(() => findBinary(places(['bin/agent-lsp'])), /not found/);
});

const edit = (version: number | null) => ({
  documentChanges: [{ textDocument: { uri: 'file:///a', version }, edits: [] }],
});

test('an edit for another version is refused', async () => {
  let applied = 0;
  const apply = async () => ({ applied: ++applied > 0 });
  const result = await applyExactly({ edit: edit(3) }, () => 4, apply);
  assert.equal(result.applied, false);
  assert.match(result.failureReason ?? '', /version 4.*version 3/);
  assert.equal(applied, 0);
  assert.equal((await applyExactly({ edit: edit(4) }, () => 4, apply)).applied, true);
});

test('every document of an edit is checked', () => {
  const two = {
    documentChanges: [
      ...edit(4).documentChanges,
      { textDocument: { uri: 'file:///b', version: 1 }, edits: [] },
    ],
  };
  assert.match(refusal(two, (uri) => (uri === 'file:///a' ? 4 : 2)) ?? '', /file:\/\/\/b/);
  assert.match(refusal(edit(1), () => undefined) ?? '', /not open/);
  assert.equal(
    refusal(edit(null), () => undefined),
    undefined,
  );
});

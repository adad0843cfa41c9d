import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reversed } from '../../src/preview';

test('a reversed diff removes what was added', () => {
  const diff =
    '--- a/x.js\n+++ b/x.js\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2.5\n three\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+made\n';
  assert.equal(
    reversed(diff),
    '--- b/x.js\n+++ a/x.js\n@@ -1,4 +1,3 @@\n one\n-2\n-2.5\n+two\n three\n--- b/new\n+++ /dev/null\n@@ -1 +0,0 @@\n-made\n',
  );
  assert.equal(reversed(reversed(diff)), diff);
});

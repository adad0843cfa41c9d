import assert from 'node:assert/strict';
import { test } from 'node:test';
import { missingMarkdown } from '../../src/review/missing';

test('the missing text is shown in its language, in a fence that it does not contain', () => {
  assert.equal(
    missingMarkdown({ sign: '+', lines: ['const a = 1;'] }, 'typescript'),
    'Proposed text\n\n```typescript\nconst a = 1;\n```',
  );
  assert.equal(
    missingMarkdown({ sign: '−', lines: ['````js', 'x', '````'] }, 'markdown'),
    'Replaced text\n\n`````markdown\n````js\nx\n````\n`````',
  );
});

test('a long text is cut off, and the number of remaining lines is shown', () => {
  const lines = Array.from({ length: 45 }, (_, i) => `line ${i}`);
  const text = missingMarkdown({ sign: '+', lines }, 'plaintext');
  assert.match(text, /line 39\n```\n\n… 5 more lines$/);
});

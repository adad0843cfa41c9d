import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isCostly } from '../../src/webview/costly';

const table = (columns: number, rows: number) =>
  `|${'a|'.repeat(columns)}\n|${'-|'.repeat(columns)}\n${'|x\n'.repeat(rows)}`;

test('ordinary Markdown is drawn', () => {
  const quotes = `${'> '.repeat(20)}deep\n${'  '.repeat(40)}- item\n${'-'.repeat(300)}\n`;
  const prose = `${'word '.repeat(3000)}\nhttps://example.org/${'a'.repeat(2000)}\n`;
  for (const text of ['', '# Title\n\n- a\n- b\n', quotes, prose, table(20, 2000), table(200, 100)])
    assert.equal(isCostly(text), false, text.slice(0, 40));
});

test('text that would freeze the panel is not parsed as Markdown', () => {
  for (const text of [
    '>'.repeat(19_000),
    `ok\n${'> '.repeat(500)}`,
    '+ '.repeat(9_000),
    `${'1. '.repeat(6_000)}a`,
    `${'> - '.repeat(4_000)}a`,
    table(2_000, 6_000),
    table(15_000, 30_000),
    `${'a'.repeat(15_000)}@\n`.repeat(10),
  ])
    assert.equal(isCostly(text), true, text.slice(0, 40));
});

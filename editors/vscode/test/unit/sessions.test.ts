import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Daemon } from '../../src/client';
import type { Session } from '../../src/protocol';
import type { SessionControl } from '../../src/session';
import { ago, isListed, SessionList } from '../../src/sessions';
import { fake } from './vscode';

const session = (more: Partial<Session>) =>
  ({ sessionId: 's', title: 'T', status: 'idle', messages: 2, updatedAt: '', ...more }) as Session;

test('sessions from `agent-lsp run` or without an answer are listed only on request', () => {
  assert.equal(isListed(session({})), true);
  assert.equal(isListed(session({ origin: 'run' })), false);
  assert.equal(isListed(session({ messages: 1 })), false, 'its prompt failed');
  assert.equal(isListed(session({ messages: 1, status: 'running' })), true, 'its answer comes');
  assert.equal(isListed(session({ messages: 1 }), 's'), true, 'the panel shows it');
  assert.equal(isListed(session({ origin: 'run', archived: true })), true, 'kept by the user');
});

test('a session that was restored to before its first prompt is listed', () => {
  assert.equal(isListed(session({ messages: 0 })), true, 'its restore can be undone');
  assert.equal(isListed(session({ messages: 0, title: '' })), false, 'it had no prompt');
  assert.equal(isListed(session({ messages: 0, origin: 'run' })), false);
});

test('times of today are relative, and earlier days are named', () => {
  const now = new Date(2026, 2, 1, 9, 30).getTime();
  const at = (...when: [number, number, number, number, number]) =>
    ago(new Date(...when).toISOString(), now);
  assert.equal(at(2026, 2, 1, 9, 29), 'just now');
  assert.equal(at(2026, 2, 1, 9, 10), '20 minutes ago');
  assert.equal(at(2026, 2, 1, 6, 30), '3 hours ago');
  assert.match(at(2026, 1, 28, 23, 50), /^yesterday, 11:50 PM$|^yesterday, 23:50$/);
  assert.match(at(2026, 1, 27, 14, 5), /27.*Feb|Feb.*27/);
  assert.doesNotMatch(at(2026, 1, 27, 14, 5), /2026|yesterday/);
  assert.match(at(2025, 11, 31, 14, 5), /2025/);
});

/**
 * Shows the list of a daemon's stored sessions, and returns it. `opened` contains the ids of the
 * sessions that the user has chosen.
 */
async function listOver(stored: Session[], page = stored.length) {
  const opened: string[] = [];
  const daemon = {
    request: async (_: string, { cursor = '0' }: { cursor?: string }) => {
      const end = Number(cursor) + page;
      const nextCursor = end < stored.length ? String(end) : undefined;
      return { sessions: stored.slice(Number(cursor), end), nextCursor };
    },
  };
  const control = {
    guard: (work: Promise<void>) => work,
    attach: async (id: string) => void opened.push(id),
  };
  await new SessionList(daemon as unknown as Daemon, control as unknown as SessionControl).show();
  const pick = fake.picks.at(-1)!;
  const choose = async (label: string) => {
    pick.selectedItems = pick.items.filter((item) => item.label === label);
    pick.accepted.fire();
    await new Promise(setImmediate);
  };
  return { pick, opened, choose, labels: () => pick.items.map((item) => item.label) };
}

const plain = '$(add) New session';
const showAll = '$(eye) Show all sessions';

test('a row adds the hidden sessions to the list', async () => {
  const run = session({ sessionId: 'r', title: 'Run', origin: 'run' });
  const failed = session({ sessionId: 'f', title: 'Failed', messages: 1 });
  const list = await listOver([session({ title: 'Mine' }), run, failed]);
  assert.deepEqual(list.labels(), [plain, showAll, 'Mine']);
  await list.choose(showAll);
  assert.equal(list.pick.hidden, false, 'the list stays open');
  assert.deepEqual(list.labels(), [plain, 'Mine', 'Run', 'Failed']);
  assert.match(list.pick.items[2]?.detail ?? '', /from agent-lsp run/);
  await list.choose('Run');
  assert.deepEqual(list.opened, ['r']);
});

test('without hidden sessions the list has no such row', async () => {
  assert.deepEqual((await listOver([session({ title: 'Mine' })])).labels(), [plain, 'Mine']);
});

test('many runs do not hide earlier sessions', async () => {
  const run = (n: number) => session({ sessionId: `r${n}`, origin: 'run' });
  const runs = Array.from({ length: 150 }, (_, n) => run(n));
  const list = await listOver([...runs, session({ title: 'Mine' })], 100);
  assert.deepEqual(list.labels(), [plain, showAll, 'Mine']);
});

test('the list has no backticks, because it cannot draw code', async () => {
  const run = session({ sessionId: 'r', title: 'Test `add`', origin: 'run' });
  const list = await listOver([session({ title: 'Fix `add` in `calc.js`' }), run]);
  const texts = () => list.pick.items.map((row) => JSON.stringify({ ...row, session: undefined }));
  assert.doesNotMatch(texts().join(), /`/);
  await list.choose(showAll);
  assert.deepEqual(list.labels(), [plain, 'Fix add in calc.js', 'Test add']);
  assert.doesNotMatch(texts().join(), /`/);
});

test('after a search, Enter opens the first session found', async () => {
  const { pick } = await listOver([session({ title: 'Mine' })]);
  assert.equal(pick.activeItems.length, 0, 'without a search, the first row is active');
  pick.value = 'mine';
  pick.typed.fire(pick.value);
  await new Promise(setImmediate);
  assert.deepEqual(
    pick.activeItems.map((item) => item.label),
    ['Mine'],
  );
});

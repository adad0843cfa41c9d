// Tests choices in a picker that apply to one session or become the default for new sessions.
import { edit, onlyThisSession, openCalc, pendingHunks } from './model.mjs';

const picker = (d, words) => d.panel.locator('.picker', { hasText: words }).waitFor();
const offer = (d) => d.panel.locator('.offer');
const offered = (d, name) => offer(d).getByRole('button', { name });

/**
 * Checks that the panel offers to apply edits first when the first edit is pending. The user can
 * accept the offer for one session or as the default.
 */
async function reviewOffered(d) {
  const file = await openCalc(d);
  await d.play(
    edit(file, 'a - b', 'a + b'),
    { text: 'One.' },
    edit(file, 'return 1', 'return 0'),
    { text: 'Two.' },
    edit(file, 'n + n', '2 * n'),
    { text: 'Three.' },
  );
  await d.prompt('first');
  await pendingHunks(d, 1);
  await offered(d, 'Make this my default').waitFor();
  await d.shot('offer-light');
  await d.click(offered(d, 'In this session'));
  await picker(d, 'Edits: review after');
  await offer(d).waitFor({ state: 'hidden' });
  await d.agent('Accept All Changes');
  await d.entry('assistantMessage', 'One.').waitFor();
  await d.idle();
  await d.newSession();
  await picker(d, 'Edits: ask first'); // the choice applied only to the earlier session
  await d.prompt('second');
  await pendingHunks(d, 1);
  await d.click(offered(d, 'Make this my default'));
  await picker(d, 'Edits: review after');
  await d.agent('Accept All Changes');
  await d.entry('assistantMessage', 'Two.').waitFor();
  await d.idle();
  await d.newSession();
  await picker(d, 'Edits: review after');
  await d.prompt('third');
  await d.entry('assistantMessage', 'Three.').waitFor();
  await d.bufferHas('2 * n');
  await d.idle();
  await d.click(d.panel.locator('.changes').getByRole('button', { name: 'Keep all' }));
  await d.panel
    .locator('.changes', { hasText: '1 file changed' })
    .or(d.panel.locator('.changes[hidden]'))
    .waitFor({ state: 'attached' });
  await d.configure('agentLsp.editPolicy', null);
}

/**
 * Checks that a choice that becomes the default applies to a new session, and that a choice for one
 * session does not.
 */
async function defaultsKept(d) {
  await d.play({ text: 'Over.' });
  const choose = async (words, label) => {
    await d.click(d.panel.locator('.picker', { hasText: words }));
    await d.choose(label);
  };
  await choose('Edits:', 'collect');
  await onlyThisSession(d);
  await picker(d, 'Edits: collect');
  await choose('Commands:', 'sandboxed');
  await d.choose('Make this my default');
  await picker(d, 'Commands: sandboxed');
  await d.newSession();
  await picker(d, 'Commands: sandboxed');
  await picker(d, 'Edits: ask first');
  await d.configure('agentLsp.permissions', null);
}

export const choiceSteps = [
  ['review is offered at the first edit', reviewOffered],
  ['a choice applies to the session or becomes the default', defaultsKept],
];

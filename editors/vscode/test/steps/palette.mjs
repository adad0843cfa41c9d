// Runs palette commands, and checks the effect of each. ../commands.json lists the ids of the
// commands that a run must use.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { until } from '../workbench.mjs';
import {
  bash,
  call,
  edits,
  lens,
  onlyThisSession,
  openCalc,
  pendingHunks,
  talk,
  trust,
} from './model.mjs';

/** Sends two messages to a running turn. One steers the turn, and the other is queued. */
async function steerAndQueue(d) {
  const go = path.join(d.workspace, `.go-${Date.now()}`);
  await d.play(
    bash(`while [ ! -f '${go}' ]; do sleep 0.05; done; echo was-run`),
    {
      expect: { lastUser: '^use the other name', sent: 'was-run' },
      text: 'Under the other name, then.',
    },
    { expect: { lastUser: '^and write the notes' }, text: 'The notes are written.' },
  );
  await trust(d);
  await d.prompt('run it');
  await d.entry('toolCall').locator('.sign.running').waitFor();
  await d.agent('Steer the Running Turn');
  await d.answer('use the other name');
  const queued = (text) => d.panel.locator('.queue li', { hasText: text });
  await queued('use the other name').locator('.delivery', { hasText: 'steer' }).waitFor();
  await d.agent('Queue a Prompt');
  await d.answer('and write the notes');
  await queued('and write the notes').locator('.delivery', { hasText: 'next' }).waitFor();
  assert.equal(await d.entry('assistantMessage').count(), 0, 'the turn is not over');
  fs.writeFileSync(go, '');
  await d.entry('assistantMessage', 'Under the other name').waitFor();
  await d.entry('assistantMessage', 'The notes are written').waitFor();
  await d
    .entry('userMessage', 'use the other name')
    .locator('.who', { hasText: 'steered' })
    .waitFor();
  await d
    .entry('userMessage', 'and write the notes')
    .locator('.who', { hasText: 'queued' })
    .waitFor();
  await d.panel.locator('.queue li').waitFor({ state: 'detached' });
  await d.idle();
}

/** Answers a question that allows several answers, first by mouse and then only by keyboard. */
async function severalAnswers(d) {
  const options = [
    { label: 'Red', description: 'like a fire engine' },
    { label: 'Blue' },
    { label: 'Green' },
  ];
  const ask = (question) => call('ask_user', { question, multi: true, options });
  await d.play(
    ask('Which colors?'),
    { expect: { lastTool: 'answered: Red, Green$' }, ...ask('And inside?') },
    { expect: { lastTool: 'answered: Blue, Green, and a little black$' }, text: 'Painted.' },
  );
  await d.prompt('paint it');
  const box = (question) => d.panel.getByRole('group', { name: `Question: ${question}` });
  const outside = box('Which colors?');
  await outside.locator('.detail', { hasText: 'like a fire engine' }).waitFor();
  await d.click(outside.getByRole('button', { name: 'Answer' }));
  await until('nothing chosen is no answer: the first choice has the focus', () =>
    outside
      .getByRole('checkbox', { name: 'Red' })
      .evaluate((node) => node === document.activeElement),
  );
  for (const name of ['Red', 'Blue', 'Green'])
    await d.click(outside.locator('label', { hasText: name }));
  await d.click(outside.locator('label', { hasText: 'Blue' })); // this deselects Blue
  await d.click(outside.getByRole('button', { name: 'Answer' }));
  await box('And inside?').waitFor();
  await outside.waitFor({ state: 'detached' });
  const { keyboard } = d.page;
  await d.showPanel();
  const value = () => d.panel.locator('body').evaluate(() => document.activeElement?.value ?? '');
  await until(
    "'Blue' has the focus",
    async () => (await value()) === 'Blue' || void (await keyboard.press('Shift+Tab')),
  );
  await keyboard.press('Space');
  await keyboard.press('Tab');
  assert.equal(await value(), 'Green');
  await keyboard.press('Space');
  await keyboard.press('Tab');
  await keyboard.type('and a little black');
  await keyboard.press('Enter');
  await d.entry('assistantMessage', 'Painted').waitFor();
  await d.inputFocused(); // the focused element was removed, so the input gets the focus
}

/**
 * Compacts the context with a typed command and from the palette. The conversation reports it, and
 * the model gets the summary instead of the earlier messages.
 */
async function compact(d) {
  await d.play({ text: 'Short.' });
  await d.prompt('say little');
  await d.entry('assistantMessage', 'Short').waitFor();
  await d.idle();
  await d.prompt('/compact');
  await d.page.locator('.statusbar-item', { hasText: 'nothing to compact' }).waitFor();
  const ways = {
    typed: () => d.prompt('/compact keep the goal'),
    palette: () => d.agent('Compact the Context'),
  };
  for (const [way, run] of Object.entries(ways)) {
    await d.play(
      ...['First', 'Second', 'Third'].map((which) => ({
        text: `${which} of the long answers that nobody needs to know later on.\n\n`,
        repeat: 400,
      })),
      { text: 'A short one.' },
      { expect: { lastUser: way === 'typed' ? 'keep the goal' : '.' }, text: '## Goal\nTalk.' },
      {
        expect: {
          lastUser: 'go on',
          sent: '(?s)<context-summary>.*Talk',
          notSent: 'nobody needs to know',
        },
        text: 'With less to carry.',
      },
    );
    for (const answer of ['First', 'Second', 'Third', 'A short one']) {
      await d.prompt(`tell me: ${answer}`);
      await d.entry('assistantMessage', answer).waitFor();
      await d.idle();
    }
    await run();
    await d.panel
      .locator('.entry.compaction', { hasText: /Context compacted: \d+ → \d+ tokens/ })
      .waitFor();
    assert.equal(await d.input.inputValue(), '');
    assert.equal(await d.entry('userMessage', '/compact').count(), 0, 'a command is no message');
    await d
      .entry('assistantMessage', 'nobody needs to know')
      .first()
      // The conversation keeps messages that the model no longer gets.
      .waitFor({ state: 'attached' });
    await d.prompt('go on');
    await d.entry('assistantMessage', 'With less to carry').waitFor();
    await d.idle();
  }
}

/**
 * Uses the palette to request, review, accept, undo and redo a change, to stop a turn, and to
 * switch to another session, model and daemon.
 */
async function byThePalette(d) {
  const file = await openCalc(d);
  await d.play(
    {
      expect: { lastUser: '(?s)fix both.*calc\\.js lines 2-2' },
      ...edits(file, ['a - b', 'a + b'], ['return 1', 'return 0']),
    },
    { text: 'Both are in.' },
    talk('On and on. '),
  );
  await d.focusEditor();
  await d.goto(2);
  await d.agent('Ask at the Cursor');
  await d.answer('fix both');
  await lens(d, '1 of 2').waitFor();
  await pendingHunks(d, 2);
  await d.goto(10);
  await d.agent('Previous Pending Change');
  await d.page.locator('.statusbar-item', { hasText: 'Ln 2,' }).waitFor();
  await d.agent('Accept All Changes');
  await d.entry('assistantMessage', 'Both are in').waitFor();
  await d.bufferHas('return a + b;');
  await d.bufferHas('return 0;');
  await d.idle();
  await d.agent('Restore a Checkpoint');
  await d.page.locator('.tab.active', { hasText: 'Checkpoint.diff' }).waitFor();
  await d.bufferHas('-  return a + b;'); // the restore would remove this line
  await d.bufferHas('+  return a - b;');
  const [row] = await d.page.locator('.quick-input-list .monaco-list-row').allTextContents();
  assert.match(
    row,
    /fix both.*\d\d:\d\d.*1 file \+2 −2.*calc\.js/,
    'prompt, time, counts and files',
  );
  await d.shot('checkpoints');
  await d.chooseLike('fix', 'fix both');
  await d.page.locator('.tab', { hasText: 'Checkpoint.diff' }).waitFor({ state: 'detached' });
  await d.choose('Files');
  await d.bufferHas('return a - b;');
  await d.agent('Undo the Last Restore');
  await d.bufferHas('return a + b;');
  await d.prompt('talk');
  await d.entry('assistantMessage', 'On and on').waitFor();
  await d.agent('Stop the Turn');
  await d.entry('turn', 'Stopped').waitFor();
  await d.idle();
  const session = await d.session();
  await d.agent('New Session');
  await until('another session is shown', async () => ((await d.session()) || session) !== session);
  await d.panel.locator('.welcome').waitFor();
  await d.agent('Choose Model');
  await d.choose('Another model…');
  await d.answer('a-third-one');
  await onlyThisSession(d);
  await d.panel.locator('.picker', { hasText: 'a-third-one' }).waitFor();
  const before = d.daemon;
  await d.agent('Restart the Daemon');
  await until('another daemon runs', () => d.daemons().some((pid) => pid !== before));
}

export const paletteSteps = [
  ['steer and queue from the palette', steerAndQueue],
  ['several answers', severalAnswers],
  ['compact', compact],
  ['commands from the palette', byThePalette],
];

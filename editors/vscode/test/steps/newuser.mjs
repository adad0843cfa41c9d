// Performs the steps of a new user who has only the package and a fresh editor without settings for
// the extension. The user installs the package, follows the walkthrough, plays the demo, and asks
// for the fix of a real bug in a small project. The user reviews, tests and undoes the fix. The
// steps run once by mouse (except for typing the prompt) and once by keyboard.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { until } from '../workbench.mjs';
import { bash, edits, lens, lensOf, pendingView } from './model.mjs';

const project = {
  'package.json':
    '{\n  "name": "slug",\n  "version": "1.0.0",\n  "scripts": { "test": "node --test" }\n}\n',
  'slug.js': `/** Converts a title to a URL slug: "Hello, World!" becomes "hello-world". */
function slug(title) {
  const words = title.toLowerCase().replace(/[^a-z0-9 ]/g, '');
  return words.replace(' ', '-');
}

/** The location of a post. */
function address(post) {
  return '/posts/' + slug(post.title);
}

module.exports = { slug, address };
`,
  'slug.test.js': `const assert = require('node:assert');
const { test } = require('node:test');
const { slug, address } = require('./slug.js');

test('two words', () => assert.equal(slug('Hello, World!'), 'hello-world'));
test('more words', () => assert.equal(address({ title: 'A day at sea' }), '/posts/a-day-at-sea'));
`,
};
/** Returns the user's home folder, where the editor's file dialogs begin. */
const home = (dir) => path.join(dir, 'home');
/** The file name of the package that the user downloaded. */
const packed = 'agent-lsp.vsix';
const fixed = "words.replaceAll(' ', '-')";

const script = [
  { text: 'I run the tests first.', ...bash('node --test') },
  {
    expect: { lastTool: 'fail 1' },
    reasoning: 'The second test has three spaces.',
    text: '`replace` takes only the **first** space. I fix that, and write `address` shorter.',
    ...edits(
      'slug.js',
      ["words.replace(' ', '-')", fixed],
      ["return '/posts/' + slug(post.title);", 'return `/posts/${slug(post.title)}`;'],
    ),
  },
  {
    expect: { lastTool: 'applied 1/2 hunks; hunk 2 rejected' },
    text: 'Only the bug, then. The tests again:',
    ...bash('node --test'),
  },
  {
    expect: { lastTool: 'fail 0' },
    text: 'The bug is gone: **every** space becomes a dash, and both tests pass.',
  },
];

/**
 * Describes a fresh workbench with the project and the model's script, but without any settings for
 * the extension.
 */
export const newUser = {
  installed: false,
  env: (dir) => ({ HOME: home(dir) }),
  settings: {
    'terminal.integrated.gpuAcceleration': 'off',
    'security.workspace.trust.enabled': false,
  },
  prepare({ dir, workspace, vsix }) {
    fs.mkdirSync(home(dir));
    fs.copyFileSync(vsix, path.join(home(dir), packed));
    for (const [name, text] of Object.entries(project))
      fs.writeFileSync(path.join(workspace, name), text);
    fs.writeFileSync(
      path.join(dir, 'script.jsonl'),
      script.map((reply) => JSON.stringify(reply) + '\n').join(''),
    );
  },
};

function testsPass(d) {
  try {
    execFileSync('node', ['--test'], { cwd: d.workspace, stdio: 'pipe' });
    return true;
  } catch {
    return false;
  }
}

const onDisk = (d) => fs.readFileSync(path.join(d.workspace, 'slug.js'), 'utf8');
const terminal = (d) => d.page.locator('.terminal-wrapper.active .xterm-rows');
const rows = async (d) =>
  (
    await terminal(d)
      .innerText({ timeout: 5000 })
      .catch(() => '')
  )
    .split('\n')
    .map((row) => row.trim())
    .filter(Boolean);
const walkthrough = (d) => d.page.locator('.getting-started-step');
const heading = (d, title) => walkthrough(d).filter({ hasText: title });
const link = (d, title) => walkthrough(d).locator('.monaco-button', { hasText: title });

const agentTab = (d) =>
  d.page.locator('.part.auxiliarybar .composite-bar .action-label', { hasText: 'Agent' });

/** Follows the three starting points of the walkthrough. `press(link, done)` activates a link. */
async function firstSteps(d, press) {
  const step = (title, button) =>
    press(heading(d, title).locator('.step-title'), () => link(d, button).isVisible());
  await heading(d, 'Choose a provider').waitFor();
  await link(d, 'Choose a provider').waitFor();
  await d.shot(`${d.step}-2-first-steps`);
  await step('Find a model', 'Find a model');
  await press(link(d, 'Find a model'), () =>
    d.page.locator('.notification-toast', { hasText: 'Found' }).isVisible(),
  );
  await heading(d, 'Find a model').locator('.codicon-getting-started-step-checked').waitFor();
  await d.shot(`${d.step}-3-model-found`);
  await step('Try it without a key', 'Run the demo');
  await press(link(d, 'Run the demo'), () => terminal(d).isVisible());
  await until('the demo asks', async () => isAsked((await rows(d)).at(-1)));
  await d.shot(`${d.step}-4-demo`);
}

/** Reports whether a row of the terminal is a question without an answer. */
const isAsked = (row) => /\[y\]es/.test(row) && !/ y$/.test(row);

/**
 * Plays the rest of the demo, which runs in a terminal and is controlled with keys. Each question
 * gets one answer, because a second answer would close the terminal.
 */
async function demoToItsEnd(d) {
  await until('the demo is over', async () => {
    const now = await rows(d);
    if (isAsked(now.at(-1))) {
      await d.page.keyboard.type('y\r');
      await until('the answer is taken', async () => (await rows(d)).join('\n') !== now.join('\n'));
    }
    return now.at(-1)?.includes('Press Enter');
  });
  assert.match((await rows(d)).join(' '), /the edit is back/, 'its end can be read');
  await heading(d, 'Try it without a key')
    .locator('.codicon-getting-started-step-checked')
    .waitFor();
  await d.shot(`${d.step}-5-demo-over`);
}

const asks = (d) => d.panel.locator('.ask', { hasText: 'node --test' });
const answers = (d, text) => d.entry('assistantMessage', text).waitFor();
const saved = (d) => d.page.locator('.tab.active.dirty').waitFor({ state: 'hidden' });

/** Installs the package with Extensions, …, Install from VSIX…, and the file in the list. */
async function installByMouse(d) {
  const file = d.page.locator('.quick-input-list .monaco-list-row', { hasText: packed });
  const entry = d.page.locator('.monaco-menu .action-label', { hasText: 'Install from VSIX' });
  await d.clickUntil(
    d.page.locator('.part.activitybar .action-label[aria-label^="Extensions"]'),
    () => d.page.locator('.extensions-viewlet').isVisible(),
  );
  await d.clickUntil(d.page.locator('.part.sidebar .title .codicon-toolbar-more').first(), () =>
    entry.isVisible(),
  );
  await d.clickUntil(entry, () => file.isVisible());
  await d.shot(`${d.step}-0-install`);
  const done = () =>
    d.page.locator('.notification-toast', { hasText: /[Cc]ompleted installing/ }).isVisible();
  await d.clickUntil(file, async () => (await done()) || !(await file.isVisible()));
  await until('it is installed', done);
  await d.clickUntil(
    d.page.locator('.part.activitybar .action-label[aria-label^="Explorer"]'),
    () => d.page.locator('.explorer-folders-view').isVisible(),
  );
  await agentTab(d).waitFor();
}

async function installByKeyboard(d) {
  await d.run('Extensions: Install from VSIX...');
  const row = d.page.locator('.quick-input-list .monaco-list-row', { hasText: packed });
  await row.waitFor();
  await until(
    'its row is the focused one',
    async () =>
      (await row.getAttribute('class')).includes('focused') ||
      void (await d.page.keyboard.press('ArrowDown')),
  );
  await d.page.keyboard.press('Enter');
  await d.page.locator('.notification-toast', { hasText: /[Cc]ompleted installing/ }).waitFor();
}

export async function newUserByMouse(d) {
  assert.equal(testsPass(d), false, 'the bug is real');
  const click = (target, done) => d.clickUntil(target, done);
  await installByMouse(d);
  await click(agentTab(d), () => d.panel.locator('.welcome').isVisible());
  for (const words of ['Edits: ask first', 'Commands: ask'])
    await d.panel.locator('.picker', { hasText: words }).waitFor();
  await d.shot(`${d.step}-1-panel`);
  await d.click(d.panel.getByRole('button', { name: 'First steps' }));
  await firstSteps(d, click);
  await d.click(d.page.locator('.terminal-wrapper.active'));
  await demoToItsEnd(d);
  await click(d.page.locator('.part.panel .codicon-panel-close'), () =>
    d.page.locator('.part.panel').isHidden(),
  );
  await click(heading(d, 'Ask for a change').locator('.step-title'), () =>
    link(d, 'Ask the agent').isVisible(),
  );
  await click(link(d, 'Ask the agent'), () =>
    d.input.evaluate((input) => input === document.activeElement && document.hasFocus()),
  );
  await click(
    d.page.locator('.explorer-folders-view .monaco-list-row', { hasText: 'slug.js' }),
    () => d.page.locator('.tab.active[data-resource-name="slug.js"]').isVisible(),
  );
  await d.click(d.input);
  await d.page.keyboard.type('the tests fail, please fix it');
  await d.click(d.panel.getByRole('button', { name: 'Send' }));
  await asks(d).waitFor();
  await d.shot(`${d.step}-6-permission`);
  await d.click(
    asks(d)
      .getByRole('button', { name: /^Allow/ })
      .first(),
  );
  await lens(d, '1 of 2').waitFor();
  await d.shot(`${d.step}-7-review`);
  await d.clickUntil(
    lensOf(d, '1 of 2', 'Accept'),
    async () => (await lens(d, '1 of 2').count()) === 0,
  );
  await d.bufferHas(fixed);
  await d.clickUntil(
    lens(d, 'Reject').first(),
    async () => (await lens(d, 'Reject').count()) === 0,
  );
  await asks(d).waitFor();
  await d.click(
    asks(d)
      .getByRole('button', { name: /^Allow/ })
      .first(),
  );
  await answers(d, 'The bug is gone');
  await d.idle();
  assert.equal(
    testsPass(d),
    true,
    'the bug is fixed: what was accepted was saved before the tests ran',
  );
  await d.shot(`${d.step}-8-fixed`);
  const prompt = d.entry('userMessage', 'the tests fail');
  await prompt.hover();
  await d.click(prompt.getByRole('button', { name: 'Restore' }));
  await d.choose('Files');
  await d.bufferHas(fixed, false);
  await d.entry('restore', 'restored').waitFor();
  await d.shot(`${d.step}-9-undone`);
  await save(d);
  assert.equal(onDisk(d), project['slug.js'], 'all is as it was');
}

/** Saves the file with File: Save in the menu. */
async function save(d) {
  const dirty = d.page.locator('.tab.active.dirty');
  const entry = (name) =>
    d.page.locator('.monaco-menu .action-item:not(.disabled) .action-label', { hasText: name });
  await until('it is saved', async () => {
    if (!(await dirty.count())) return true;
    await d.page
      .locator('.editor-instance .view-line', { hasText: 'function slug' })
      .click({ timeout: 5000 })
      .catch(() => {});
    for (const next of [
      d.page.locator('.menubar-menu-button').first(),
      entry(/^File$/),
      entry(/^Save$/),
    ]) {
      if (
        await next.click({ timeout: 5000 }).then(
          () => false,
          () => true,
        )
      )
        return void (await d.page.keyboard.press('Escape')); // the menu was not up to date yet
    }
    return dirty.waitFor({ state: 'hidden', timeout: 5000 }).then(
      () => true,
      () => false,
    );
  });
}

export async function newUserByKeyboard(d) {
  assert.equal(testsPass(d), false, 'the bug is real');
  const { keyboard } = d.page;
  await installByKeyboard(d);
  await d.run('agent-lsp: First Steps');
  await firstSteps(d, (target, done) => enter(d, target, done));
  const typesThere = () =>
    d.page
      .locator('.terminal-wrapper.active textarea')
      .evaluate((node) => node === document.activeElement && document.hasFocus(), undefined, {
        timeout: 3000,
      })
      .catch(() => false);
  await until(
    'keys go to the demo',
    async () => (await typesThere()) || void (await d.run('Terminal: Focus Terminal')),
  );
  await demoToItsEnd(d);
  await keyboard.press('Control+j');
  await d.page.locator('.part.panel').waitFor({ state: 'hidden' });
  await d.pick('Control+p', 'slug.js', 'slug.js');
  await d.page.locator('.tab.active[data-resource-name="slug.js"]').waitFor();
  await keyboard.press('Control+Alt+a');
  await d.inputFocused();
  await keyboard.type('the tests fail, please fix it');
  await keyboard.press('Enter');
  await asks(d).waitFor();
  await d.focusByKey('Shift+Tab', 'Allow once');
  await keyboard.press('Enter');
  await lens(d, '1 of 2').waitFor();
  await pendingView(d).waitFor();
  await keyboard.press('Alt+F9');
  await d.editorFocused();
  await d.shot(`${d.step}-7-review`);
  await keyboard.press('Control+Alt+y');
  await d.bufferHas(fixed);
  await lens(d, '1 of 2').waitFor({ state: 'hidden' });
  await keyboard.press('Alt+F9');
  await keyboard.press('Control+Alt+n');
  await asks(d).waitFor();
  await keyboard.press('Control+Alt+a');
  await d.inputFocused();
  await d.focusByKey('Shift+Tab', 'Allow once');
  await keyboard.press('Enter');
  await answers(d, 'The bug is gone');
  await d.idle();
  assert.equal(testsPass(d), true, 'the bug is fixed');
  await d.inputFocused(); // the focused element was removed, so the input has the focus again
  await d.focusByKey('Shift+Tab', 'Restore');
  await d.shot(`${d.step}-8-restore`);
  await keyboard.press('Enter');
  await d.choose('Files');
  await d.bufferHas(fixed, false);
  await d.focusEditor();
  await keyboard.press('Control+s');
  await saved(d);
  assert.equal(onDisk(d), project['slug.js'], 'all is as it was');
  await d.run('agent-lsp: Undo the Last Restore');
  await d.bufferHas(fixed);
}

/** Goes to an element with Tab and the arrow keys, and presses Enter there. */
async function enter(d, target, done) {
  const there = () =>
    target
      .first()
      .evaluate(
        (node) =>
          node === document.activeElement ||
          node.contains(document.activeElement) ||
          (node.closest('.getting-started-step')?.contains(document.activeElement) &&
            node.matches('.step-title')),
        undefined,
        { timeout: 3000 },
      )
      .catch(() => false);
  await until('it is reached by keys and its effect seen', async () => {
    if (await done()) return true;
    if (!(await there())) return void (await d.page.keyboard.press('Tab'));
    await d.page.keyboard.press('Enter');
    return until('the effect', done, 5000).catch(() => false);
  });
}

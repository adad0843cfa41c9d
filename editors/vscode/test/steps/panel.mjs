// Tests the panel for users who cannot see it or do not use a mouse, and its appearance in every
// theme.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { refusedHost, until } from '../workbench.mjs';
import { bash, call, onlyThisSession, openCalc } from './model.mjs';
import { inThemes } from './themes.mjs';

const axe = fs.readFileSync(
  path.join(import.meta.dirname, '../../node_modules/axe-core/axe.min.js'),
  'utf8',
);

/**
 * Returns the problems that an accessibility checker finds in the panel's names, roles and
 * contrast.
 */
export async function findings(d) {
  const body = d.panel.locator('body');
  await body.evaluate((_, source) => window.axe || new Function(source)(), axe);
  return body.evaluate(async () => {
    document.documentElement.style.background = getComputedStyle(document.body).getPropertyValue(
      '--vscode-sideBar-background',
    ); // the page inherits this color from the frame
    const { violations } = await window.axe.run(document, {
      resultTypes: ['violations'],
      rules: { region: { enabled: false }, 'page-has-heading-one': { enabled: false } },
    });
    document.documentElement.style.background = '';
    return violations.map(
      ({ id, nodes }) =>
        `${id}: ${nodes.map((node) => `${node.target.join(' ')} (${(node.any[0] ?? node.all[0] ?? node.none[0])?.message ?? ''})`).join('; ')}`,
    );
  });
}

/**
 * Fills the panel with every kind of content: a reply, a thought, tools, a plan, a queue and a
 * permission question.
 */
async function fullPanel(d) {
  const file = await openCalc(d);
  const markdown =
    'I fix **add** in `calc.js`:\n\n1. read it\n2. fix it\n\n> as you said\n\n| file | change |\n|---|---|\n| calc.js | one |\n\n```js\nreturn a + b;\n```\n\nSee [the page](https://example.invalid/).\n';
  await d.play(
    {
      reasoning: 'The sign is wrong.',
      text: markdown,
      ...call('plan', {
        entries: [
          { content: 'Read', status: 'completed' },
          { content: 'Fix', status: 'inProgress' },
          { content: 'Check', status: 'pending' },
        ],
      }),
    },
    call('read', { path: d.at('nothing.js') }),
    call('read', { path: file }),
    {
      text: 'Now the check.',
      ...bash(
        'node check.js --all && echo "a command that is rather long, so that it has to be broken into lines"',
      ),
    },
    { text: 'Over.' },
    { text: 'Over.' },
  );
  await d.prompt('fix add, please, and run the check');
  await d.panel.locator('.ask').waitFor();
  await d.prompt('then write the notes', 'Alt+Enter');
  await d.panel.locator('.queue li').waitFor();
}

async function inEveryTheme(d) {
  await fullPanel(d);
  const found = {};
  await inThemes(d, async (name) => {
    await d.shot(`panel-${name}`);
    found[name] = await findings(d);
  });
  await d.click(
    d.panel
      .locator('.ask')
      .getByRole('button', { name: /^(Deny|Reject|No)/ })
      .first(),
  );
  await d.idle();
  assert.deepEqual(found, Object.fromEntries(Object.keys(found).map((name) => [name, []])));
}

/**
 * Returns the label of the panel's focused element. If the element has no label, it returns the
 * beginning of the element's text.
 */
const focused = (d) =>
  d.panel.locator('body').evaluate(() => {
    const { activeElement: e } = document;
    return e === document.body
      ? ''
      : (e.getAttribute('aria-label') ?? e.textContent.trim()).slice(0, 60);
  });

/**
 * Checks that the keyboard reaches every element of the panel in order, backwards from the input.
 * Each element has a name and is visible.
 */
async function byKeysAlone(d) {
  await fullPanel(d);
  const { keyboard } = d.page;
  await d.showPanel();
  const seen = [];
  await until('the conversation is reached', async () => {
    await keyboard.press('Shift+Tab');
    const now = await focused(d);
    if (now && now !== seen.at(-1)) seen.push(now);
    return now === 'Conversation';
  });
  const order = [
    'Remove',
    'Edit',
    'Feedback',
    'Allow',
    'Insert at cursor',
    'Copy',
    'Fork',
    'Edit and resend',
    'Conversation',
  ];
  const places = order.map((name) => seen.findIndex((text) => text.startsWith(name)));
  assert.deepEqual(
    places,
    [...places].sort((a, b) => a - b),
    `the order is that of the page: ${seen.join(' | ')}`,
  );
  assert.ok(
    places.every((place) => place >= 0),
    `everything is reached: ${seen.join(' | ')}`,
  );
  await d.focusByKey('Tab', 'Thought');
  await keyboard.press('Enter');
  await d.panel.locator('.thought', { hasText: 'The sign is wrong' }).waitFor();
  await d.focusByKey('Tab', 'Edit'); // this is the message's own button, which the loop skips
  await d.showPanel();
  await d.focusByKey('Shift+Tab', 'Remove');
  await keyboard.press('Enter');
  await d.panel.locator('.queue li').waitFor({ state: 'detached' });
  await until('the focus is kept in the panel', async () => (await focused(d)) !== '');
  await d.focusByKey('Shift+Tab', 'Allow once');
  await keyboard.press('Escape'); // the focus may be anywhere except in a text field
  await d.entry('turn', 'Stopped').waitFor();
  await until(
    'the focus is in the input again',
    async () => (await focused(d)) === 'Message to the agent',
  );
  for (const name of ['Mode:', 'Send', 'Model:', 'Edits:', 'Commands:']) {
    await keyboard.press('Tab');
    assert.match(await focused(d), new RegExp(`^${name}`));
  }
}

/** Checks that a screen reader announces events. */
async function announcements(d) {
  const spoken = (role, text) =>
    d.panel
      .locator(`.sr[role="${role}"] p`, { hasText: text })
      .first()
      .waitFor({ state: 'attached' });
  await d.play(
    { text: 'First **this**:\n\n```\ncode\n```\n', ...bash('touch spoken') },
    { text: 'It is done.', chunks: 20 },
  );
  await d.prompt('speak');
  await spoken('status', 'The agent is working.');
  await spoken('status', 'First this: Code.');
  await spoken('alert', 'The agent is waiting for your permission');
  await d.click(
    d.panel
      .locator('.ask')
      .getByRole('button', { name: /^Allow/ })
      .first(),
  );
  await spoken('status', 'It is done.');
  await spoken('status', 'The agent is done.');
  const said = await d.panel.locator('.sr[role="status"] p').allTextContents();
  assert.equal(
    said.filter((text) => text.startsWith('It is')).length,
    1,
    'a stream is told once, when it is whole',
  );
  await d.panel.locator('body').evaluate((body) => body.classList.add('before'));
  await d.command('workbench.action.webview.reloadWebviewAction');
  await d.panel.locator('body:not(.before)').waitFor({ state: 'attached' });
  await d.entry('assistantMessage', 'It is done').waitFor();
  assert.deepEqual(
    await d.panel.locator('.sr p').allTextContents(),
    [],
    'what is told again is not announced',
  );
}

/**
 * Checks the page's own protection in case the sanitizer fails. The page runs only the panel's
 * scripts, and allows no forms or outside resources.
 */
async function contentSecurity(d) {
  await d.showPanel();
  const refused = await d.panel.locator('body').evaluate(async (body, host) => {
    const found = new Set();
    document.addEventListener('securitypolicyviolation', (event) =>
      found.add(event.effectiveDirective),
    );
    const tries = [
      `<img src="https://${host}/a.png">`,
      `<iframe src="https://${host}/"></iframe>`,
      `<link rel="stylesheet" href="https://${host}/a.css">`,
      '<button onclick="document.body.dataset.owned = 1">x</button>',
    ];
    const box = document.createElement('div');
    body.append(box);
    box.innerHTML = tries.join('');
    const script = document.createElement('script');
    script.textContent = 'document.body.dataset.owned = 1';
    box.append(script);
    box.querySelector('button').click();
    await fetch(`https://${host}/`).catch(() => {});
    for (const wanted of [
      'img-src',
      'frame-src',
      'style-src-elem',
      'script-src-attr',
      'script-src-elem',
      'connect-src',
    ])
      while (!found.has(wanted))
        await new Promise((resolve) =>
          document.addEventListener('securitypolicyviolation', resolve, { once: true }),
        );
    box.remove();
    return { directives: [...found].sort(), owned: body.dataset.owned };
  }, refusedHost);
  assert.deepEqual(refused, {
    directives: [
      'connect-src',
      'frame-src',
      'img-src',
      'script-src-attr',
      'script-src-elem',
      'style-src-elem',
    ],
    owned: undefined,
  });
}

/**
 * Checks that a model or thinking level that applies only to the next prompt is shown next to the
 * input. It is removed after that prompt.
 */
async function promptOptions(d) {
  await d.configure('agentLsp.windows', { '*': 100_000 });
  await d.play(
    { expect: { request: '"reasoning_effort":"high"' }, text: 'Thought hard.' },
    { expect: { request: '"model":"once"' }, text: 'Once.' },
    { expect: { request: '"model":"script"' }, text: 'As always.' },
  );
  const chip = (text) => d.panel.locator('.chip', { hasText: text });
  await d.prompt('/options');
  await d.choose('Thinking: high');
  await chip('Thinking: high').waitFor();
  await d.inputFocused();
  await d.shot('prompt-options', d.page.locator('.part.auxiliarybar'));
  await d.prompt('think');
  await d.entry('assistantMessage', 'Thought hard.').waitFor();
  await chip('Thinking').waitFor({ state: 'detached' });
  await d.idle();
  await d.prompt('/options');
  await d.choose('Model…');
  await d.choose('Another model…');
  await d.answer('once');
  await chip('Model: once').waitFor();
  await d.prompt('with another');
  await d.entry('assistantMessage', 'Once.').waitFor();
  await d.idle();
  await d.prompt('and now');
  await d.entry('assistantMessage', 'As always.').waitFor();
}

async function pickers(d) {
  await d.play({ text: 'With another model.' });
  await d.agent('Choose Model');
  await d.page
    .locator('.quick-input-list .monaco-list-row', {
      hasText: 'current · 100K context · $5 in, $20 out per million tokens',
    })
    .first()
    .waitFor();
  await d.page.keyboard.press('Escape');
  await d.click(d.panel.getByRole('button', { name: /^Model:/ }));
  await d.choose('Another model…');
  await d.answer('another-one');
  await onlyThisSession(d);
  await d.panel.locator('.picker', { hasText: 'another-one' }).waitFor();
  await d.click(d.panel.getByRole('button', { name: /^Commands:/ }));
  await d.choose('read-only');
  await onlyThisSession(d);
  await d.panel.locator('.picker', { hasText: 'Commands: read-only' }).waitFor();
  await d.prompt('go');
  await d.entry('assistantMessage', 'With another model').waitFor();
}

export const panelSteps = [
  ['the panel in every theme', inEveryTheme],
  ['the panel by keyboard alone', byKeysAlone],
  ['announcements', announcements],
  ['content security', contentSecurity],
  ['model and permissions', pickers],
  ['options of one prompt', promptOptions],
];

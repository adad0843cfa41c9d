// Tests how a screen reader presents the panel, with the browser's accessibility tree. It also
// tests the order in which the keyboard reaches the elements.
import assert from 'node:assert/strict';
import { until } from '../workbench.mjs';
import { bash, call, edits, openCalc, pendingHunks, talk } from './model.mjs';

/** The roles of interactive elements. A screen reader announces each of them by its name. */
const acted =
  /^(button|link|textbox|checkbox|combobox|listbox|option|DisclosureTriangle|menuitem)$/i;

/** Returns the panel's accessibility nodes in reading order. Ignored nodes are omitted. */
async function readerTree(d) {
  for (const frame of d.page.frames().reverse()) {
    const cdp = await d.page
      .context()
      .newCDPSession(frame.parentFrame() ? frame : d.page)
      .catch(() => undefined); // a frame without its own session is shown in its parent's session
    if (!cdp) continue;
    try {
      const { frameTree } = await cdp.send('Page.getFrameTree');
      for (const frameId of idsOf(frameTree)) {
        const { nodes } = await cdp.send('Accessibility.getFullAXTree', { frameId });
        const tree = inOrder(nodes);
        if (tree.some(({ name }) => name === 'Message to the agent')) return tree;
      }
    } finally {
      await cdp.detach().catch(() => {}); // the frame may already have been removed
    }
  }
  throw new Error('no frame has the panel');
}

const idsOf = ({ frame, childFrames = [] }) => [frame.id, ...childFrames.flatMap(idsOf)];

function inOrder(nodes) {
  const byId = new Map(nodes.map((node) => [node.nodeId, node]));
  const read = [];
  const walk = (node) => {
    if (!node) return;
    const property = (name) => node.properties?.find((p) => p.name === name)?.value.value;
    if (!node.ignored)
      read.push({
        role: node.role?.value ?? '',
        name: (node.name?.value ?? '').trim(),
        live: property('live'),
        focusable: property('focusable') === true,
      });
    for (const id of node.childIds ?? []) walk(byId.get(id));
  };
  walk(nodes.find((node) => node.parentId === undefined));
  return read;
}

/** Returns the roles of the interactive elements that have no name. */
const nameless = (tree) =>
  tree.filter(({ role, name }) => acted.test(role) && name === '').map(({ role }) => role);

/** Returns the names of all elements that Tab reaches from the beginning of the panel. */
async function tabOrder(d) {
  const body = d.panel.locator('body');
  await body.evaluate(() => document.querySelector('header button').focus());
  const name = () =>
    body.evaluate(() => {
      const node = document.activeElement;
      if (node === document.body) return '';
      return (node.getAttribute('aria-label') ?? node.textContent).replace(/\s+/g, ' ').trim();
    });
  const names = [await name()];
  await until('Tab has gone through the panel', async () => {
    await d.page.keyboard.press('Tab');
    const now = await name();
    if (now) names.push(now);
    return now.startsWith('Commands:'); // this is the panel's last element
  });
  return names;
}

/**
 * Checks that questions, a queue, a plan, tools, code and a thought each have a name. Tab follows
 * the reading order.
 */
async function everythingNamed(d) {
  await d.play(
    {
      reasoning: 'The sign is wrong.',
      text: 'I run it:\n\n```js\nreturn a + b;\n```\n\nSee [the page](https://example.invalid/).\n',
      ...call('plan', { entries: [{ content: 'Run it', status: 'inProgress' }] }),
    },
    bash('touch never-run'),
    call('ask_user', { question: 'Which?', multi: true, options: [{ label: 'Red' }] }),
    { text: 'Over.' },
    { text: 'Over.' },
  );
  await d.prompt('run it');
  await d.panel.locator('.ask').waitFor();
  await d.prompt('then write the notes', 'Alt+Enter');
  await d.panel.locator('.queue li').waitFor();
  const tree = await readerTree(d);
  assert.deepEqual(nameless(tree), []);
  const has = (role, name) =>
    assert.ok(
      tree.some((node) => node.role === role && name.test(node.name)),
      `${role} ${name}: ${tree.map((node) => `${node.role} ${node.name}`).join(' | ')}`,
    );
  has('log', /^Conversation$/);
  has('group', /touch never-run/);
  has('button', /^Allow once/);
  has('button', /^Reject/);
  has('textbox', /^Feedback$/);
  has('textbox', /^Message to the agent$/);
  has('list', /^Queued messages$/);
  const reached = await tabOrder(d);
  const read = tree.filter(({ focusable }) => focusable).map(({ name }) => name);
  const short = (text) => text.replace(/\s+/g, ' ').slice(0, 12);
  let at = 0;
  for (const name of reached) {
    const next = read.findIndex((text, i) => i >= at && short(text).startsWith(short(name)));
    if (next >= 0) at = next;
    else
      assert.equal(
        read.some((text) => short(text).startsWith(short(name))),
        false,
        `'${name}' is reached before it is read: ${reached.join(' | ')} / ${read.join(' | ')}`,
      );
  }
  await d.click(d.panel.locator('.ask .decisions').getByRole('button', { name: 'Reject' }));
  await d.panel.locator('.ask', { hasText: 'Which?' }).waitFor();
  const asked = await readerTree(d);
  assert.deepEqual(nameless(asked), []);
  assert.ok(asked.some(({ role, name }) => role === 'checkbox' && name === 'Red'));
  await d.click(d.panel.locator('.ask').getByRole('button', { name: 'Decline' }));
  await d.idle();
}

/**
 * Checks that live regions announce a stream and a question. They exist from the beginning, and the
 * stream itself is not a live region.
 */
async function liveRegions(d) {
  const file = await openCalc(d);
  await d.play(edits(file, ['a - b', 'a + b'], ['return 1', 'return 0']), talk('On and on. '));
  const regions = async () => {
    const tree = await readerTree(d);
    assert.deepEqual(nameless(tree), []);
    return tree;
  };
  const lives = (tree) =>
    ['polite', 'assertive'].map((live) => tree.some((node) => node.live === live));
  assert.deepEqual(lives(await regions()), [true, true], 'before the first prompt');
  await d.prompt('fix both');
  await pendingHunks(d, 2);
  const waits = await regions();
  assert.ok(
    waits.some(({ name }) => /2 lines? added, 2 removed/.test(name)),
    'counts are read in words',
  );
  await d.click(d.panel.locator('.changes').getByRole('button', { name: 'Accept all' }));
  await d.entry('assistantMessage', 'On and on').waitFor();
  const streams = await regions();
  assert.deepEqual(lives(streams), [true, true], 'while a reply streams');
  const log = streams.find(({ role }) => role === 'log');
  assert.ok(!log.live || log.live === 'off', 'the stream is not read as it grows');
  await d.click(d.panel.locator('.composer .stop'));
  await d.idle();
}

export const readerSteps = [
  ['the accessibility tree', everythingNamed],
  ['live regions', liveRegions],
];

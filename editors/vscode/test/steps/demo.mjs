// Tests the demo in the panel from the empty state to its end, and the return to the user's own
// session.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { until } from '../workbench.mjs';
import { lens } from './model.mjs';

const ended = (d) => d.panel.locator('.demo').waitFor({ state: 'hidden' });

async function demoInPanel(d) {
  await d.play({ text: 'My own.' });
  const mine = await d.session();
  await d.daemonReplacedBy(() =>
    d.click(d.panel.locator('.welcome').getByRole('button', { name: 'Try the demo' })),
  );
  const ask = d.panel.locator('.ask', { hasText: 'sh check.sh' });
  await ask.waitFor();
  assert.match(
    fs.readlinkSync(`/proc/${d.daemon}/cwd`),
    /agent-lsp-demo-\w+\/demo$/,
    'its daemon works on the sample',
  );
  await d.panel.locator('.demo', { hasText: 'scripted model' }).waitFor();
  await d.shot('demo-permission');
  await d.click(ask.getByRole('button', { name: /^Allow/ }).first());
  await lens(d, 'Accept').first().waitFor();
  await lens(d, '+ echo "total: $(sum').waitFor();
  await d.shot('demo-review');
  assert.equal(
    await d.panel.locator('.offer').isVisible(),
    false,
    'nothing of the user is to be decided in a demo',
  );
  await d.agent('Accept All Changes');
  await d.bufferHas('max=$1');
  await ask.waitFor();
  await d.click(ask.getByRole('button', { name: /^Allow/ }).first());
  await d.entry('assistantMessage', 'Done. The changes that you accepted').waitFor();
  await d.idle();
  await d.prompt('and now?');
  await d.entry('assistantMessage', 'This was the demo').waitFor();
  await d.idle();
  await d.daemonReplacedBy(() => d.click(d.panel.getByRole('button', { name: 'End the demo' })));
  await ended(d);
  await until('the session of before is shown', async () => (await d.session()) === mine);
  await d.prompt('go on');
  await d.entry('assistantMessage', 'My own').waitFor();
}

export const demoSteps = [['the demo in the panel', demoInPanel]];

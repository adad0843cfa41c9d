// node test/e2e.mjs EXTENSION.vsix BARE.vsix tests the extension in a real workbench with the real
// daemon and a scripted model. BARE does not include the daemon. Each step is independent. If a
// step fails, it is repeated in a fresh workbench, together with the steps after it. Each
// repetition is reported, and a run has at most two. ONLY='word|word' runs the steps whose name
// contains one of the words. With GO_ON=1, nothing is repeated, and the steps after a failed step
// still run. FOLDER names the folder of the steps, which otherwise have a folder each.
import fs from 'node:fs';
import path from 'node:path';
import { Driver, driven } from './driver.mjs';
import { groups } from './steps.mjs';
import { withWorkbench } from './workbench.mjs';

/** The maximum number of repetitions in one run. */
const repeats = 2;

const [vsix, bare] = process.argv.slice(2).map((file) => path.resolve(file));

/**
 * Returns the daemon's environment. It contains only the path of the model's script, so the daemon
 * can only come from the package.
 */
const env = (dir) => ({ AGENT_LSP_SCRIPT: path.join(dir, 'script.jsonl') });

/**
 * Runs steps in a fresh workbench until one fails. Returns the remaining steps, starting with the
 * failed one.
 */
async function runSteps({ steps: _, env: more, without, ...group }, todo) {
  const left = [...todo];
  try {
    await withWorkbench(
      { vsix: without ? bare : vsix, env: (dir) => ({ ...env(dir), ...more?.(dir) }), ...group },
      async (bench) => {
        const driver = new Driver(bench);
        await driver.open();
        bench.lap('workbench up');
        while (left.length > 0) {
          const [name, step] = left[0];
          await driver.begin(name);
          const begun = Date.now();
          await step(driver);
          bench.lap(`${name} (${((Date.now() - begun) / 1000).toFixed(1)} s)`);
          left.shift();
        }
      },
    );
  } catch (error) {
    console.error(`step '${left[0]?.[0] ?? 'the end'}': ${error.stack}`);
    if (left.length === 0) throw error;
  }
  return left;
}

const wanted = ([name]) =>
  !process.env.ONLY || process.env.ONLY.split('|').some((word) => name.includes(word));
const failed = [];
let ok = true;
if (process.env.SHOTS) fs.mkdirSync(process.env.SHOTS, { recursive: true });
for (const group of groups) {
  let left = group.steps.filter(wanted);
  while (left.length > 0 && (ok || process.env.GO_ON)) {
    left = await runSteps(group, left);
    if (left.length === 0) break;
    failed.push(left[0][0]);
    if (process.env.GO_ON) left.shift();
    else if (failed.length > repeats) ok = false;
    else
      console.log(
        `\n!!!!!! REPEATED in a fresh workbench: step '${left[0][0]}' (${failed.length} of at most ${repeats})\n`,
      );
  }
}
// Users' key bindings may refer to these ids. Each command must be run from the palette at least
// once.
const titles = JSON.parse(fs.readFileSync(path.join(import.meta.dirname, 'commands.json'), 'utf8'));
const idle = Object.keys(titles).filter((id) => !driven.has(`agent-lsp: ${titles[id]}`));
if (!process.env.ONLY && ok) {
  console.log(
    `commands run by the palette: ${Object.keys(titles).length - idle.length} of ${Object.keys(titles).length}`,
  );
  if (idle.length > 0) console.error(`never run by the palette: ${idle.join(', ')}`);
  ok &&= idle.length === 0;
}

if (failed.length > 0)
  console.log(
    `!!!!!! failed${ok && !process.env.GO_ON ? ', and passed when repeated' : ''}: ${failed.join('; ')}`,
  );
else console.log('no step was repeated');
process.exit(ok && !(process.env.GO_ON && failed.length > 0) ? 0 : 1);

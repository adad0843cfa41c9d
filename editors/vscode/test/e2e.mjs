// node test/e2e.mjs EXTENSION.vsix BARE.vsix: the extension in a real workbench with the real daemon and a scripted model. BARE has no daemon in it.
// Two workbenches run beside each other, because each waits most of its time. Each step stands for itself. A step that fails is repeated, with the steps after it, in a fresh workbench: at most twice in a run, and it is said loudly.
// ONLY='word|word' runs the steps whose name has one of the words; with GO_ON=1 nothing is repeated, and the steps after a failed one run too.
import fs from 'node:fs';
import path from 'node:path';
import { Driver, driven } from './driver.mjs';
import { lanes } from './steps.mjs';
import { withWorkbench } from './workbench.mjs';

/** Steps that may be repeated in one run. */
const repeats = 2;
/** What failed if no step did. */
const atTheEnd = 'the end';

const [vsix, bare] = process.argv.slice(2).map((file) => path.resolve(file));

/** What the daemon's environment is: the script of the model, and no other daemon than the one in the package. */
const env = (dir) => ({ AGENT_LSP_SCRIPT: path.join(dir, 'script.jsonl') });

/** Runs steps in a fresh workbench until one fails. Gives what is left, the failed step first. */
async function runSteps({ steps: _, env: more, without, ...group }, todo) {
  const left = [...todo];
  try {
    await withWorkbench(
      { vsix: without ? bare : vsix, env: (dir) => ({ ...env(dir), ...more?.(dir) }), ...group },
      async (bench) => {
        const driver = new Driver(bench);
        await driver.open();
        bench.lap('workbench up');
        while (left.length > 0 && ok) {
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
    console.error(`step '${left[0]?.[0] ?? atTheEnd}': ${error.stack}`);
    if (left.length === 0) {
      failed.push(atTheEnd);
      ok = false;
    }
  }
  return left;
}

/** Runs groups one after the other. */
async function runLane(groups) {
  for (const group of groups) {
    let left = group.steps.filter(wanted);
    while (left.length > 0 && (ok || process.env.GO_ON)) {
      left = await runSteps(group, left);
      if (left.length === 0 || !ok) break;
      failed.push(left[0][0]);
      if (process.env.GO_ON) left.shift();
      else if (failed.length > repeats) ok = false;
      else
        console.log(
          `\n!!!!!! REPEATED in a fresh workbench: step '${left[0][0]}' (${failed.length} of at most ${repeats})\n`,
        );
    }
  }
}

const wanted = ([name]) =>
  !process.env.ONLY || process.env.ONLY.split('|').some((word) => name.includes(word));
const failed = [];
let ok = true;
if (process.env.SHOTS) fs.mkdirSync(process.env.SHOTS, { recursive: true });
await Promise.all(lanes.map(runLane));
// Ids that other people's key bindings hold: each is run by the palette at least once.
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

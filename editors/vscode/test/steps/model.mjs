// Provides the scripted model's replies, and helpers that the steps share.
/** The prices that the workbench's user has set. */
export const prices = { '*': { input: 5, output: 20 } };
export const call = (name, args) => ({ toolCalls: [{ name, arguments: args }] });
/**
 * Returns a reply that reads a file and edits it. An edit requires that the file has been read, so
 * both calls are in one reply.
 */
const change = (file, what) => ({
  toolCalls: [
    ...call('read', { path: file }).toolCalls,
    ...call('edit', { path: file, ...what }).toolCalls,
  ],
});
export const edit = (file, old_string, new_string) => change(file, { old_string, new_string });
export const edits = (file, ...pairs) =>
  change(file, { edits: pairs.map(([old_string, new_string]) => ({ old_string, new_string })) });
export const bash = (command) => call('bash', { command });

export const calc =
  'function add(a, b) {\n  return a - b;\n}\n\nfunction twice(n) {\n  return n + n;\n}\n\nfunction zero() {\n  return 1;\n}\n';
/** Returns a reply that streams for minutes unless it is stopped. */
export const talk = (first) => ({ text: first + 'word '.repeat(4000), chunks: 4000, delayMs: 100 });

/** Writes calc.js into the step's folder and opens it. Returns its path in the workspace. */
export async function openCalc(d) {
  d.write('calc.js', calc);
  await d.openFile('calc.js');
  await d.bufferHas('return a - b;');
  return d.at('calc.js');
}

/** Applies a choice in a picker to this session only. */
export const onlyThisSession = (d) => d.choose('Only this session');

/** Lets the session run commands without asking the user. */
export async function trust(d) {
  await d.click(d.panel.locator('.picker', { hasText: 'Commands' }));
  await d.choose('trusted');
  await onlyThisSession(d);
  await d.panel.locator('.picker', { hasText: 'Commands: trusted' }).waitFor();
}

/** Sets how edits are handled in this session. */
export async function editPolicy(d, policy) {
  await d.click(d.panel.locator('.picker', { hasText: 'Edits' }));
  await d.choose(policy);
  await onlyThisSession(d);
  await d.panel.locator('.picker', { hasText: `Edits: ${policy}` }).waitFor();
}

export const lens = (d, text) => d.page.locator('.codelens-decoration a', { hasText: text });
/**
 * Returns a button above the hunk at the given position, such as "1 of 2". Another hunk gets that
 * position only after this hunk is gone.
 */
export const lensOf = (d, place, text) =>
  d.page
    .locator('.codelens-decoration', { hasText: place })
    .locator('a', { hasText: text })
    .first();
/** Restores the state before a prompt, with the button below that prompt. */
export async function restore(d, prompt, what = 'Files') {
  await d.click(d.entry('userMessage', prompt).getByRole('button', { name: 'Restore' }));
  await d.choose(what);
}
export const review = (d) => d.panel.locator('.row.review');
/**
 * Returns the view of pending changes. The view and its keys are active while any change is
 * pending.
 */
export const pendingView = (d) =>
  d.page.locator('.pane-header', { hasText: 'Agent: Pending Changes' });
/** Waits until the status bar shows the number of pending changes. */
export const pendingHunks = (d, count) =>
  d.page.locator('.statusbar-item', { hasText: `${count} to review` }).waitFor();

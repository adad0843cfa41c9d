// Provides information about the processes of a workbench.
import fs from 'node:fs';

/** Returns the result of `look` for a process, or '' if the process has ended. */
export function about(pid, look) {
  try {
    return look(pid);
  } catch {
    return '';
  }
}

export const program = (pid) => about(pid, () => fs.realpathSync(`/proc/${pid}/exe`));

export const parent = (pid) =>
  about(pid, () =>
    Number(fs.readFileSync(`/proc/${pid}/status`, 'utf8').match(/^PPid:\t(\d+)$/m)[1]),
  );

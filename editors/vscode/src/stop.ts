// Stops the turn. If this would discard undecided changes, the user is asked first.
import type { Parts } from './commands';

/**
 * Stops the turn unless that would discard more changes than the user agreed to. Returns whether
 * the turn was stopped.
 */
export async function stop(
  { session, proposals, panel }: Pick<Parts, 'session' | 'proposals' | 'panel'>,
  agreed = 0,
): Promise<boolean> {
  const changes = proposals.discardedByStop(session.sessionId);
  if (session.busy && changes > agreed) {
    if (!panel.visible) await panel.reveal(true);
    panel.post({ type: 'confirmStop', changes });
    return false;
  }
  await session.abort();
  return true;
}

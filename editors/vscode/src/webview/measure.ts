// Measures how long the panel takes to draw long conversations, compared with the same work in an
// empty page. The tests and "Measure the panel" use it.
import { h } from './dom';
import type { Item } from '../protocol';
import type { AgentEvent } from './messages';
import { Conversation } from './model';
import { Transcript } from './transcript';

const frame = () => new Promise<number>((resolve) => requestAnimationFrame(resolve));

function item(itemId: string, type: Item['type'], text: string, more: Partial<Item> = {}): Item {
  return { itemId, type, createdAt: '', text, ...more };
}

/** The number of deltas between two frames. */
const deltasPerFrame = 100;

const stamp = { sessionId: 's', seq: 0, turnId: 't' };

function completed(id: number): AgentEvent {
  const text = `Item ${id} with **Markdown**, a list and code:\n\n- one\n- two\n\n\`\`\`ts\nconst n = ${id};\n\`\`\`\n`;
  const tool = item(String(id), 'toolCall', '', {
    name: 'bash',
    label: `go test ./pkg${id}`,
    status: 'completed',
    result: 'ok',
  });
  return {
    method: 'agent/item/completed',
    params: {
      ...stamp,
      item:
        id % 3 === 2
          ? tool
          : item(String(id), id % 3 === 0 ? 'userMessage' : 'assistantMessage', text),
    },
  };
}

/**
 * Draws in a separate transcript above the page, and removes the transcript afterwards. Returns the
 * number of milliseconds until the next frame.
 */
async function timed(
  work: (conversation: Conversation, transcript: Transcript) => void | Promise<void>,
): Promise<number> {
  const conversation = new Conversation();
  const transcript = new Transcript({
    conversation,
    send: () => {},
    folds: new Map(),
    checkpointOf: () => undefined,
    proposalOf: () => undefined,
  });
  const stage = h('div', { class: 'stage' }, transcript.element);
  document.body.append(stage);
  await frame();
  const start = performance.now();
  await work(conversation, transcript);
  await frame();
  await frame();
  const took = performance.now() - start;
  stage.remove();
  return took;
}

/**
 * Draws the same amount of plain text in an empty box, as a baseline for the speed of the browser.
 */
async function empty(pieces: string[], perFrame = 0): Promise<number> {
  const stage = h('div', { class: 'stage' });
  document.body.append(stage);
  await frame();
  const start = performance.now();
  for (let i = 0; i < pieces.length; i++) {
    stage.append(perFrame ? (pieces[i] ?? '') : h('div', {}, pieces[i] ?? ''));
    if (perFrame && i % perFrame === perFrame - 1) await frame();
  }
  await frame();
  await frame();
  const took = performance.now() - start;
  stage.remove();
  return took;
}

export async function measure(items: number, deltas: number): Promise<Record<string, number>> {
  const events = Array.from({ length: items }, (_, id) => completed(id));
  const pieces = Array.from({ length: deltas }, (_, i) => (i % 40 === 39 ? '.\n\n' : `word${i} `));
  const emptyItems = await empty(
    events.map((e) => ('item' in e.params ? (e.params.item.text ?? '') : '')),
  );
  const emptyDeltas = await empty(pieces, deltasPerFrame);
  let drawn = 0;
  const drawItems = await timed(async (conversation, transcript) => {
    transcript.changed(events.flatMap((event) => conversation.take(event)));
    await frame();
    await frame();
    drawn = transcript.drawnCount;
  });
  const drawDeltas = await timed(async (conversation, transcript) => {
    const open: AgentEvent = {
      method: 'agent/item/started',
      params: { ...stamp, item: item('m', 'assistantMessage', '') },
    };
    transcript.changed(conversation.take(open));
    for (let i = 0; i < pieces.length; i++) {
      const delta: AgentEvent = {
        method: 'agent/delta',
        params: { ...stamp, itemId: 'm', kind: 'text', text: pieces[i] ?? '' },
      };
      transcript.changed(conversation.take(delta));
      if (i % deltasPerFrame === deltasPerFrame - 1) await frame();
    }
  });
  return { items: drawItems, deltas: drawDeltas, emptyItems, emptyDeltas, drawn };
}

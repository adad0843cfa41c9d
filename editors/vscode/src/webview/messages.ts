// Defines the messages between the extension and the panel. They are structured clones in both
// directions.
import type {
  AskParams,
  Checkpoint,
  CheckpointRestoreParams,
  ContentBlock,
  Job,
  Notifications,
  Proposal,
  QueueEntry,
  RequestPermissionParams,
  TurnOptions,
  Usage,
} from '../protocol';

export type AgentEvent = {
  [M in keyof Notifications]: { method: M; params: Notifications[M] };
}[keyof Notifications];

/** A pending question. */
export type Waiting =
  | { kind: 'permission'; params: RequestPermissionParams }
  | { kind: 'ask'; params: AskParams };

/**
 * A problem and its kind, which determines the help that is shown. The kinds are a missing provider
 * (`setup`), a missing program (`program`), and any other problem (`other`).
 */
export interface Problem {
  text: string;
  kind: 'setup' | 'program' | 'other';
}

/** The state while no provider is set up. A local server may have been found. */
export type SetupState = { kind: 'missing' } | { kind: 'found'; provider: string; model: string };

/** The session's data that is shown around the conversation. */
export interface PanelState {
  sessionId?: string;
  title: string;
  status: string;
  daemon: string;
  problem?: Problem;
  /**
   * The state of the setup. It is absent if a provider is configured, during the demo, and before
   * the first check.
   */
  setup?: SetupState;
  /** Whether the demo is running. */
  isDemo: boolean;
  model: string;
  mode: string;
  policy: string;
  profile: string;
  queue: QueueEntry[];
  usage?: Usage;
  contextTokens?: number;
  contextWindow?: number;
  /** The number of this session's undecided changes that a stop would discard. */
  discards: number;
  changes?: ChangesBar;
  /** Whether to offer to apply edits first and review them afterwards. */
  offersReview: boolean;
}

/**
 * A session's changes: proposed and pending, applied and pending, or the decided changes from the
 * last turn.
 */
export interface ChangesBar {
  kind: 'proposed' | 'applied' | 'done';
  /** The number of undecided hunks. It is 0 if the kind is `done`. */
  changes: number;
  files: number;
  /** The numbers of added and removed lines. */
  added: number;
  removed: number;
  /** The checkpoint that undoes the turn, if the turn has ended. */
  checkpointId?: string;
}

export interface Completion {
  label: string;
  detail?: string;
  /** The text that is inserted into the input. */
  insert: string;
  /** The content that is attached to the prompt. */
  block?: ContentBlock;
}

/** A restore or the undo of a restore, and the checkpoint that undoes it. */
export interface Restored {
  undoCheckpointId: string;
  scope: NonNullable<CheckpointRestoreParams['scope']>;
  text: string;
}

/** The user's choices for the next prompt only. */
export type PromptOptions = Pick<TurnOptions, 'model' | 'thinking'>;

export type ToPanel =
  | { type: 'reset' }
  | { type: 'loaded' }
  | { type: 'events'; events: AgentEvent[] }
  | { type: 'state'; state: PanelState }
  /**
   * `unsaved` lists the files that are saved before a command runs. It may change while a question
   * is open.
   */
  | { type: 'waiting'; waiting: Waiting[]; unsaved: string[] }
  | { type: 'checkpoints'; checkpoints: Checkpoint[] }
  | { type: 'jobs'; jobs: Job[] }
  | { type: 'proposal'; proposal: Proposal }
  | { type: 'restored'; restored: Restored }
  | { type: 'completions'; query: string; items: Completion[] }
  | { type: 'insert'; text: string; blocks: ContentBlock[] }
  | { type: 'options'; options: PromptOptions }
  | { type: 'focus' }
  /** Asks the user whether a stop may discard this many changes. */
  | { type: 'confirmStop'; changes: number }
  | { type: 'measure'; items: number; deltas: number };

export type Delivery = 'send' | 'queue';

export type FromPanel =
  | { type: 'ready'; firstPaintMs: number }
  | {
      type: 'prompt';
      text: string;
      blocks: ContentBlock[];
      delivery: Delivery;
      options?: PromptOptions;
    }
  /** `discard` is the number of changes that the user agreed to discard. */
  | { type: 'abort'; itemId?: string; discard?: number }
  | { type: 'permission'; requestId: string; optionId: string; feedback?: string }
  | { type: 'answer'; requestId: string; answer?: string }
  | { type: 'command'; command: string; args: unknown[] }
  | { type: 'complete'; query: string }
  /** Requests a proposal that was decided before the panel was shown. */
  | { type: 'proposal'; proposalId: string }
  | { type: 'open'; uri: string; line?: number }
  | { type: 'link'; href: string }
  | { type: 'copy'; text: string }
  | { type: 'insertText'; text: string }
  | { type: 'removeQueued'; messageId: string }
  | { type: 'resend'; itemId: string; text: string }
  | { type: 'fork'; itemId: string }
  | { type: 'pin'; itemId: string; on: boolean }
  | { type: 'killJob'; jobId: string }
  /** Hides the bar that shows the last turn's changes. */
  | { type: 'keepTurn' }
  | { type: 'measured'; figures: Record<string, number> };

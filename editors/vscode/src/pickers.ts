// Shows the pickers for the model, mode, edit policy and permissions.
import * as vscode from 'vscode';
import type { Choices } from './choices';
import type { Daemon } from './client';
import type { Config, Model } from './protocol';
import type { SessionControl } from './session';
import { modelFacts, policyWords, profileWords } from './text';
import type { PromptOptions } from './webview/messages';

const policies: [NonNullable<Config['editPolicy']>, string][] = [
  ['ask', 'You decide on each hunk before it is applied'],
  ['review', 'Edits are applied immediately; you keep or undo each hunk'],
  ['collect', 'Edits are collected and applied when you accept them'],
  ['auto', 'Edits are applied; you can undo them with checkpoints'],
];

const profiles: ['readOnly' | 'ask' | 'workspace' | 'trust', string][] = [
  ['readOnly', 'No edits, only read-only commands'],
  ['ask', 'Read-only commands run; all others need your permission'],
  ['workspace', 'Commands run in the sandbox; leaving it needs your permission'],
  ['trust', 'Commands and MCP tools run; leaving the sandbox and new hosts need your permission'],
];

type ThinkingLevel = NonNullable<PromptOptions['thinking']>;

const thinkingLevels: ThinkingLevel[] = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh'];

export class Pickers {
  constructor(
    private readonly daemon: Daemon,
    private readonly session: SessionControl,
    private readonly choices: Choices,
  ) {}

  async model(): Promise<void> {
    const { models } = await this.daemon.request('agent/models', {});
    const now = await this.modelInUse();
    const choice = await chooseModelRow(
      models.map((model) => ({ reference: model.id, model })),
      now,
    );
    if (!choice) return;
    const model =
      choice === anotherModel
        ? await vscode.window.showInputBox({ prompt: 'Model id', value: now })
        : choice;
    if (model) await this.choices.apply({ model }, `Model: ${model}`);
  }

  /** Returns the session's model or, if none is chosen, the provider's default. */
  private async modelInUse(): Promise<string | undefined> {
    const chosen = this.session.effective.model;
    return chosen || (await this.daemon.request('agent/status', {})).provider.model;
  }

  /**
   * Looks for the configured model or, if none is configured, for a local server on its usual port.
   * If a model is found, the walkthrough marks its step as done.
   */
  async find(): Promise<void> {
    const { models } = await this.daemon.request('agent/models', {});
    await vscode.commands.executeCommand('setContext', 'agentLsp.modelFound', models.length > 0);
    const names =
      models
        .slice(0, 3)
        .map((m) => m.id)
        .join(', ') + (models.length > 3 ? ', …' : '');
    const found = `Found ${models.length === 1 ? 'the model' : `${models.length} models:`} ${names}`;
    const choice = await vscode.window.showInformationMessage(
      models.length > 0 ? found : 'The server has no model yet. Load one there, then try again.',
      ...(models.length > 1 ? ['Choose'] : []),
    );
    if (choice) await this.model();
  }

  /**
   * Lets the user choose a model or thinking level for the next prompt only. The panel shows the
   * choice and sends it with the prompt.
   */
  async promptOptions(): Promise<PromptOptions | undefined> {
    const levels = thinkingLevels.map((level) => ({ label: `Thinking: ${level}`, level }));
    const rows: (vscode.QuickPickItem & { level?: ThinkingLevel })[] = [
      { label: 'Model…', description: 'from the list' },
      ...levels,
    ];
    const row = await vscode.window.showQuickPick(rows, {
      title: 'For the next prompt only',
      placeHolder: 'A model or a thinking level',
    });
    if (!row) return undefined;
    if (row.level) return { thinking: row.level };
    const { models } = await this.daemon.request('agent/models', {});
    const model = await chooseModelRow(
      models.map((entry) => ({ reference: entry.id, model: entry })),
      await this.modelInUse(),
    );
    const typed =
      model === anotherModel ? await vscode.window.showInputBox({ prompt: 'Model id' }) : model;
    return typed ? { model: typed } : undefined;
  }

  async mode(): Promise<void> {
    await this.session.ensure();
    const modes = Object.entries(this.session.effective.modes ?? {}).map(([label, mode]) => ({
      label,
      description: mode.description,
    }));
    const builtin = modes.some(({ label }) => label === 'plan')
      ? []
      : [
          {
            label: 'plan',
            description: 'Reads and plans; makes no changes until you approve the plan',
          },
        ];
    const choice = await vscode.window.showQuickPick(
      marked(
        [{ label: 'default', description: 'No mode' }, ...builtin, ...modes],
        this.session.effective.mode || 'default',
      ),
      { title: 'Mode for this session' },
    );
    if (choice)
      await this.session.configure({ mode: choice.label === 'default' ? '' : choice.label });
  }

  async policy(): Promise<void> {
    const now = this.session.effective.editPolicy;
    const editPolicy = await this.choose('Edit policy', policies, policyWords, now);
    if (editPolicy) await this.choices.apply({ editPolicy }, `Edits: ${policyWords[editPolicy]}`);
  }

  async permissions(): Promise<void> {
    const now = this.session.effective.permissions?.profile;
    const profile = await this.choose('Command permissions', profiles, profileWords, now);
    if (!profile) return;
    await this.choices.apply({ permissions: { profile } }, `Commands: ${profileWords[profile]}`);
  }

  private async choose<V extends string>(
    title: string,
    choices: [V, string][],
    words: Record<string, string>,
    now = '',
  ): Promise<V | undefined> {
    const label = (value: string) => words[value] ?? value;
    const rows = choices.map(([value, description]) => ({
      value,
      label: label(value),
      description,
    }));
    return (await vscode.window.showQuickPick(marked(rows, label(now)), { title }))?.value;
  }
}

export const anotherModel = 'Enter a model id';

interface ModelRow extends vscode.QuickPickItem {
  reference: string;
}

/**
 * Returns the list entries for the models, grouped by provider. The current model is first and is
 * marked.
 */
export function modelRows(
  models: { reference: string; model: Model }[],
  now: string | undefined,
): ModelRow[] {
  const isCurrent = ({ reference, model }: { reference: string; model: Model }) =>
    reference === now || `${model.provider}/${reference}` === now;
  const sorted = [...models].sort((a, b) => Number(isCurrent(b)) - Number(isCurrent(a)));
  const providers = [...new Set(sorted.map(({ model }) => model.provider))];
  // A single provider's name is already in the heading. With several providers, the user can search
  // for a name.
  const labelOf = ({ reference, model }: { reference: string; model: Model }) =>
    providers.length === 1 && reference.startsWith(`${model.provider}/`)
      ? reference.slice(model.provider.length + 1)
      : reference;
  return providers.flatMap((provider) => [
    { label: provider, kind: vscode.QuickPickItemKind.Separator, reference: '' },
    ...sorted
      .filter(({ model }) => model.provider === provider)
      .map((entry) => ({
        label: labelOf(entry),
        reference: entry.reference,
        description: [isCurrent(entry) && 'current', modelFacts(entry.model)]
          .filter(Boolean)
          .join(' · '),
        iconPath: isCurrent(entry) ? new vscode.ThemeIcon('check') : undefined,
      })),
  ]);
}

/** Lets the user choose a model. Returns a reference to it, or `anotherModel`. */
export async function chooseModelRow(
  models: { reference: string; model: Model }[],
  now: string | undefined,
): Promise<string | undefined> {
  const other: ModelRow = { label: '$(edit) Another model…', reference: anotherModel };
  const rows = [
    ...modelRows(models, now),
    { label: '', kind: vscode.QuickPickItemKind.Separator, reference: '' },
    other,
  ];
  const row = await vscode.window.showQuickPick(rows, {
    title: 'Model',
    placeHolder: 'Search models',
    matchOnDescription: true,
  });
  return row?.reference;
}

/** Returns the list entries. The current entry is marked. */
function marked<R extends { label: string; description?: string }>(
  rows: R[],
  now: string | undefined,
): R[] {
  return rows.map((row) =>
    row.label === now
      ? { ...row, description: [row.description, 'now'].filter(Boolean).join(' · ') }
      : row,
  );
}

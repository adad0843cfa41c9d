// Sets up a provider. The user chooses it from a list, enters its key, and chooses a model from the
// provider's list. A test call checks the model. Nothing is restarted, because the daemon gets the
// settings by notification and reads the key with its next call.
import * as os from 'node:os';
import * as vscode from 'vscode';
import type { Choices } from './choices';
import type { Daemon } from './client';
import { login } from './login';
import { anotherModel as typeModel, chooseModelRow } from './pickers';
import type { Config, Model } from './protocol';
import {
  nameForUrl,
  providerChoices,
  providerInUse,
  references,
  urlProblem,
  withProvider,
  type ProviderChoice,
} from './providers';
import type { SessionControl } from './session';
import { errorParts } from './text';
import type { SetupState } from './webview/messages';

/** A provider whose settings have been written. */
interface Provider {
  choice: ProviderChoice;
  name: string;
}

const retype = 'Enter the key again';
const again = 'Try again';
const otherAddress = 'Change the address';
const otherModel = 'Choose another model';
const useAnyway = 'Use it anyway';

export class Setup {
  private readonly changed = new vscode.EventEmitter<SetupState | undefined>();
  readonly onChange = this.changed.event;

  constructor(
    private readonly daemon: Daemon,
    private readonly session: SessionControl,
    private readonly choices: Choices,
    private readonly focusInput: () => Promise<void>,
  ) {}

  /**
   * Finds out whether a prompt can be sent. Local ports are probed only if no provider is
   * configured.
   */
  async check(): Promise<void> {
    if (this.daemon.demo) return;
    const { provider } = await this.daemon.request('agent/status', {});
    if (provider.configured) return void this.changed.fire(undefined);
    const found = await this.daemon.request('agent/models', {}).then(
      ({ models }) => models[0],
      () => undefined,
    );
    this.changed.fire(
      found ? { kind: 'found', provider: found.provider, model: found.id } : { kind: 'missing' },
    );
  }

  /** Runs the complete setup. It begins with the list of providers. */
  async choose(): Promise<void> {
    const rows = providerChoices.map((choice) => ({
      label: choice.label,
      description: choice.description,
      choice,
    }));
    const row = await vscode.window.showQuickPick(rows, {
      title: 'Choose a provider',
      placeHolder: 'Choose where the model runs',
      matchOnDescription: true,
    });
    if (row) await this.add(row.choice);
  }

  /**
   * Asks the user for the current provider's key. A URL without a name gets a name, because keys
   * are stored by name.
   */
  async key(): Promise<void> {
    const { provider } = await this.daemon.request('agent/status', {});
    const config = settings();
    if (!provider.configured && !config.model && !config.provider) return this.choose();
    const name = providerInUse({ ...config, model: this.session.effective.model ?? config.model });
    const other = providerChoices.find((choice) => choice.name === '') as ProviderChoice;
    if (name === undefined) return this.add(other, config.provider?.baseUrl);
    const choice = providerChoices.find((known) => known.name === name) ?? {
      ...other,
      label: name,
    };
    await this.askKeyAndModel({ choice, name });
  }

  private async add(choice: ProviderChoice, address?: string): Promise<void> {
    const url = choice.url === undefined ? undefined : await this.askUrl(choice, address);
    if (choice.url !== undefined && url === undefined) return;
    const provider = {
      choice,
      name: choice.name || nameForUrl(url ?? '', settings().providers ?? {}),
    };
    await this.write(provider, url);
    await this.askKeyAndModel(provider);
  }

  private async askKeyAndModel(provider: Provider): Promise<void> {
    if (provider.choice.key === 'none' || (await this.askKey(provider)))
      await this.askModel(provider);
  }

  private async askUrl(choice: ProviderChoice, address?: string): Promise<string | undefined> {
    const known = choice.name === '' ? address : settings().providers?.[choice.name]?.baseUrl;
    const url = await vscode.window.showInputBox({
      title: `Base URL for ${choice.name === '' ? 'the server' : choice.label}`,
      value: known,
      placeHolder: choice.url,
      prompt:
        choice.name === ''
          ? 'Chat requests go to this URL followed by /chat/completions.'
          : undefined,
      ignoreFocusOut: true,
      validateInput: (text) => urlProblem(text),
    });
    return url?.trim().replace(/\/+$/, '');
  }

  /** Writes the user's settings, and sends them to the daemon before the next request. */
  private async write({ choice, name }: Provider, url: string | undefined): Promise<void> {
    const providers = withProvider(choice, name, url, settings());
    if (!providers) return;
    await vscode.workspace
      .getConfiguration('agentLsp')
      .update('providers', providers, vscode.ConfigurationTarget.Global);
    await this.daemon.ready();
    await this.daemon.configure();
  }

  /**
   * Asks the user for a key, and stores it. Returns false if the user cancels. An empty answer
   * keeps the stored key.
   */
  private async askKey({ choice, name }: Provider): Promise<boolean> {
    const page = choice.keyPage ? ` Get one at ${choice.keyPage}.` : '';
    const empty =
      choice.key === 'optional'
        ? 'Leave it empty if the server does not need one.'
        : 'Leave it empty to keep the stored one.';
    const key = await vscode.window.showInputBox({
      title: `API key for ${titleOf({ choice, name })}`,
      password: true,
      ignoreFocusOut: true,
      prompt: `Stored in the system keyring, or in a file that only you can read.${page} ${empty}`,
    });
    if (key === undefined) return false;
    if (key.trim() === '') return true;
    const environment = vscode.workspace
      .getConfiguration('agentLsp')
      .get<Record<string, string>>('server.env', {});
    const done = await login({
      program: this.daemon.locate(),
      name,
      key: key.trim(),
      providers: settings().providers,
      environment,
      cwd: os.homedir(),
    });
    const note = /Note: (.*)$/m.exec(done)?.[1];
    if (note) void vscode.window.showWarningMessage(`The key for ${name} is stored, but ${note}`);
    return true;
  }

  /**
   * Lets the user choose a model from the provider's list or enter its id, and makes a test call.
   */
  private async askModel(provider: Provider): Promise<void> {
    const models = await this.models(provider);
    if (!models) return;
    const model =
      models === typeModel
        ? await this.typed(provider)
        : await chooseModelRow(references(provider.name, models), this.session.effective.model);
    if (model === typeModel) return this.tryModel(provider, await this.typed(provider));
    await this.tryModel(provider, model);
  }

  private async typed(provider: Provider): Promise<string | undefined> {
    const { name, choice } = provider;
    const prompt =
      choice.name === 'azure' ? 'The name of your deployment' : 'The id that the provider uses';
    const id = await vscode.window.showInputBox({
      title: `Model from ${titleOf(provider)}`,
      prompt,
      ignoreFocusOut: true,
    });
    return id ? `${name}/${id.trim()}` : undefined;
  }

  /** Returns the provider's list of models. If there is an error, it asks the user what to do. */
  private async models(provider: Provider): Promise<Model[] | typeof typeModel | undefined> {
    const { name, choice } = provider;
    try {
      const { models } = await working(
        `Asking ${titleOf(provider)} for its models…`,
        this.daemon.request('agent/models', { provider: name }),
      );
      if (models.length > 0) return models;
      return this.failed(provider, `${titleOf(provider)} lists no chat models.`, [
        again,
        typeModel,
      ]);
    } catch (error) {
      // The user does not know the name that was derived from the URL.
      const message = (error as Error).message.replaceAll(name, titleOf(provider));
      const { what, help } = errorParts(choice.name === '' ? message : (error as Error).message);
      const isKey = /\b(key|401|403|unauthorized)\b/i.test(what) && choice.key !== 'none';
      return this.failed(
        provider,
        isKey ? what : `${what} ${help}`.trim(),
        isKey ? [retype, typeModel] : [again, otherAddress, typeModel],
      );
    }
  }

  private async failed(
    provider: Provider,
    text: string,
    ways: string[],
  ): Promise<Model[] | typeof typeModel | undefined> {
    const way = await vscode.window.showErrorMessage(text, ...ways);
    if (way === typeModel) return typeModel;
    if (way === again) return this.models(provider);
    if (way === retype && (await this.askKey(provider))) return this.models(provider);
    if (way === otherAddress) {
      const url = await this.askUrl(
        { ...provider.choice, url: provider.choice.url ?? 'http://127.0.0.1:8080/v1' },
        settings().providers?.[provider.name]?.baseUrl,
      );
      if (url === undefined) return undefined;
      await this.write(provider, url);
      return this.models(provider);
    }
    return undefined;
  }

  private async tryModel(provider: Provider, model: string | undefined): Promise<void> {
    if (!model) return;
    const { test } = await working(
      `Testing ${model}…`,
      this.daemon.request('agent/models', { provider: provider.name, test: model }),
    );
    if (test?.ok) {
      await this.use(model);
      const ms = test.latencyMs ?? 0;
      const time = ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`;
      const name = model.slice(model.lastIndexOf('/') + 1); // the full reference would be too long
      return void vscode.window.showInformationMessage(`${name} answered in ${time}.`);
    }
    const ways = [...(provider.choice.key === 'none' ? [] : [retype]), otherModel, useAnyway];
    const way = await vscode.window.showErrorMessage(
      `${model} did not answer: ${errorParts(test?.error ?? 'no reason was given').what}`,
      ...ways,
    );
    if (way === useAnyway) await this.use(model);
    if (way === otherModel) await this.askModel(provider);
    if (way === retype && (await this.askKey(provider))) await this.tryModel(provider, model);
  }

  /**
   * Sets the model for this session and for new ones, and focuses the input for the first prompt.
   */
  private async use(model: string): Promise<void> {
    await this.choices.set({ model }, 'default');
    await this.daemon.configure();
    this.session.settle(undefined);
    await this.check();
    await this.focusInput();
  }
}

/** Returns the user's own model settings. */
function settings(): Config {
  const configuration = vscode.workspace.getConfiguration('agentLsp');
  const own = <T>(key: string) => configuration.inspect<T | null>(key)?.globalValue ?? undefined;
  return {
    model: own<string>('model'),
    provider: own<NonNullable<Config['provider']>>('provider'),
    providers: own<NonNullable<Config['providers']>>('providers'),
  };
}

/** Returns the name of a provider that the user knows. */
function titleOf({ choice, name }: Provider): string {
  return choice.name === '' ? hostOf(name) : choice.label;
}

/** Returns the host that the user has entered for a provider without a known name. */
function hostOf(name: string): string {
  const url = settings().providers?.[name]?.baseUrl;
  return url === undefined || urlProblem(url) !== undefined ? name : new URL(url).host;
}

function working<T>(title: string, work: Promise<T>): Thenable<T> {
  return vscode.window.withProgress(
    { location: vscode.ProgressLocation.Notification, title },
    () => work,
  );
}

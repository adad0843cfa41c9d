// Lists the providers that the setup offers, and computes their settings. The functions are pure,
// so that they can be tested.
import type { Config, Model } from './protocol';

export interface ProviderChoice {
  /**
   * The name at the beginning of model references. It is empty for a provider that the user
   * specifies by its URL.
   */
  name: string;
  label: string;
  description: string;
  /** Whether the provider's key is required, optional or not used. */
  key: 'required' | 'optional' | 'none';
  /** An example of the base URL, if the user must enter one. */
  url?: string;
  /** The page on which the user gets a key. */
  keyPage?: string;
}

export const providerChoices: ProviderChoice[] = [
  {
    name: 'openai',
    label: 'OpenAI',
    description: 'needs an API key',
    key: 'required',
    keyPage: 'platform.openai.com/api-keys',
  },
  {
    name: 'anthropic',
    label: 'Anthropic',
    description: 'needs an API key',
    key: 'required',
    keyPage: 'console.anthropic.com',
  },
  {
    name: 'gemini',
    label: 'Gemini',
    description: 'needs an API key',
    key: 'required',
    keyPage: 'aistudio.google.com/apikey',
  },
  {
    name: 'openrouter',
    label: 'OpenRouter',
    description: 'needs an API key',
    key: 'required',
    keyPage: 'openrouter.ai/keys',
  },
  { name: 'ollama', label: 'Ollama', description: 'this machine, port 11434', key: 'none' },
  {
    name: 'llama-server',
    label: 'llama-server',
    description: 'this machine, port 8080',
    key: 'none',
  },
  { name: 'lmstudio', label: 'LM Studio', description: 'this machine, port 1234', key: 'none' },
  { name: 'vllm', label: 'vLLM', description: 'this machine, port 8000', key: 'none' },
  {
    name: 'azure',
    label: 'Azure OpenAI',
    description: 'needs its URL and an API key',
    key: 'required',
    url: 'https://NAME.openai.azure.com/openai/v1',
  },
  {
    name: '',
    label: 'Other URL',
    description: 'any server with an OpenAI-compatible API',
    key: 'optional',
    url: 'https://llm.example.com/v1',
  },
];

/** Returns the reason why text is not a valid base URL, or undefined if it is valid. */
export function urlProblem(text: string): string | undefined {
  try {
    const { protocol, host } = new URL(text.trim());
    if (/^https?:$/.test(protocol) && host) return undefined;
  } catch {
    // The problem is returned below.
  }
  return 'Enter an address that begins with http:// or https://';
}

type Providers = NonNullable<Config['providers']>;

/**
 * Returns a name for a provider with a URL. This is its existing name if it has one, and otherwise
 * a name derived from the host.
 */
export function nameForUrl(url: string, providers: Providers): string {
  const known = Object.entries(providers).find(([, { baseUrl }]) => baseUrl === url);
  if (known) return known[0];
  const { hostname, port } = new URL(url);
  const host =
    hostname
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '-')
      .replace(/^-+|-+$/g, '') || 'server';
  const base = port ? `${host}-${port}` : host;
  const taken = (name: string) =>
    name in providers || providerChoices.some((choice) => choice.name === name);
  for (let n = 1; ; n++) {
    const name = n === 1 ? base : `${base}-${n}`;
    if (!taken(name)) return name;
  }
}

/**
 * Returns the setting `providers` with an entry for the provider, or undefined if the setting does
 * not have to change. A local server is listed only if it has an entry, and the built-in names are
 * valid only without provider.baseUrl.
 */
export function withProvider(
  choice: ProviderChoice,
  name: string,
  url: string | undefined,
  config: Config,
): Providers | undefined {
  const providers = config.providers ?? {};
  const isNeeded = url !== undefined || choice.key === 'none' || !!config.provider?.baseUrl;
  const before = providers[name];
  if (!isNeeded || (before && (url === undefined || before.baseUrl === url))) return undefined;
  return { ...providers, [name]: url === undefined ? { ...before } : { ...before, baseUrl: url } };
}

/**
 * Returns references to a provider's models. The provider's name is added to the ids unless all of
 * them already begin with it.
 */
export function references(name: string, models: Model[]): { reference: string; model: Model }[] {
  const isPrefixed = models.every(({ id }) => id.startsWith(`${name}/`));
  return models.map((model) => ({
    reference: isPrefixed ? model.id : `${name}/${model.id}`,
    model,
  }));
}

/**
 * Returns the name of the provider that a configuration uses, as `agent-lsp login` expects it.
 * Returns undefined for a URL without a name.
 */
export function providerInUse({
  model = '',
  provider,
  providers = {},
}: Config): string | undefined {
  const name = model.includes('/') ? (model.split('/')[0] ?? '') : '';
  const isBuiltin =
    !provider?.baseUrl &&
    providerChoices.some((choice) => choice.name !== '' && choice.name === name);
  if (name in providers || isBuiltin) return name;
  if (provider?.baseUrl) return undefined;
  return provider?.api === 'anthropic' || provider?.api === 'gemini' ? provider.api : 'openai';
}

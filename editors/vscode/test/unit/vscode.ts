// Provides a fake of the parts of the editor's API that the unit tests need.
type Listener<T> = (event: T) => void;

export class EventEmitter<T> {
  private readonly listeners = new Set<Listener<T>>();
  readonly event = (listener: Listener<T>) => (
    this.listeners.add(listener), { dispose: () => this.listeners.delete(listener) }
  );
  fire = (event: T) => this.listeners.forEach((listener) => listener(event));
  dispose = () => this.listeners.clear();
}

export class Uri {
  private constructor(
    readonly scheme: string,
    readonly path: string,
  ) {}
  static parse = (text: string) =>
    new Uri(text.slice(0, text.indexOf(':')), text.slice(text.indexOf(':') + 3));
  static file = (path: string) => new Uri('file', path);
  get fsPath() {
    return this.path;
  }
  toString = () => `${this.scheme}://${this.path}`;
}

export class ThemeIcon {
  constructor(readonly id: string) {}
}

export class ThemeColor {
  constructor(readonly id: string) {}
}

export class Position {
  constructor(
    readonly line: number,
    readonly character: number,
  ) {}
}

export class Range {
  readonly start: Position;
  constructor(start: Position | number, character: Position | number) {
    this.start = typeof start === 'number' ? new Position(start, Number(character)) : start;
  }
}

export class CodeLens {
  constructor(
    readonly range: Range,
    readonly command: { title: string },
  ) {}
}

export const OverviewRulerLane = { Left: 1 };
export const Disposable = {
  from: (...all: { dispose(): void }[]) => ({ dispose: () => all.forEach((one) => one.dispose()) }),
};
export const DiagnosticSeverity = { Error: 0, Warning: 1, Information: 2, Hint: 3 };
export const LogLevel = { Off: 0, Trace: 1, Debug: 2, Info: 3, Warning: 4, Error: 5 };

export interface Problem {
  source: string;
  message: string;
  severity: number;
  range: { start: { line: number; character: number } };
}

/** A fake of a list that the extension shows. The test chooses the row. */
export class Pick {
  items: { label: string; detail?: string }[] = [];
  selectedItems: { label: string }[] = [];
  activeItems: { label: string }[] = [];
  value = '';
  hidden = false;
  readonly accepted = new EventEmitter<void>();
  readonly onDidAccept = this.accepted.event;
  readonly typed = new EventEmitter<string>();
  readonly onDidChangeValue = this.typed.event;
  readonly onDidTriggerButton = new EventEmitter<object>().event;
  readonly onDidTriggerItemButton = new EventEmitter<object>().event;
  readonly onDidHide = new EventEmitter<void>().event;
  show = () => {};
  hide = () => void (this.hidden = true);
}

/** The values that the tests set. */
export const fake = {
  documents: [] as { uri: Uri; languageId: string; version: number }[],
  problems: new Map<string, Problem[]>(),
  commands: {} as Record<string, (...args: never[]) => unknown>,
  settings: {} as Record<string, unknown>,
  /** The text written to each output channel, by the channel's name. */
  output: new Map<string, string>(),
  picks: [] as Pick[],
  folders: [] as { uri: Uri }[],
  /** The user's answer to each warning. */
  warned: (_text: string): string | undefined => undefined,
  changed: new EventEmitter<{ document: object; contentChanges: object[] }>(),
  told: new EventEmitter<{ uris: Uri[] }>(),
  /** The visible editors, and the event that another editor is active. */
  editors: [] as { document: { uri: Uri } }[],
  activated: new EventEmitter<void>(),
  configured: new EventEmitter<{ affectsConfiguration(name: string): boolean }>(),
};

export const workspace = {
  get textDocuments() {
    return fake.documents;
  },
  get workspaceFolders() {
    return fake.folders;
  },
  onDidChangeTextDocument: fake.changed.event,
  onDidChangeConfiguration: fake.configured.event,
  openTextDocument: () => Promise.reject(new Error('no such file')),
  getConfiguration: () => ({
    get: (name: string, otherwise: unknown) => fake.settings[name] ?? otherwise,
  }),
};

export const languages = {
  getDiagnostics: (uri?: Uri) =>
    uri
      ? (fake.problems.get(uri.toString()) ?? [])
      : [...fake.problems].map(([name, found]) => [Uri.parse(name), found]),
  onDidChangeDiagnostics: fake.told.event,
};

export const commands = {
  getCommands: async () => Object.keys(fake.commands),
  executeCommand: async (name: string, ...args: never[]) => fake.commands[name]?.(...args),
};

export const window = {
  get visibleTextEditors() {
    return fake.editors;
  },
  onDidChangeActiveTextEditor: fake.activated.event,
  onDidChangeVisibleTextEditors: new EventEmitter<void>().event,
  showWarningMessage: async (text: string) => fake.warned(text),
  createQuickPick: () => {
    const pick = new Pick();
    fake.picks.push(pick);
    return pick;
  },
  createOutputChannel: (name: string) => {
    const append = (text: string) => fake.output.set(name, (fake.output.get(name) ?? '') + text);
    return {
      append,
      appendLine: (text: string) => append(`${text}\n`),
      replace: (text: string) => fake.output.set(name, text),
      clear: () => fake.output.set(name, ''),
      show: () => {},
      hide: () => {},
      dispose: () => {},
    };
  },
};

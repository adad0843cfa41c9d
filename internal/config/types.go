package config

import "encoding/json"

// Config contains all settings (docs/reference/configuration.md). Every layer and every session
// uses this type. A nil pointer or an empty value means "not set here". The tags doc, default,
// enum, min and max are the source of docs/reference/configuration.md and of the JSON Schema.
//
// Config contains no secrets. Keys come from environment variables or from commands.
//
//house:wire
type Config struct {
	Model           string              `json:"model,omitzero" doc:"Model id, or NAME/id for a model from a provider in providers or a built-in provider. Default: gpt-5 if the provider lists it, otherwise the first chat model that it lists."`
	FallbackModels  []string            `json:"fallbackModels,omitzero" doc:"Models to try in order if the model fails for a reason that other models may not share, such as an outage or a rate limit. They may belong to other providers."`
	TitleModel      string              `json:"titleModel,omitzero" doc:"Model that writes the title of a session after the first turn. A small model is sufficient. It may belong to another provider. Default: the title is the beginning of the first prompt."`
	Provider        *Provider           `json:"provider,omitzero" doc:"Model endpoint for models whose id has no provider name."`
	Providers       map[string]Provider `json:"providers,omitzero" doc:"More model endpoints by name. Refer to their models as \"NAME/model-id\". The providers openai, anthropic, gemini, openrouter, azure, ollama, llama-server, vllm and lmstudio are built in. An entry with one of these names overrides only the keys that it sets."`
	Windows         map[string]int      `json:"windows,omitzero" doc:"Context window in tokens, by model id or glob. Overrides the values from the server and the model catalog."`
	Prices          map[string]Price    `json:"prices,omitzero" doc:"Prices by model id or glob. Overrides the prices from the server and the model catalog."`
	Catalog         *Catalog            `json:"catalog,omitzero" doc:"Catalog of models with their windows, capabilities and prices."`
	Sampling        *Sampling           `json:"sampling,omitzero" doc:"Sampling parameters. Parameters that are 0 or absent are not sent, except a temperature of 0."`
	Thinking        string              `json:"thinking,omitzero" enum:"off,minimal,low,medium,high,xhigh" doc:"Thinking level of the model. Default: the provider decides."`
	ThinkingBudgets map[string]int      `json:"thinkingBudgets,omitzero" doc:"Thinking budget in tokens, by level."`
	ToolChoice      string              `json:"toolChoice,omitzero" doc:"Whether the model must call a tool: auto, none, required, or the name of the tool that it must call."`
	CacheKey        string              `json:"cacheKey,omitzero" doc:"Key for the provider's prompt cache. Default: one key per session."`
	SystemPrompt    string              `json:"systemPrompt,omitzero" doc:"System prompt that replaces the built-in one."`
	Instructions    string              `json:"instructions,omitzero" doc:"Text to append to the system prompt."`
	Tools           *Tools              `json:"tools,omitzero" doc:"Which tools are offered to the model."`
	EditPolicy      string              `json:"editPolicy,omitzero" enum:"ask,review,collect,auto,confirm" default:"\"ask\"" doc:"What happens to edits. ask: the user decides each hunk before it is applied. review: edits are applied, and the user keeps or undoes each hunk. collect: edits are collected and not applied. auto: edits are applied. confirm: the editor asks with its own confirmation dialog."`
	Permissions     *Permissions        `json:"permissions,omitzero" doc:"What commands and tools may do without asking."`
	Sandbox         string              `json:"sandbox,omitzero" enum:"auto,require,off" default:"\"auto\"" doc:"Whether commands run in a sandbox. auto: if the system supports one. require: always; without a sandbox, commands are refused. off: never."`
	SandboxPaths    []string            `json:"sandboxPaths,omitzero" doc:"Additional folders that sandboxed commands may write to, such as build caches."`
	Mode            string              `json:"mode,omitzero" doc:"Name of the active mode, such as plan."`
	Modes           map[string]Mode     `json:"modes,omitzero" doc:"Modes by name. A mode sets the model, tools, policies and prompt together."`
	Hooks           map[string][]Hook   `json:"hooks,omitzero" doc:"Commands to run at events, by event name. docs/reference/hooks.md describes the events, the input and the decisions."`
	MaxModelCalls   int                 `json:"maxModelCalls,omitzero" default:"200" doc:"Maximum number of model calls in one turn. Negative: no limit."`
	Budget          *Budget             `json:"budget,omitzero" doc:"Limits for one turn, including its sub-agents. A turn that exceeds them ends before its next model call."`
	ToolTimeoutMs   int                 `json:"toolTimeoutMs,omitzero" default:"600000" min:"1" doc:"Time limit of one tool call in milliseconds. If the tool has its own limit, the shorter one applies. Calls of the tool agent have no limit. Time spent waiting for the user does not count."`
	MaxToolResult   int                 `json:"maxToolResultBytes,omitzero" default:"51200" min:"1000" doc:"Maximum size in bytes of a tool result sent to the model. A longer result is cut to its beginning and end, and the full result is saved to a file."`
	Retry           *Retry              `json:"retry,omitzero" doc:"When to retry a failed model call."`
	Repair          *Repair             `json:"repair,omitzero" doc:"Repair of malformed model output."`
	SteeringMode    string              `json:"steeringMode,omitzero" enum:"all,oneAtATime" default:"\"all\"" doc:"Whether pending steering messages are delivered together or one at a time."`
	FollowUpMode    string              `json:"followUpMode,omitzero" enum:"all,oneAtATime" default:"\"oneAtATime\"" doc:"Whether all queued prompts start one turn together, or each prompt starts its own turn."`
	MaxQueue        int                 `json:"maxQueue,omitzero" default:"100" min:"1" doc:"Maximum number of queued messages in one session."`
	Context         *Context            `json:"context,omitzero" doc:"How a long history is reduced to fit the model's context window."`
	Memory          *Memory             `json:"memory,omitzero" doc:"What the agent remembers between sessions."`
	Project         *Project            `json:"project,omitzero" doc:"Instructions, commands and agents that a repository contains."`
	Sessions        *Retention          `json:"sessions,omitzero" doc:"How long to keep stored sessions."`
	Checkpoints     *Retention          `json:"checkpoints,omitzero" doc:"How long to keep file checkpoints."`
	MCPServers      map[string]MCP      `json:"mcpServers,omitzero" doc:"MCP servers by name, in the format that other MCP clients use."`
	LanguageServers map[string]LSP      `json:"languageServers,omitzero" doc:"Language servers by name. The daemon starts a server if the editor cannot answer a query of the agent about code. An entry overrides the built-in entry with the same name."`
	Diagnostics     *Diagnostics        `json:"diagnostics,omitzero" doc:"How diagnostics are reported after an edit."`
	Agents          []Agent             `json:"agents,omitzero" doc:"Sub-agents that the model can call."`
	Subagents       *Subagents          `json:"subagents,omitzero" doc:"Limits of sub-agents."`
	AIComments      string              `json:"aiComments,omitzero" enum:"off,save" default:"\"off\"" doc:"Whether new comments that begin or end with AI! (make a change) or AI? (answer a question) are sent as a prompt when a file is saved."`
	Follow          bool                `json:"follow,omitzero" doc:"Whether the editor plugin shows the files that the agent reads and changes. The keyboard focus does not move."`
	Check           *Check              `json:"check,omitzero" doc:"A command to run after edits. If the command fails, its output is sent to the model."`
	Formatters      map[string]Command  `json:"formatters,omitzero" doc:"Formatters by file name glob. A formatter reads the file from stdin and prints the formatted text."`
	WebSearch       *WebSearch          `json:"webSearch,omitzero" doc:"Search endpoint for the web_search tool. If it is not set, the tool is not offered."`
	Fetch           *Fetch              `json:"fetch,omitzero" doc:"The fetch tool."`
	Shell           *Shell              `json:"shell,omitzero" doc:"How shell commands run."`
	Environment     *ChildEnvironment   `json:"environment,omitzero" doc:"Environment variables that child processes inherit."`
	Network         *Network            `json:"network,omitzero" doc:"Hosts that sandboxed commands and the tools fetch and web_search may connect to."`

	home   *string         // the default provider, if it differs from the provider of Model
	chosen map[string]bool // the providers that the user chose; nil means that this is not known
}

// Catalog configures whether the catalog of models is kept up to date.
type Catalog struct {
	Refresh bool   `json:"refresh,omitzero" doc:"Whether to update the model catalog from catalog.url, at most once a day. If false, the built-in catalog is used."`
	URL     string `json:"url,omitzero" default:"\"https://catwalk.charm.sh\"" doc:"URL of the catalog service. Requests to it contain nothing about you or your models."`
}

// Provider configures a model endpoint and the source of its key.
type Provider struct {
	BaseURL       string            `json:"baseUrl,omitzero" doc:"Base URL, such as https://api.openai.com/v1. For Anthropic's API, the URL before /v1/messages, with or without /v1. For the Gemini API, the URL before /v1beta/models, with or without /v1beta."`
	APIKeyEnv     string            `json:"apiKeyEnv,omitzero" doc:"Environment variable that contains the API key. Default for the setting provider: OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY, depending on the API. Each built-in provider that needs a key has its own variable. Other providers have no default."`
	APIKeyCommand []string          `json:"apiKeyCommand,omitzero" doc:"Command that prints the API key, as a list of the program and its arguments. Its output is cached for one minute. The command runs again if the provider rejects the key."`
	Headers       map[string]string `json:"headers,omitzero" doc:"Additional HTTP headers. ${NAME} is replaced by the value of the environment variable NAME."`
	Query         map[string]string `json:"query,omitzero" doc:"Additional query parameters, such as api-version."`
	Organization  string            `json:"organization,omitzero" doc:"OpenAI organization id."`
	API           string            `json:"api,omitzero" enum:"chat,responses,anthropic,gemini" default:"\"chat\"" doc:"API of the provider: OpenAI's chat or responses API, Anthropic's Messages API, or the Gemini API. The built-in providers anthropic and gemini use their own APIs."`
	DeferLoading  *bool             `json:"deferLoading,omitzero" doc:"Whether the provider supports defer_loading for tools loaded on demand (responses and anthropic APIs). Default: yes for gpt-5.4 and later at OpenAI, and for Claude 4.5 and later."`
	NativeTools   *bool             `json:"nativeTools,omitzero" doc:"Whether the provider supports OpenAI's built-in apply_patch and shell tools (responses API). Default: yes for gpt-5.1 and later at OpenAI, except chat, codex and pro models."`
	Stream        *bool             `json:"stream,omitzero" default:"true" doc:"Whether to stream replies."`
	IdleTimeoutMs int               `json:"idleTimeoutMs,omitzero" default:"120000" min:"1" doc:"Maximum time in milliseconds for which a stream may send no data. After this time, the model call fails."`
	Probe         *bool             `json:"probe,omitzero" default:"true" doc:"Whether to look for a local model server on the usual ports if no provider is set."`
}

// Price contains prices per million tokens.
type Price struct {
	Input      float64 `json:"input,omitzero" doc:"Price per million input tokens."`
	Output     float64 `json:"output,omitzero" doc:"Price per million output tokens."`
	Cached     float64 `json:"cached,omitzero" doc:"Price per million input tokens read from the provider's cache."`
	CacheWrite float64 `json:"cacheWrite,omitzero" doc:"Price per million input tokens written to the provider's cache."`
}

// Sampling contains sampling parameters. A parameter that is zero is not sent, except for a
// temperature of 0.
type Sampling struct {
	MaxTokens         int      `json:"maxTokens,omitzero" min:"0" doc:"Maximum number of tokens in a reply. By default, OpenAI, Azure, Gemini, Mistral and local servers apply their own limit. For other providers, the limit is derived from the model and the free part of its window."`
	Temperature       *float64 `json:"temperature,omitzero" min:"0" doc:"Sampling temperature."`
	TopP              float64  `json:"topP,omitzero" doc:"Nucleus sampling (top-p)."`
	TopK              int      `json:"topK,omitzero" doc:"Top-k sampling, if the provider supports it."`
	MinP              float64  `json:"minP,omitzero" doc:"Min-p sampling, if the provider supports it."`
	PresencePenalty   float64  `json:"presencePenalty,omitzero" doc:"Presence penalty."`
	RepetitionPenalty float64  `json:"repetitionPenalty,omitzero" doc:"Repetition penalty, if the provider supports it."`
}

// Tools selects the tools that the model can use.
type Tools struct {
	Enable      []string `json:"enable,omitzero" doc:"Offer only these tools (names or globs). This also enables tools that are off by default."`
	Disable     []string `json:"disable,omitzero" doc:"Do not offer these tools (names or globs)."`
	DeferBytes  int      `json:"deferBytes,omitzero" default:"8000" doc:"Maximum total size in bytes of the tool definitions in a request. If the tools of an MCP server do not fit, only their names are sent, and the model loads them on demand. Negative: no limit."`
	StopAfter   []string `json:"stopAfter,omitzero" doc:"Tools (names or globs) whose successful result ends the turn without another model call."`
	MaxParallel int      `json:"maxParallel,omitzero" default:"8" min:"1" doc:"Maximum number of read-only calls that run in parallel."`
}

// ToolFilter selects tools of an MCP server by the server's own names.
type ToolFilter struct {
	Enable  []string `json:"enable,omitzero" doc:"Offer only these tools (names or globs)."`
	Disable []string `json:"disable,omitzero" doc:"Do not offer these tools (names or globs)."`
}

// Permissions determines which actions are allowed without asking the user.
type Permissions struct {
	Profile string   `json:"profile,omitzero" enum:"readOnly,ask,workspace,trust" default:"\"ask\"" doc:"readOnly: no edits, and only read-only commands. ask: commands that are not read-only need approval. workspace: commands in agent-lsp's own sandbox need no approval. trust: MCP tools, and commands in other sandboxes or without a sandbox, need no approval either. Leaving the sandbox, connecting to new hosts and editing protected files still need approval."`
	Rules   []string `json:"rules,omitzero" doc:"Rules such as \"allow bash(go test *)\", \"deny read(**/secrets/**)\" or \"ask bash(git push*)\". deny overrides ask, and ask overrides allow."`
}

// Mode is a named set of settings that a session can switch to.
type Mode struct {
	Description  string       `json:"description,omitzero" doc:"Description shown when the user chooses a mode."`
	Model        string       `json:"model,omitzero" doc:"Model of this mode."`
	Thinking     string       `json:"thinking,omitzero" enum:"off,minimal,low,medium,high,xhigh" doc:"Thinking level of this mode."`
	Tools        *Tools       `json:"tools,omitzero" doc:"Tools of this mode."`
	EditPolicy   string       `json:"editPolicy,omitzero" enum:"ask,review,collect,auto,confirm" doc:"Edit policy of this mode."`
	Permissions  *Permissions `json:"permissions,omitzero" doc:"Permissions of this mode."`
	Instructions string       `json:"instructions,omitzero" doc:"Text to append to the system prompt in this mode."`
}

// Command is a program with arguments. It runs without a shell.
type Command struct {
	Command   string            `json:"command,omitzero" doc:"Program to run."`
	Args      []string          `json:"args,omitzero" doc:"Arguments of the program."`
	Env       map[string]string `json:"env,omitzero" doc:"Additional environment variables."`
	Cwd       string            `json:"cwd,omitzero" doc:"Working directory, relative to the workspace root."`
	TimeoutMs int               `json:"timeoutMs,omitzero" min:"1" doc:"Time limit in milliseconds. Default: 10,000."`
}

// Hook is a command that runs when an event occurs. It reads JSON from stdin and writes a decision
// to stdout.
type Hook struct {
	Matcher   string            `json:"matcher,omitzero" doc:"For tool hooks: glob of tool names. Default: all tools."`
	Command   string            `json:"command,omitzero" doc:"Program to run."`
	Args      []string          `json:"args,omitzero" doc:"Arguments of the program."`
	Env       map[string]string `json:"env,omitzero" doc:"Additional environment variables."`
	TimeoutMs int               `json:"timeoutMs,omitzero" default:"30000" min:"1" doc:"Time limit in milliseconds."`
}

// Budget limits a turn. Zero means no limit.
type Budget struct {
	Tokens int     `json:"tokens,omitzero" min:"0" doc:"Maximum number of tokens in one turn."`
	Cost   float64 `json:"cost,omitzero" min:"0" doc:"Maximum cost of one turn, in the currency of the prices."`
}

// Retry configures when a failed model call is retried.
type Retry struct {
	MaxRetries     *int `json:"maxRetries,omitzero" default:"3" min:"0" doc:"Maximum number of retries of a model call."`
	InitialDelayMs int  `json:"initialDelayMs,omitzero" default:"1000" min:"1" doc:"Delay before the first retry in milliseconds. The delay doubles with each retry and varies randomly."`
	MaxDelayMs     int  `json:"maxDelayMs,omitzero" default:"60000" min:"1" doc:"Maximum delay in milliseconds, including delays that the provider requests."`
}

// Repair configures the repair of malformed model output.
type Repair struct {
	Normalizer     *bool    `json:"normalizer,omitzero" default:"true" doc:"Whether to repair names, ids and arguments of tool calls."`
	StripANSI      *bool    `json:"stripAnsi,omitzero" default:"true" doc:"Whether to remove terminal escape sequences from the model's text."`
	FallbackParser string   `json:"fallbackParser,omitzero" enum:"auto,on,off" default:"\"auto\"" doc:"Whether to run tool calls that a model wrote as text. auto: only for models without tool support."`
	Validator      []string `json:"validator,omitzero" default:"[\"blank\",\"truncated\"]" doc:"Kinds of bad replies after which the model is asked again: blank, truncated, tentative, repetitive, reasoningOnly."`
}

// Context configures how a long history is reduced to fit the context window.
type Context struct {
	Window   int      `json:"window,omitzero" doc:"Context window in tokens. Default: the size that the provider reports, otherwise the size in the model catalog. Negative: reduce the history only after the provider refuses a request as too long."`
	Reserve  int      `json:"reserve,omitzero" min:"0" doc:"Tokens reserved for the reply, at most a quarter of the window. Default: derived from the window."`
	Trigger  float64  `json:"trigger,omitzero" default:"0.85" min:"0" max:"1" doc:"Fraction of the window above which the history is reduced."`
	Target   float64  `json:"target,omitzero" default:"0.6" min:"0" max:"1" doc:"Fraction of the window to which the history is reduced."`
	Strategy string   `json:"strategy,omitzero" enum:"none,sliding_window,importance,hybrid,adaptive" default:"\"adaptive\"" doc:"Named list of reducers. See docs/reference/context.md."`
	Reducers []string `json:"reducers,omitzero" doc:"Reducers to use instead of a strategy: dedupe, mask, truncate, turn_summaries, summary, importance, drop_turns, emergency."`
	Keep     int      `json:"keepRecent,omitzero" min:"0" doc:"Tokens of the newest messages that turn_summaries, summary and drop_turns leave unchanged. Default: a third of the target, between 2,000 and 20,000."`
	Model    string   `json:"summaryModel,omitzero" doc:"Model that writes summaries. Default: the session's model."`
}

// Memory configures what the agent remembers between sessions.
type Memory struct {
	Enabled    *bool       `json:"enabled,omitzero" default:"true" doc:"Whether to offer the tools remember and recall."`
	Inject     int         `json:"inject,omitzero" default:"0" min:"0" doc:"Maximum number of matching memories to add to each prompt. A memory is not added again unless the context was reduced in the meantime."`
	Embeddings *Embeddings `json:"embeddings,omitzero" doc:"Search by meaning in addition to full-text search."`
}

// Embeddings configures the model that computes embeddings of memories.
type Embeddings struct {
	Model     string `json:"model,omitzero" doc:"Embeddings model of the provider. Default: full-text search only. Memories saved without this model can be found only by full-text search until they are saved again."`
	BaseURL   string `json:"baseUrl,omitzero" doc:"Endpoint for embeddings, if it differs from the provider's endpoint. The provider's key is not sent to it."`
	APIKeyEnv string `json:"apiKeyEnv,omitzero" doc:"Environment variable that contains the API key for baseUrl."`
}

// Project configures which files of a repository are used.
type Project struct {
	Instructions []string `json:"instructions,omitzero" default:"[\"AGENTS.md\"]" doc:"Names of instruction files. In each folder from the workspace root down to the working directory, the first file that exists is used."`
	MaxBytes     int      `json:"maxBytes,omitzero" default:"65536" min:"0" doc:"Maximum total size in bytes of the instruction files. The files nearest to the working directory are kept."`
}

// Retention limits how long stored data is kept and how large it may become. Zero means no limit.
type Retention struct {
	MaxAgeDays *int   `json:"maxAgeDays,omitzero" default:"90" min:"0" doc:"Maximum age in days. 0: no limit."`
	MaxBytes   *int64 `json:"maxBytes,omitzero" default:"1073741824" min:"0" doc:"Maximum size in bytes for one workspace. The oldest entries are removed first. 0: no limit."`
}

// MCP configures one MCP server.
type MCP struct {
	Type      string            `json:"type,omitzero" enum:"stdio,http,streamable-http" doc:"Transport of the server. Default: stdio if it has a command, http if it has a URL."`
	Command   string            `json:"command,omitzero" doc:"Program that starts a stdio server."`
	Args      []string          `json:"args,omitzero" doc:"Arguments of a stdio server."`
	Env       map[string]string `json:"env,omitzero" doc:"Environment variables of a stdio server. ${NAME} is replaced by the value of the environment variable NAME."`
	Cwd       string            `json:"cwd,omitzero" doc:"Working directory of a stdio server. Default: the workspace root. A relative path is relative to the workspace root."`
	URL       string            `json:"url,omitzero" doc:"Address of an HTTP server."`
	Headers   map[string]string `json:"headers,omitzero" doc:"HTTP headers. ${NAME} is replaced by the value of the environment variable NAME."`
	Disabled  bool              `json:"disabled,omitzero" doc:"Do not start this server."`
	Tools     *ToolFilter       `json:"tools,omitzero" doc:"Which of the server's tools to offer."`
	TimeoutMs int               `json:"timeoutMs,omitzero" default:"300000" min:"1" doc:"Time limit of one call in milliseconds."`
}

// LSP configures one language server that the daemon may start.
type LSP struct {
	Command               string            `json:"command,omitzero" doc:"Program to run."`
	Args                  []string          `json:"args,omitzero" doc:"Arguments of the program."`
	Env                   map[string]string `json:"env,omitzero" doc:"Additional environment variables."`
	Extensions            []string          `json:"extensions,omitzero" doc:"File name extensions that the server handles, with the dot."`
	LanguageID            string            `json:"languageId,omitzero" doc:"Language id sent to the server. Default: chosen by extension."`
	RootMarkers           []string          `json:"rootMarkers,omitzero" doc:"Files that mark a project root, such as go.mod."`
	InitializationOptions json.RawMessage   `json:"initializationOptions,omitzero" doc:"Options sent with initialize."`
	Settings              json.RawMessage   `json:"settings,omitzero" doc:"Settings to return for workspace/configuration requests."`
	Disabled              bool              `json:"disabled,omitzero" doc:"Do not start this server, even if it is in the built-in table."`
}

// Diagnostics configures which diagnostics the model gets after an edit.
type Diagnostics struct {
	AfterEdit *bool `json:"afterEdit,omitzero" default:"true" doc:"Whether to add new diagnostics to the result of an edit."`
	WaitMs    int   `json:"waitMs,omitzero" default:"3000" min:"0" doc:"Maximum time to wait for diagnostics in milliseconds."`
}

// Agent is a sub-agent that the model can call. It can also be written as Markdown in
// .agent-lsp/agents.
type Agent struct {
	Name          string       `json:"name,omitzero" doc:"Name by which the model calls the agent."`
	Description   string       `json:"description,omitzero" doc:"Description of the agent for the model."`
	Prompt        string       `json:"prompt,omitzero" doc:"The agent's instructions."`
	Model         string       `json:"model,omitzero" doc:"The agent's model. Default: the parent's model."`
	Thinking      string       `json:"thinking,omitzero" enum:"off,minimal,low,medium,high,xhigh" doc:"The agent's thinking level."`
	Tools         []string     `json:"tools,omitzero" doc:"The agent's tools (names or globs), limited to the parent's tools. Default: all of them."`
	Permissions   *Permissions `json:"permissions,omitzero" doc:"The agent's permissions, limited to the parent's permissions."`
	MaxModelCalls int          `json:"maxModelCalls,omitzero" doc:"Maximum number of the agent's model calls. Default: the parent's limit."`
}

// Subagents limits sub-agents.
type Subagents struct {
	MaxDepth    int `json:"maxDepth,omitzero" default:"2" min:"1" doc:"Maximum nesting depth of sub-agents."`
	MaxTasks    int `json:"maxTasks,omitzero" default:"8" min:"1" doc:"Maximum number of tasks in one call."`
	Concurrency int `json:"concurrency,omitzero" default:"4" min:"1" doc:"Maximum number of tasks that run in parallel."`
}

// Check is a command that runs after edits.
type Check struct {
	Command   string   `json:"command,omitzero" doc:"Command line that the shell runs in the workspace root after an edit. ${files} is replaced by the changed files."`
	Files     []string `json:"files,omitzero" doc:"Globs of the files whose changes trigger the command. Default: all files."`
	TimeoutMs int      `json:"timeoutMs,omitzero" default:"60000" min:"1" doc:"Time limit in milliseconds."`
}

// WebSearch configures the endpoint of the web_search tool.
type WebSearch struct {
	URL       string            `json:"url,omitzero" doc:"URL of an endpoint that returns JSON. {query} in the URL is replaced by the search query. If the URL has no {query}, the search query is sent as the parameter q."`
	APIKeyEnv string            `json:"apiKeyEnv,omitzero" doc:"Environment variable whose value is sent as a bearer token."`
	Headers   map[string]string `json:"headers,omitzero" doc:"HTTP headers. ${NAME} is replaced by the value of the environment variable NAME."`
}

// Fetch configures the fetch tool.
type Fetch struct {
	Enabled   *bool    `json:"enabled,omitzero" default:"false" doc:"Whether to offer the fetch tool."`
	Hosts     []string `json:"hosts,omitzero" doc:"Hosts (globs) that the tool may connect to. Default: all public hosts."`
	MaxBytes  int      `json:"maxBytes,omitzero" default:"5000000" min:"1" doc:"Maximum size of a response in bytes."`
	TimeoutMs int      `json:"timeoutMs,omitzero" default:"30000" min:"1" doc:"Time limit in milliseconds."`
}

// Shell configures how commands run.
type Shell struct {
	Program      string   `json:"program,omitzero" doc:"Shell that runs commands. Default: bash if it is available, otherwise sh. On Windows: sh if it is available, otherwise PowerShell."`
	TimeoutMs    int      `json:"timeoutMs,omitzero" default:"120000" min:"1" doc:"Default time limit of a command in milliseconds."`
	MaxTimeoutMs int      `json:"maxTimeoutMs,omitzero" default:"600000" min:"1" doc:"Maximum time limit that a command may request, in milliseconds."`
	PassEnv      []string `json:"passEnv,omitzero" doc:"Old name of environment.pass. Both lists apply."`
}

// Network lists hosts. For any other host, the permission rules and the profile apply.
type Network struct {
	Allow []string `json:"allow,omitzero" doc:"Hosts that may be reached without asking: names, globs such as *.example.org, IP addresses, or ranges such as 10.0.0.0/8. An address of this machine or a private network is reachable only if an address or range in this list contains it."`
	Deny  []string `json:"deny,omitzero" doc:"Hosts, globs, addresses or ranges that are never reachable. This list overrides network.allow and the user's answers."`
}

// ChildEnvironment configures which variables child processes inherit.
type ChildEnvironment struct {
	Pass []string `json:"pass,omitzero" doc:"Names of additional environment variables that commands, MCP servers, hooks and language servers inherit. They always inherit PATH and the locale and, except for read-only commands, HOME and the variables that locate toolchains."`
}

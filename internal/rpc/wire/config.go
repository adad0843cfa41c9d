package wire

import "encoding/json"

// Config is the one shape of all settings (protocol section 1), in every layer and per
// session. A nil pointer or an empty value means "not set here"; internal/settings merges
// the layers. The tags doc, default, enum and min are the source of docs/configuration.md
// and of the JSON Schema.
//
// Config holds no secret: keys stand in environment variables or come from a command.
type Config struct {
	Model           string             `json:"model,omitzero" doc:"Id of the model. Without it gpt-5 is used where the provider lists it, else the first model that it lists for conversations."`
	FallbackModels  []string           `json:"fallbackModels,omitzero" doc:"Models tried in order when the first cannot answer for a reason that another one may heal."`
	Provider        *Provider          `json:"provider,omitzero" doc:"The OpenAI-compatible endpoint that answers."`
	Windows         map[string]int     `json:"windows,omitzero" doc:"Context windows in tokens by model id or glob, over the built-in table."`
	Prices          map[string]Price   `json:"prices,omitzero" doc:"Prices by model id or glob, over the built-in table."`
	Sampling        *Sampling          `json:"sampling,omitzero" doc:"Sampling parameters. What is 0 or absent is not sent."`
	Thinking        string             `json:"thinking,omitzero" enum:"off,minimal,low,medium,high,xhigh" doc:"How much the model thinks. Absent leaves it to the provider."`
	ThinkingBudgets map[string]int     `json:"thinkingBudgets,omitzero" doc:"Tokens for thinking, by level."`
	ToolChoice      string             `json:"toolChoice,omitzero" doc:"auto, none, required, or the name of a tool that must be called."`
	CacheKey        string             `json:"cacheKey,omitzero" doc:"Key of the provider's prompt cache. Absent: one per session."`
	SystemPrompt    string             `json:"systemPrompt,omitzero" doc:"Replaces the built-in system prompt."`
	Instructions    string             `json:"instructions,omitzero" doc:"Added to the system prompt."`
	Tools           *Tools             `json:"tools,omitzero" doc:"Which tools the model gets."`
	EditPolicy      string             `json:"editPolicy,omitzero" enum:"ask,review,collect,auto,confirm" default:"\"ask\"" doc:"What happens with an edit: ask waits for each hunk, review applies at once and keeps the hunks to decide, collect gathers without applying, auto applies, confirm uses the editor's own confirmation."`
	Permissions     *Permissions       `json:"permissions,omitzero" doc:"What commands and tools may do without asking."`
	Sandbox         string             `json:"sandbox,omitzero" enum:"auto,require,off" default:"\"auto\"" doc:"Whether commands run in the system's sandbox: where there is one, always (else they are refused), or never."`
	SandboxPaths    []string           `json:"sandboxPaths,omitzero" doc:"More folders that commands in the sandbox may write to, such as build caches."`
	Mode            string             `json:"mode,omitzero" doc:"Name of the mode that is in force, such as plan."`
	Modes           map[string]Mode    `json:"modes,omitzero" doc:"Named sets of model, tools, policies and prompt."`
	Hooks           map[string][]Hook  `json:"hooks,omitzero" doc:"Commands to run at points of the loop, by point; docs/hooks.md says what each reads and may decide."`
	MaxModelCalls   int                `json:"maxModelCalls,omitzero" default:"200" doc:"Model calls in one turn. Negative: no limit."`
	Budget          *Budget            `json:"budget,omitzero" doc:"Limits of one turn, its sub-agents included; what is spent beyond ends it at the next boundary."`
	ToolTimeoutMs   int                `json:"toolTimeoutMs,omitzero" default:"600000" min:"1" doc:"Time limit for one tool call in milliseconds; a shorter limit of the tool itself comes first. Waiting for the user is not counted."`
	MaxToolResult   int                `json:"maxToolResultBytes,omitzero" default:"51200" min:"1000" doc:"Bytes of a tool's result that the model gets; head and tail are kept, the whole stands in a file."`
	Retry           *Retry             `json:"retry,omitzero" doc:"When a failed model call is tried again."`
	Repair          *Repair            `json:"repair,omitzero" doc:"Mending of what models send."`
	SteeringMode    string             `json:"steeringMode,omitzero" enum:"all,oneAtATime" default:"\"all\"" doc:"Whether all waiting steering messages are delivered together."`
	FollowUpMode    string             `json:"followUpMode,omitzero" enum:"all,oneAtATime" default:"\"oneAtATime\"" doc:"Whether all waiting follow-ups start one turn together."`
	MaxQueue        int                `json:"maxQueue,omitzero" default:"100" min:"1" doc:"Messages that may wait in one session."`
	Context         *Context           `json:"context,omitzero" doc:"How a long history is fitted into the model's window."`
	Memory          *Memory            `json:"memory,omitzero" doc:"What the agent remembers between sessions."`
	Project         *Project           `json:"project,omitzero" doc:"Instructions, commands and agents that a repository brings along."`
	Sessions        *Retention         `json:"sessions,omitzero" doc:"How long stored sessions are kept."`
	Checkpoints     *Retention         `json:"checkpoints,omitzero" doc:"How long checkpoints of files are kept."`
	MCPServers      map[string]MCP     `json:"mcpServers,omitzero" doc:"MCP servers by name, in the shape that other clients use."`
	LanguageServers map[string]LSP     `json:"languageServers,omitzero" doc:"Language servers that the daemon starts itself where the editor does not answer, by name, over the built-in table."`
	Diagnostics     *Diagnostics       `json:"diagnostics,omitzero" doc:"Diagnostics after an edit."`
	Agents          []Agent            `json:"agents,omitzero" doc:"Sub-agents that the model can call."`
	Subagents       *Subagents         `json:"subagents,omitzero" doc:"Limits of sub-agents."`
	AIComments      string             `json:"aiComments,omitzero" enum:"off,save" default:"\"off\"" doc:"Whether saving a file prompts with its comments that end in AI! (do it) or AI? (answer it)."`
	Follow          bool               `json:"follow,omitzero" doc:"Whether an editor with the plugin shows the files that the agent looks at and changes; the focus stays where it is."`
	Check           *Check             `json:"check,omitzero" doc:"A command that runs after edits; what it prints goes to the model."`
	Formatters      map[string]Command `json:"formatters,omitzero" doc:"Formatters by glob of file names; they read a file's text on stdin and print it formatted."`
	WebSearch       *WebSearch         `json:"webSearch,omitzero" doc:"The endpoint of the web_search tool. Without it there is no such tool."`
	Fetch           *Fetch             `json:"fetch,omitzero" doc:"The fetch tool."`
	Shell           *Shell             `json:"shell,omitzero" doc:"How commands run."`
}

// Provider names an OpenAI-compatible endpoint and where its key comes from.
type Provider struct {
	BaseURL       string            `json:"baseUrl,omitzero" doc:"Base URL, such as https://api.openai.com/v1."`
	APIKeyEnv     string            `json:"apiKeyEnv,omitzero" doc:"Environment variable that holds the key. Default: OPENAI_API_KEY."`
	APIKeyCommand []string          `json:"apiKeyCommand,omitzero" doc:"Command that prints the key, as an argument list; asked before each call, kept for a minute; asked anew once when the provider refuses what was kept."`
	Headers       map[string]string `json:"headers,omitzero" doc:"More HTTP headers. ${NAME} is replaced from the environment."`
	Query         map[string]string `json:"query,omitzero" doc:"More query parameters, such as api-version."`
	Organization  string            `json:"organization,omitzero" doc:"OpenAI organization id."`
	API           string            `json:"api,omitzero" enum:"chat,responses" default:"\"chat\"" doc:"Which API of the provider is used."`
	DeferLoading  *bool             `json:"deferLoading,omitzero" doc:"Whether the responses API of the provider knows tool_search and defer_loading, for tools that are loaded on demand. Absent: OpenAI itself from gpt-5.4 on."`
	Stream        *bool             `json:"stream,omitzero" default:"true" doc:"Whether replies are streamed."`
	IdleTimeoutMs int               `json:"idleTimeoutMs,omitzero" default:"120000" min:"1" doc:"Silence of a stream after which the call counts as failed, in milliseconds."`
	Probe         *bool             `json:"probe,omitzero" default:"true" doc:"Whether a local server is looked for on the usual loopback ports when nothing is set."`
}

// Price is what a million tokens cost.
type Price struct {
	Input      float64 `json:"input,omitzero" doc:"Price of a million input tokens."`
	Output     float64 `json:"output,omitzero" doc:"Price of a million output tokens."`
	Cached     float64 `json:"cached,omitzero" doc:"Price of a million input tokens read from the provider's cache."`
	CacheWrite float64 `json:"cacheWrite,omitzero" doc:"Price of a million input tokens written to the provider's cache."`
}

// Sampling holds sampling parameters; zero is not sent.
type Sampling struct {
	MaxTokens         int     `json:"maxTokens,omitzero" min:"0" doc:"Most tokens of a reply. Absent: derived from the model and the free window; OpenAI, Azure, Gemini, Mistral and local servers are left to their own."`
	Temperature       float64 `json:"temperature,omitzero" doc:"Temperature."`
	TopP              float64 `json:"topP,omitzero" doc:"Nucleus sampling."`
	TopK              int     `json:"topK,omitzero" doc:"Top-k sampling, where the provider knows it."`
	MinP              float64 `json:"minP,omitzero" doc:"Min-p sampling, where the provider knows it."`
	PresencePenalty   float64 `json:"presencePenalty,omitzero" doc:"Presence penalty."`
	RepetitionPenalty float64 `json:"repetitionPenalty,omitzero" doc:"Repetition penalty, where the provider knows it."`
}

// Tools chooses the model's tools.
type Tools struct {
	Enable      []string `json:"enable,omitzero" doc:"Only these tools (names or globs), and those that are off by default."`
	Disable     []string `json:"disable,omitzero" doc:"Not these tools (names or globs)."`
	DeferBytes  int      `json:"deferBytes,omitzero" default:"8000" doc:"Bytes of tool descriptions in a request beyond which tools are announced by name only. Negative: never."`
	StopAfter   []string `json:"stopAfter,omitzero" doc:"Tools (names or globs) whose results end the turn without another model call; errors do not."`
	MaxParallel int      `json:"maxParallel,omitzero" default:"8" min:"1" doc:"Read-only calls that run at once."`
}

// ToolFilter chooses among the tools of an MCP server, by the server's own names.
type ToolFilter struct {
	Enable  []string `json:"enable,omitzero" doc:"Only these tools (names or globs)."`
	Disable []string `json:"disable,omitzero" doc:"Not these tools (names or globs)."`
}

// Permissions decides what runs without asking.
type Permissions struct {
	Profile string   `json:"profile,omitzero" enum:"readOnly,ask,workspace,trust" default:"\"ask\"" doc:"readOnly: no edits, only read-only commands; ask: every other command asks; workspace: commands run in the sandbox without asking; trust: nothing asks."`
	Rules   []string `json:"rules,omitzero" doc:"Rules such as \"allow bash(go test *)\", \"deny read(**/secrets/**)\" or \"ask bash(git push*)\". deny wins over ask, ask over allow."`
}

// Mode is a named set of settings that a session can switch to.
type Mode struct {
	Description  string       `json:"description,omitzero" doc:"Shown where a mode is chosen."`
	Model        string       `json:"model,omitzero" doc:"Model of the mode."`
	Thinking     string       `json:"thinking,omitzero" enum:"off,minimal,low,medium,high,xhigh" doc:"Thinking level of the mode."`
	Tools        *Tools       `json:"tools,omitzero" doc:"Tools of the mode."`
	EditPolicy   string       `json:"editPolicy,omitzero" enum:"ask,review,collect,auto,confirm" doc:"Edit policy of the mode."`
	Permissions  *Permissions `json:"permissions,omitzero" doc:"Permissions of the mode."`
	Instructions string       `json:"instructions,omitzero" doc:"Added to the system prompt in the mode."`
}

// Command is a program with arguments; no shell reads it.
type Command struct {
	Command   string            `json:"command,omitzero" doc:"Program."`
	Args      []string          `json:"args,omitzero" doc:"Arguments."`
	Env       map[string]string `json:"env,omitzero" doc:"More environment variables."`
	Cwd       string            `json:"cwd,omitzero" doc:"Working directory, relative to the workspace root."`
	TimeoutMs int               `json:"timeoutMs,omitzero" min:"1" doc:"Time limit in milliseconds."`
}

// Hook is a command at a point of the loop: JSON on stdin, a decision on stdout.
type Hook struct {
	Matcher   string            `json:"matcher,omitzero" doc:"Glob of tool names, for tool hooks. Absent: all."`
	Command   string            `json:"command,omitzero" doc:"Program."`
	Args      []string          `json:"args,omitzero" doc:"Arguments."`
	Env       map[string]string `json:"env,omitzero" doc:"More environment variables."`
	TimeoutMs int               `json:"timeoutMs,omitzero" default:"30000" min:"1" doc:"Time limit in milliseconds."`
}

// Budget limits a turn; zero is no limit.
type Budget struct {
	Tokens int     `json:"tokens,omitzero" min:"0" doc:"Most tokens."`
	Cost   float64 `json:"cost,omitzero" min:"0" doc:"Most money, in the currency of the price table."`
}

// Retry says when a failed model call is tried again.
type Retry struct {
	MaxRetries     *int `json:"maxRetries,omitzero" default:"3" min:"0" doc:"Tries after the first."`
	InitialDelayMs int  `json:"initialDelayMs,omitzero" default:"1000" min:"1" doc:"First delay in milliseconds; doubled each time, with jitter."`
	MaxDelayMs     int  `json:"maxDelayMs,omitzero" default:"60000" min:"1" doc:"Longest delay in milliseconds, also for what the provider asks for."`
}

// Repair switches the parts that mend what models send.
type Repair struct {
	Normalizer     *bool    `json:"normalizer,omitzero" default:"true" doc:"Mends names, ids and arguments of tool calls."`
	StripANSI      *bool    `json:"stripAnsi,omitzero" default:"true" doc:"Takes terminal escapes out of the model's text."`
	FallbackParser string   `json:"fallbackParser,omitzero" enum:"auto,on,off" default:"\"auto\"" doc:"Reads tool calls that a model wrote as text; auto: only for models without tool support."`
	Validator      []string `json:"validator,omitzero" default:"[\"blank\",\"truncated\"]" doc:"Kinds of bad replies that are asked for again: blank, truncated, tentative, repetitive, reasoningOnly."`
}

// Context says how a long history is fitted into the window.
type Context struct {
	Window   int      `json:"window,omitzero" doc:"Context window in tokens. Absent: the provider's word, then the table of models. Negative: never reduce."`
	Reserve  int      `json:"reserve,omitzero" min:"0" doc:"Tokens kept free for the reply; at most a quarter of the window. Absent: derived from the window."`
	Trigger  float64  `json:"trigger,omitzero" default:"0.85" min:"0" max:"1" doc:"Share of the window beyond which the history is reduced."`
	Target   float64  `json:"target,omitzero" default:"0.6" min:"0" max:"1" doc:"Share of the window to which it is reduced."`
	Strategy string   `json:"strategy,omitzero" enum:"none,sliding_window,importance,hybrid,adaptive" default:"\"adaptive\"" doc:"Named list of reducers; docs/context.md says what each holds."`
	Reducers []string `json:"reducers,omitzero" doc:"Reducers in order, instead of a strategy: dedupe, mask, truncate, turn_summaries, summary, importance, drop_turns, emergency."`
	Keep     int      `json:"keepRecent,omitzero" min:"0" doc:"Tokens of the newest messages that summaries and dropping leave alone. Absent: a third of the target, 2,000 to 20,000."`
	Model    string   `json:"summaryModel,omitzero" doc:"Model that writes summaries. Absent: the session's."`
}

// Memory sets what is remembered between sessions.
type Memory struct {
	Enabled    *bool       `json:"enabled,omitzero" default:"true" doc:"Whether the tools remember and recall exist."`
	Inject     int         `json:"inject,omitzero" default:"0" min:"0" doc:"Memories that are told the model with each prompt by themselves: those that fit it best, each once until the context is reduced."`
	Embeddings *Embeddings `json:"embeddings,omitzero" doc:"Search by meaning beside full text."`
}

// Embeddings names the model that embeds memories.
type Embeddings struct {
	Model     string `json:"model,omitzero" doc:"Embeddings model of the provider. Absent: full text only. What was remembered with another model, or none, is found by its words until it is saved again."`
	BaseURL   string `json:"baseUrl,omitzero" doc:"Another endpoint than the provider's. It is not sent the provider's key."`
	APIKeyEnv string `json:"apiKeyEnv,omitzero" doc:"Environment variable that holds the key of that other endpoint."`
}

// Project sets what a repository may bring along.
type Project struct {
	Instructions []string `json:"instructions,omitzero" default:"[\"AGENTS.md\"]" doc:"Names of instruction files; in each folder the first that exists counts, from the root down to the working directory."`
	MaxBytes     int      `json:"maxBytes,omitzero" default:"65536" min:"0" doc:"Most bytes of all instruction files together; the nearest are kept."`
}

// Retention bounds what is stored; zero is no limit.
type Retention struct {
	MaxAgeDays *int   `json:"maxAgeDays,omitzero" default:"90" min:"0" doc:"Age in days beyond which it is removed. 0: never."`
	MaxBytes   *int64 `json:"maxBytes,omitzero" default:"1073741824" min:"0" doc:"Bytes of one workspace beyond which the oldest are removed. 0: never."`
}

// MCP is one MCP server.
type MCP struct {
	Type      string            `json:"type,omitzero" enum:"stdio,http,streamable-http" doc:"How it is reached. Absent: stdio with a command, http with a url."`
	Command   string            `json:"command,omitzero" doc:"Program of a stdio server."`
	Args      []string          `json:"args,omitzero" doc:"Arguments of a stdio server."`
	Env       map[string]string `json:"env,omitzero" doc:"Environment variables of a stdio server. ${NAME} is replaced from the environment."`
	Cwd       string            `json:"cwd,omitzero" doc:"Working directory of a stdio server."`
	URL       string            `json:"url,omitzero" doc:"Address of an HTTP server."`
	Headers   map[string]string `json:"headers,omitzero" doc:"HTTP headers. ${NAME} is replaced from the environment."`
	Disabled  bool              `json:"disabled,omitzero" doc:"Not started."`
	Tools     *ToolFilter       `json:"tools,omitzero" doc:"Which of its tools are offered."`
	TimeoutMs int               `json:"timeoutMs,omitzero" default:"300000" min:"1" doc:"Time for one call in milliseconds."`
}

// LSP is one language server that the daemon may start.
type LSP struct {
	Command               string            `json:"command,omitzero" doc:"Program."`
	Args                  []string          `json:"args,omitzero" doc:"Arguments."`
	Env                   map[string]string `json:"env,omitzero" doc:"More environment variables."`
	Extensions            []string          `json:"extensions,omitzero" doc:"File name extensions with their dot."`
	LanguageID            string            `json:"languageId,omitzero" doc:"Language id sent to the server. Absent: by extension."`
	RootMarkers           []string          `json:"rootMarkers,omitzero" doc:"Files that mark a root, such as go.mod."`
	InitializationOptions json.RawMessage   `json:"initializationOptions,omitzero" doc:"Sent with initialize."`
	Settings              json.RawMessage   `json:"settings,omitzero" doc:"Answer to workspace/configuration."`
	Disabled              bool              `json:"disabled,omitzero" doc:"Not started, also where the built-in table has it."`
}

// Diagnostics sets what the model is told after an edit.
type Diagnostics struct {
	AfterEdit *bool `json:"afterEdit,omitzero" default:"true" doc:"Whether new diagnostics go into the result of an edit."`
	WaitMs    int   `json:"waitMs,omitzero" default:"3000" min:"0" doc:"Longest wait for them in milliseconds."`
}

// Agent is a sub-agent that the model can call; also written as Markdown in .agent-lsp/agents.
type Agent struct {
	Name          string       `json:"name,omitzero" doc:"Name by which it is called."`
	Description   string       `json:"description,omitzero" doc:"What the model is told of it."`
	Prompt        string       `json:"prompt,omitzero" doc:"Its instructions."`
	Model         string       `json:"model,omitzero" doc:"Its model. Absent: the parent's."`
	Thinking      string       `json:"thinking,omitzero" enum:"off,minimal,low,medium,high,xhigh" doc:"Its thinking level."`
	Tools         []string     `json:"tools,omitzero" doc:"Its tools (names or globs), at most the parent's. Absent: all of them."`
	Permissions   *Permissions `json:"permissions,omitzero" doc:"Its permissions, at most the parent's."`
	MaxModelCalls int          `json:"maxModelCalls,omitzero" doc:"Its model calls. Absent: the parent's limit."`
}

// Subagents bounds sub-agents.
type Subagents struct {
	MaxDepth    int `json:"maxDepth,omitzero" default:"2" min:"1" doc:"How deep sub-agents may call sub-agents."`
	MaxTasks    int `json:"maxTasks,omitzero" default:"8" min:"1" doc:"Tasks of one parallel call."`
	Concurrency int `json:"concurrency,omitzero" default:"4" min:"1" doc:"Tasks that run at once."`
}

// Check is a command that runs after edits.
type Check struct {
	Command   string   `json:"command,omitzero" doc:"Command line, run by the shell in the workspace root. ${files} is replaced by the changed files."`
	Files     []string `json:"files,omitzero" doc:"Globs of files after whose change it runs. Absent: all."`
	TimeoutMs int      `json:"timeoutMs,omitzero" default:"60000" min:"1" doc:"Time limit in milliseconds."`
}

// WebSearch names the endpoint of the web_search tool.
type WebSearch struct {
	URL       string            `json:"url,omitzero" doc:"Address; {query} is replaced by the query, else it is sent as parameter q. It answers JSON."`
	APIKeyEnv string            `json:"apiKeyEnv,omitzero" doc:"Environment variable whose value is sent as a bearer token."`
	Headers   map[string]string `json:"headers,omitzero" doc:"HTTP headers. ${NAME} is replaced from the environment."`
}

// Fetch sets the fetch tool.
type Fetch struct {
	Enabled   *bool    `json:"enabled,omitzero" default:"false" doc:"Whether the fetch tool exists."`
	Hosts     []string `json:"hosts,omitzero" doc:"Hosts (globs) that it may reach. Absent: all public ones."`
	MaxBytes  int      `json:"maxBytes,omitzero" default:"5000000" min:"1" doc:"Most bytes of an answer."`
	TimeoutMs int      `json:"timeoutMs,omitzero" default:"30000" min:"1" doc:"Time limit in milliseconds."`
}

// Shell sets how commands run.
type Shell struct {
	Program      string   `json:"program,omitzero" doc:"Shell that runs commands. Absent: the system's."`
	TimeoutMs    int      `json:"timeoutMs,omitzero" default:"120000" min:"1" doc:"Time for a command that names none, in milliseconds."`
	MaxTimeoutMs int      `json:"maxTimeoutMs,omitzero" default:"600000" min:"1" doc:"Most time that a command may ask for, in milliseconds."`
	PassEnv      []string `json:"passEnv,omitzero" doc:"Variables that are passed on although their names look like secrets."`
}

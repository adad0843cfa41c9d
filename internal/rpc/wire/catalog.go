package wire

import (
	"encoding/json"
	"time"
)

// ModelsParams asks for the models. Test is a model reference: that model gets a request of one
// word.
type ModelsParams struct {
	Provider string `json:"provider,omitzero"` // only its models, and its error if it lists none
	Test     string `json:"test,omitzero"`
}

// ModelsResult lists the models of all providers that can be used.
type ModelsResult struct {
	Models []Model    `json:"models"`
	Test   *ModelTest `json:"test,omitzero"`
}

// ModelTest is the result of a test request.
type ModelTest struct {
	OK        bool   `json:"ok"`
	LatencyMs int    `json:"latencyMs,omitzero"` // until the whole reply was there
	Error     string `json:"error,omitzero"`     // a sentence
}

// Model is one model; absent facts are unknown.
type Model struct {
	ID            string     `json:"id"`       // usable as a model reference
	Provider      string     `json:"provider"` // its name, or the host
	Name          string     `json:"name,omitzero"`
	ContextWindow int        `json:"contextWindow,omitzero"` // tokens
	MaxOutput     int        `json:"maxOutput,omitzero"`     // tokens
	Vision        *bool      `json:"vision,omitzero"`
	Tools         *bool      `json:"tools,omitzero"`
	Thinking      []string   `json:"thinking,omitzero"` // levels
	Cost          *ModelCost `json:"cost,omitzero"`
	Source        string     `json:"source" enum:"server,catalog,settings"` // of the figures
}

// ModelCost is the price of a model in US dollars per million tokens.
type ModelCost struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead,omitzero"`
	CacheWrite float64 `json:"cacheWrite,omitzero"`
}

// ToolsListResult lists the tools that the model has.
type ToolsListResult struct {
	Tools []Tool `json:"tools"`
}

// Tool describes one tool.
type Tool struct {
	Name        string          `json:"name"`
	Label       string          `json:"label"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"`
	Effect      string          `json:"effect" enum:"read_only,mutates,dangerous"`
	Source      string          `json:"source"`
	Deferred    bool            `json:"deferred,omitzero"`
}

// CommandListResult lists slash commands and prompt templates.
type CommandListResult struct {
	Commands []SlashCommand `json:"commands"`
}

// SlashCommand is a template that a prompt may begin with, as /name.
type SlashCommand struct {
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
	Hint        string `json:"hint,omitzero"`
	Source      string `json:"source,omitzero"`
}

// StatusResult tells how the daemon stands.
type StatusResult struct {
	Version  string          `json:"version"`
	PID      int             `json:"pid"`
	Provider ProviderStatus  `json:"provider"`
	Sandbox  string          `json:"sandbox"`
	Sessions []SessionStatus `json:"sessions"`
	Usage    Usage           `json:"usage"`
}

// ProviderStatus tells which provider is in use; never a key.
type ProviderStatus struct {
	Configured bool   `json:"configured"`
	BaseURL    string `json:"baseUrl,omitzero"`
	Model      string `json:"model,omitzero"`
	// what named it: settings, environment, detected, script
	Source string `json:"source,omitzero"`
	Hint   string `json:"hint,omitzero"`
}

// SessionStatus is a loaded session in short.
type SessionStatus struct {
	SessionID string `json:"sessionId"`
	Title     string `json:"title"`
	Status    string `json:"status" enum:"idle,running,awaiting,paused"`
	TurnID    string `json:"turnId,omitzero"`
}

// FilesSearchParams finds files by a part of their path.
type FilesSearchParams struct {
	Query string `json:"query"`
	Limit int    `json:"limit,omitzero"`
}

// FilesSearchResult lists files, best first.
type FilesSearchResult struct {
	Files []FileMatch `json:"files"`
}

// FileMatch is one found file.
type FileMatch struct {
	URI   string  `json:"uri"`
	Score float64 `json:"score"`
}

// JobListResult lists background commands and sub-agents of a session.
type JobListResult struct {
	Jobs []Job `json:"jobs"`
}

// Job is a background command or sub-agent.
type Job struct {
	JobID     string    `json:"jobId"`
	Kind      string    `json:"kind" enum:"command,agent"`
	Title     string    `json:"title"`
	Status    string    `json:"status" enum:"running,completed,failed,killed"`
	ExitCode  *int      `json:"exitCode,omitzero"`
	StartedAt time.Time `json:"startedAt"`
}

// JobParams names a job.
type JobParams struct {
	JobID string `json:"jobId"`
}

// JobReadResult is a job's output so far.
type JobReadResult struct {
	Output string `json:"output"`
	Status string `json:"status" enum:"running,completed,failed,killed"`
}

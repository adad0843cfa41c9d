package wire

import (
	"encoding/json"
	"time"
)

// ModelsParams requests the models. If Test is set, it is a model reference, and the server sends a
// one-word request to that model.
type ModelsParams struct {
	// Provider limits the list to the models of one provider. If listing them fails, the request
	// returns the provider's error.
	Provider string `json:"provider,omitzero"`
	Test     string `json:"test,omitzero"`
}

// ModelsResult lists the models of all usable providers, or of the provider in the request.
type ModelsResult struct {
	Models []Model    `json:"models"`
	Test   *ModelTest `json:"test,omitzero"`
}

// ModelTest is the result of a test request.
type ModelTest struct {
	OK        bool   `json:"ok"`
	LatencyMs int    `json:"latencyMs,omitzero"` // time until the complete reply arrived
	Error     string `json:"error,omitzero"`     // a sentence
}

// Model is one model. Absent properties are unknown.
type Model struct {
	ID            string     `json:"id"`       // can be used as a model reference
	Provider      string     `json:"provider"` // name of the provider, or else its host
	Name          string     `json:"name,omitzero"`
	ContextWindow int        `json:"contextWindow,omitzero"` // tokens
	MaxOutput     int        `json:"maxOutput,omitzero"`     // tokens
	Vision        *bool      `json:"vision,omitzero"`
	Tools         *bool      `json:"tools,omitzero"`
	Thinking      []string   `json:"thinking,omitzero" enum:"off,minimal,low,medium,high,xhigh"`
	Cost          *ModelCost `json:"cost,omitzero"`
	Source        string     `json:"source" enum:"server,catalog,settings"` // source of the numbers
}

// ModelCost contains the prices of a model in US dollars per million tokens.
type ModelCost struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead,omitzero"`
	CacheWrite float64 `json:"cacheWrite,omitzero"`
}

// ToolsListResult lists the tools that are available to the model.
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

// SlashCommand is a template that a prompt uses by starting with /name.
type SlashCommand struct {
	Name        string `json:"name"`
	Description string `json:"description,omitzero"`
	Hint        string `json:"hint,omitzero"`
	Source      string `json:"source,omitzero"`
}

// StatusResult describes the state of the daemon.
type StatusResult struct {
	Version  string          `json:"version"`
	PID      int             `json:"pid"`
	Provider ProviderStatus  `json:"provider"`
	Sandbox  string          `json:"sandbox"`
	Sessions []SessionStatus `json:"sessions"`
	Usage    Usage           `json:"usage"`
}

// ProviderStatus describes the provider in use. It never contains a key.
type ProviderStatus struct {
	Configured bool   `json:"configured"`
	BaseURL    string `json:"baseUrl,omitzero"`
	Model      string `json:"model,omitzero"`
	// Source is where the provider was configured: settings, environment, detected or script.
	Source string `json:"source,omitzero"`
	Hint   string `json:"hint,omitzero"`
}

// SessionStatus is a summary of a loaded session.
type SessionStatus struct {
	SessionID string `json:"sessionId"`
	Title     string `json:"title"`
	Status    string `json:"status" enum:"idle,running,awaiting,paused"`
	TurnID    string `json:"turnId,omitzero"`
}

// FilesSearchParams searches for files by part of their path.
type FilesSearchParams struct {
	Query string `json:"query"`
	Limit int    `json:"limit,omitzero"`
}

// FilesSearchResult lists files, best first.
type FilesSearchResult struct {
	Files []FileMatch `json:"files"`
}

// FileMatch is one matching file.
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

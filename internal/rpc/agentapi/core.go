package agentapi

import (
	"context"
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// Init is what a client sent when it connected.
type Init struct {
	Editor host.Editor
	Roots  []string // URIs or absolute paths
	// WholeFolders means that the client has asked its user about each folder that is
	// unlikely to be a workspace.
	WholeFolders bool
	// InitializationOptions is the client's Config as it was sent, or nil.
	InitializationOptions json.RawMessage
}

// Core answers a connection's requests. Host, Workspace, Library and Settings are required. A nil
// function or interface means that the component does not exist: its requests return an empty list
// or an error that reports this.
type Core struct {
	// Host holds the sessions. It was created with this Workspace, Library and Settings.
	Host *host.Host
	// Workspace must have been created with the client's Editor as Client, Host.ProposalChanged as
	// OnProposal and Editor.Notice as OnNotice. The front end sets its encoding and roots.
	Workspace *workspace.Workspace
	Library   *session.Library
	Settings  Settings
	// Ready is called before a message may start a turn in an idle session. Its error refuses the
	// message. It must be fast. model is the reference in the message, or "" for the model of the
	// settings. nil: always ready.
	Ready func(sessionID, model string) error
	// Secrets decides which attachments ask first. nil: none does.
	Secrets Secrets
	// FoldersChanged is called after the workspace folders have changed. It must not block. It may
	// be nil.
	FoldersChanged func()

	// Models lists the models of the named provider or, if provider is "", of all usable providers.
	Models func(ctx context.Context, provider string) ([]wire.Model, error)
	// TestModel sends a one-word request to a model. nil: models cannot be tested.
	TestModel func(ctx context.Context, ref string) wire.ModelTest
	Tools     func(ctx context.Context) ([]wire.Tool, error)
	Commands  func(ctx context.Context) ([]wire.SlashCommand, error)
	// Expand expands a prompt that begins with /name to what the model receives. ok is false if the
	// prompt is not a command.
	Expand func(ctx context.Context, sessionID, text string) (expanded string, ok bool)
	Status func() (provider wire.ProviderStatus, sandbox string)
	Files  func(ctx context.Context, query string, limit int) ([]wire.FileMatch, error)
	Memory Memory
	Grants Grants
	Jobs   Jobs
	Agents Agents

	// Close releases what Core holds. It is called once, after every session was closed.
	Close func(ctx context.Context) error

	// ViewDir is the folder for transcripts and diffs, for editors that can only show files.
	ViewDir string
}

// Settings merges the layers of configuration.
type Settings interface {
	host.Settings
	// ClientChanged applies the settings from workspace/didChangeConfiguration (the section
	// agentLsp).
	ClientChanged(settings json.RawMessage) (notices []string, err error)
}

// Secrets knows the files that usually hold secrets. The next step of a session that was sent one
// asks the user before the model gets it (Withheld).
type Secrets interface {
	// Secret reports whether the file at an absolute path is one.
	Secret(path string) bool
	// Withhold keeps an attachment's text that the client sent, until the user has answered. files
	// are the secret files that its URI means.
	Withhold(sessionID string, b message.Block, files []string)
}

// Memory stores entries across sessions. ErrNotFound reports an unknown key.
type Memory interface {
	Save(ctx context.Context, p wire.MemorySaveParams) error
	Get(ctx context.Context, key, scope string) (wire.MemoryEntry, error)
	Search(ctx context.Context, p wire.MemorySearchParams) ([]wire.MemoryEntry, error)
	Delete(ctx context.Context, key, scope string) error
}

// Grants are the permissions that were given for longer than once. ErrNotFound reports an unknown
// grant.
type Grants interface {
	List() []wire.Grant
	Revoke(grantID string) error
}

// Jobs are background commands and sub-agents. ErrNotFound reports an unknown job.
type Jobs interface {
	List(sessionID string) []wire.Job
	Read(jobID string) (output, status string, err error)
	Kill(jobID string) error
}

// Agents finds a running sub-agent by the item of its tool call. ErrNotFound reports an unknown
// one.
type Agents interface {
	Steer(sessionID, itemID string, r agent.SteerRequest) (agent.SteerOutcome, error)
	Abort(sessionID, itemID string, silent bool) (state string, err error)
}

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

// Init contains the values that a client sent when it connected.
type Init struct {
	Editor host.Editor
	Roots  []string // as URIs or absolute paths
	// WholeFolders means that the client has already asked the user about each of the Roots that
	// is unlikely to be a workspace.
	WholeFolders bool
	// InitializationOptions is the client's Config as it was sent, or nil.
	InitializationOptions json.RawMessage
}

// Core answers a connection's requests. Host, Workspace, Library and Settings are required. A nil
// function or interface means that the component does not exist. Requests for the component then
// return an empty list or an error.
type Core struct {
	// Host holds the sessions. It was created with this Workspace, Library and Settings.
	Host *host.Host
	// Workspace must have been created with the client's Editor as Client, Host.ProposalChanged as
	// OnProposal and Editor.Notice as OnNotice. The front end sets its encoding and roots.
	Workspace *workspace.Workspace
	Library   *session.Library
	Settings  Settings
	// Ready is called before a message may start a turn in an idle session. If it returns an error,
	// the message is refused with this error. It must be fast. model is the reference in the
	// message, or "" for the model of the settings. If Ready is nil, a turn may always start.
	Ready func(sessionID, model string) error
	// Secrets decides which attachments require a question. If it is nil, no attachment does.
	Secrets Secrets
	// FoldersChanged is called after the workspace folders have changed. It must not block. It may
	// be nil.
	FoldersChanged func()

	// Models lists the models of the named provider or, if provider is "", of all usable providers.
	Models func(ctx context.Context, provider string) ([]wire.Model, error)
	// TestModel sends a one-word request to a model. If it is nil, models cannot be tested.
	TestModel func(ctx context.Context, ref string) wire.ModelTest
	Tools     func(ctx context.Context) ([]wire.Tool, error)
	Commands  func(ctx context.Context) ([]wire.SlashCommand, error)
	// Expand expands a prompt that begins with /name to the text that the model receives. ok is
	// false if the prompt is not a command.
	Expand func(ctx context.Context, sessionID, text string) (expanded string, ok bool)
	Status func() (provider wire.ProviderStatus, sandbox string)
	Files  func(ctx context.Context, query string, limit int) ([]wire.FileMatch, error)
	Memory Memory
	Grants Grants
	Jobs   Jobs
	Agents Agents

	// Close releases the resources of Core. It is called once, after every session was closed.
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

// Secrets knows which files usually contain secrets. If a message attaches such a file, the next
// step of the session asks the user before the model gets the file (Withheld).
type Secrets interface {
	// Secret reports whether the file at an absolute path usually contains secrets.
	Secret(path string) bool
	// Withhold stores an attachment's text that the client sent, until the user has answered. files
	// are the secret files to which the attachment's URI refers.
	Withhold(sessionID string, b message.Block, files []string)
	// Forbidden reports whether a rule of the session denies reading the file at an absolute path,
	// or asks about it.
	Forbidden(sessionID, path string) bool
}

// Memory stores entries across sessions. ErrNotFound reports an unknown key.
type Memory interface {
	Save(ctx context.Context, p wire.MemorySaveParams) error
	Get(ctx context.Context, key, scope string) (wire.MemoryEntry, error)
	Search(ctx context.Context, p wire.MemorySearchParams) ([]wire.MemoryEntry, error)
	Delete(ctx context.Context, key, scope string) error
}

// Grants contains the permissions that the user gave for more than one call. ErrNotFound reports an
// unknown grant.
type Grants interface {
	List() []wire.Grant
	Revoke(grantID string) error
}

// Jobs manages background commands and sub-agents. ErrNotFound reports an unknown job.
type Jobs interface {
	List(sessionID string) []wire.Job
	Read(jobID string) (output, status string, err error)
	Kill(jobID string) error
}

// Agents steers and aborts running sub-agents. A sub-agent is identified by the item of its tool
// call. ErrNotFound reports that there is no such sub-agent.
type Agents interface {
	Steer(sessionID, itemID string, r agent.SteerRequest) (agent.SteerOutcome, error)
	Abort(sessionID, itemID string, silent bool) (state string, err error)
}

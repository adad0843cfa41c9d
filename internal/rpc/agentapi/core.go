package agentapi

import (
	"context"
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// Init is what a client said when it connected.
type Init struct {
	Editor host.Editor
	Roots  []string // URIs or absolute paths
	// InitializationOptions is the client's Config as it sent it, or nil.
	InitializationOptions json.RawMessage
}

// Core is what answers a connection's requests. Host, Workspace, Library and Settings are
// required. A nil function or interface means that the part does not exist; its requests
// answer with an empty list or say so.
type Core struct {
	// Host holds the sessions. It was made with this Workspace, Library and Settings.
	Host *host.Host
	// Workspace must have been made with the client's Editor as Client, Host.ProposalChanged as
	// OnProposal and Editor.Notice as OnNotice. The front end sets its encoding and roots.
	Workspace *workspace.Workspace
	Library   *session.Library
	Settings  Settings
	// Ready is called before a message may start a turn in an idle session. Its error refuses the
	// message. It must be quick. model is the reference that the message asks for, "" that of the
	// settings. nil: always ready.
	Ready func(sessionID, model string) error
	// FoldersChanged is called after the workspace folders have changed. It must not block. nil: no
	// call.
	FoldersChanged func()

	// Models lists the models of the provider with a name, or of all that can be used for "".
	Models func(ctx context.Context, provider string) ([]wire.Model, error)
	// TestModel sends a request of one word to a model. nil: no model can be tested.
	TestModel func(ctx context.Context, ref string) wire.ModelTest
	Tools     func(ctx context.Context) ([]wire.Tool, error)
	Commands  func(ctx context.Context) ([]wire.SlashCommand, error)
	// Expand turns a prompt that begins with /name into what the model gets; ok is false where
	// it is not a command.
	Expand func(ctx context.Context, sessionID, text string) (expanded string, ok bool)
	Status func() (provider wire.ProviderStatus, sandbox string)
	Files  func(ctx context.Context, query string, limit int) ([]wire.FileMatch, error)
	Memory Memory
	Grants Grants
	Jobs   Jobs
	Agents Agents

	// Close ends what Core holds. It is called once, after every session was closed.
	Close func(ctx context.Context) error

	// ViewDir is where transcripts and diffs are written for editors that can only show files.
	ViewDir string
}

// Settings merges the layers of configuration.
type Settings interface {
	host.Settings
	// ClientChanged takes over what workspace/didChangeConfiguration said (the section agentLsp).
	ClientChanged(settings json.RawMessage) (notices []string, err error)
}

// Memory keeps things across sessions. ErrNotFound where there is no such key.
type Memory interface {
	Save(ctx context.Context, p wire.MemorySaveParams) error
	Get(ctx context.Context, key, scope string) (wire.MemoryEntry, error)
	Search(ctx context.Context, p wire.MemorySearchParams) ([]wire.MemoryEntry, error)
	Delete(ctx context.Context, key, scope string) error
}

// Grants are the permissions given for longer than once. ErrNotFound where there is no such grant.
type Grants interface {
	List() []wire.Grant
	Revoke(grantID string) error
}

// Jobs are background commands and sub-agents. ErrNotFound where there is no such job.
type Jobs interface {
	List(sessionID string) []wire.Job
	Read(jobID string) (output, status string, err error)
	Kill(jobID string) error
}

// Agents reach a running sub-agent by the item of its tool call. ErrNotFound where there is none.
type Agents interface {
	Steer(sessionID, itemID string, r agent.SteerRequest) (agent.SteerOutcome, error)
	Abort(sessionID, itemID string, silent bool) (state string, err error)
}

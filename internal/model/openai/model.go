package openai

import (
	"context"
	"net/url"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
)

// DefaultBaseURL is the base URL of OpenAI's own API.
const DefaultBaseURL = "https://api.openai.com/v1"

// The values of Options.API.
const (
	APIChat      = "chat"
	APIResponses = "responses"
)

// Options configures a Model. The zero value means OpenAI's chat API without a key. BaseURL
// includes "/v1". An empty KeyHeader means "api-key" for Azure.
type Options struct {
	modelhttp.Options
	Organization string
	API          string  // APIChat (default) or APIResponses
	Dialect      Dialect // "" means that BaseURL determines it
	// NativeTools reports whether the responses API has OpenAI's tools apply_patch and shell. If it
	// is nil, the endpoint and the model decide.
	NativeTools *bool
}

// Model is one model of one provider. It is safe for concurrent use. Close it when it is no longer
// needed.
type Model struct {
	*modelhttp.Client
	opts    Options
	dialect Dialect
}

var _ agent.Model = (*Model)(nil)

// New returns a Model. It does not access the network. For an https endpoint it starts to load the
// system's certificates in the background.
func New(opts Options) *Model {
	if opts.BaseURL == "" {
		opts.BaseURL = DefaultBaseURL
	}
	opts.EndMark, opts.PathHint = endMark, "most providers' ends in /v1"
	if u, err := url.Parse(opts.BaseURL); err == nil && opts.Dialect == "" {
		opts.Dialect = DialectOf(u)
	}
	if opts.KeyHeader == "" && opts.Dialect == Azure {
		opts.KeyHeader = "api-key"
	}
	client := modelhttp.New(opts.Options)
	opts.Options = client.Options
	return &Model{Client: client, opts: opts, dialect: opts.Dialect}
}

// Info returns the capabilities of the configured model.
func (m *Model) Info() agent.ModelInfo { return m.info(m.opts.Model) }

// Generate makes one call (see agent.Model).
func (m *Model) Generate(
	ctx context.Context,
	req *agent.Request,
	on func(agent.Delta),
) (*agent.Reply, error) {
	return m.Client.Generate(ctx, req, on, func(c *modelhttp.Call) (*agent.Reply, error) {
		return (&call{c, m}).run()
	})
}

// attempt makes a call with run, outside of a conversation.
func attempt[T any](ctx context.Context, m *Model, run func(*call) (T, error)) (T, error) {
	return modelhttp.Attempt(ctx, m.Client, m.opts.Model, func(c *modelhttp.Call) (T, error) {
		return run(&call{c, m})
	})
}

// Models lists the provider's models with the information from the provider and from the catalog.
func (m *Model) Models(ctx context.Context) ([]agent.ModelInfo, error) {
	return attempt(ctx, m, (*call).list)
}

// errNoReply returns the error for an answer that ended normally without a choice.
func errNoReply() error {
	return &retry.Error{
		Kind:    retry.Transient,
		Message: "the provider's answer contains no choice",
		Hint:    retry.Hint(retry.Transient),
	}
}

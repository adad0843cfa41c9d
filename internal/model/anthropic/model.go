package anthropic

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
)

// DefaultBaseURL is the base URL of Anthropic's own API.
const DefaultBaseURL = "https://api.anthropic.com"

// version is the API version, which each request sends as a header.
const version = "2023-06-01"

// Model is one model of one endpoint. It is safe for concurrent use. Close it when it is no longer
// needed.
type Model struct{ *modelhttp.Client }

var _ agent.Model = (*Model)(nil)

// New returns a Model. "/v1/messages" is appended to BaseURL, which may already end in "/v1". New
// does not access the network.
func New(opts modelhttp.Options) *Model {
	opts.BaseURL = cmp.Or(opts.BaseURL, DefaultBaseURL)
	opts.PathHint = `"/v1/messages" is appended to it`
	if u, err := url.Parse(
		opts.BaseURL,
	); err == nil && opts.KeyHeader == "" &&
		!takesBearer(u.Hostname()) {
		opts.KeyHeader = "x-api-key"
	}
	return &Model{modelhttp.New(opts)}
}

// takesBearer reports whether a host expects the key as a bearer token, as Bedrock and Vertex do.
func takesBearer(host string) bool {
	return strings.HasSuffix(host, ".amazonaws.com") || strings.HasSuffix(host, ".googleapis.com")
}

// Info returns the capabilities of the configured model.
func (m *Model) Info() agent.ModelInfo { return m.info(m.Options.Model) }

// maxPauses is the maximum number of times that a paused reply is continued.
const maxPauses = 8

// Generate makes one call (see agent.Model). If the service pauses a reply (pause_turn), Generate
// sends the reply back unchanged until it is complete.
func (m *Model) Generate(
	ctx context.Context,
	req *agent.Request,
	on func(agent.Delta),
) (*agent.Reply, error) {
	reply, err := m.generate(ctx, req, nil, on)
	for range maxPauses {
		if err != nil || reply.Finish != finishPaused {
			break
		}
		var rest *agent.Reply
		if rest, err = m.generate(ctx, req, reply.Message, on); err == nil {
			reply = joined(reply, rest)
		}
	}
	if err != nil {
		return nil, err
	}
	return reply, nil
}

// generate makes one request. paused is the part of the reply that has arrived so far; initially,
// it is nil.
func (m *Model) generate(
	ctx context.Context,
	req *agent.Request,
	paused *message.Message,
	on func(agent.Delta),
) (*agent.Reply, error) {
	return m.Client.Generate(ctx, req, on, func(c *modelhttp.Call) (*agent.Reply, error) {
		return (&call{Call: c, paused: paused}).run()
	})
}

// joined appends the continuation of a paused reply to the reply.
func joined(a, b *agent.Reply) *agent.Reply {
	b.Message.Content = append(slices.Clip(a.Message.Content), b.Message.Content...)
	if u := a.Message.Usage; u != nil && b.Message.Usage != nil {
		*b.Message.Usage = u.Add(*b.Message.Usage)
	}
	if b.Message.Stop == message.StopEnd && len(b.Message.ToolCalls()) > 0 {
		b.Message.Stop = message.StopToolUse
	}
	for _, n := range a.Notices {
		if !slices.Contains(b.Notices, n) {
			b.Notices = append(b.Notices, n)
		}
	}
	for _, n := range a.Lasting {
		if !slices.Contains(b.Lasting, n) {
			b.Lasting = append(b.Lasting, n)
		}
	}
	return b
}

// call is a request in progress.
type call struct {
	*modelhttp.Call
	paused *message.Message

	entries    []entry           // the request's messages
	blockLists [][]byte          // encodings of the sent messages of the history
	loaded     *modelhttp.Loaded // nil if the endpoint does not support deferred tools
	// said contains text that tool searches returned in addition to tools. It is sent after the
	// consecutive tool results.
	said [][]byte
}

func (c *call) run() (*agent.Reply, error) {
	written, err := c.encode()
	if err != nil {
		return nil, err
	}
	c.Body = c.Builder.Body(written)
	a, err := c.send(http.MethodPost, "/messages")
	if err != nil {
		return nil, err
	}
	d := newDecoder(c)
	if a.Whole != nil {
		return d.whole(a.Whole)
	}
	return c.Gather(a.Events.Next, d)
}

// send sends a request to a path below the API version.
func (c *call) send(method, path string) (*modelhttp.Answer, error) {
	return c.SendTo(method, "/v1", path, http.Header{"Anthropic-Version": {version}})
}

// wireModel is an entry of the list of models.
type wireModel struct {
	ID           string         `json:"id"`
	Name         string         `json:"display_name"`
	MaxInput     jsontext.Value `json:"max_input_tokens"`
	MaxTokens    jsontext.Value `json:"max_tokens"`
	Capabilities struct {
		Image *struct {
			Supported bool `json:"supported"`
		} `json:"image_input"`
	} `json:"capabilities"`
}

// Models lists the endpoint's models with the information from the endpoint and from the catalog.
func (m *Model) Models(ctx context.Context) ([]agent.ModelInfo, error) {
	return modelhttp.Attempt(ctx, m.Client, "", func(h *modelhttp.Call) ([]agent.ModelInfo, error) {
		c := &call{Call: h}
		a, err := c.send(http.MethodGet, "/models?limit=1000")
		if err != nil {
			return nil, err
		}
		var list struct {
			Error jsontext.Value `json:"error"`
			Data  []wireModel    `json:"data"`
		}
		if err := c.DecodeWhole(a, &list, &list.Error); err != nil {
			return nil, err
		}
		var out []agent.ModelInfo
		for i := range list.Data {
			if list.Data[i].ID != "" {
				out = append(out, m.listed(&list.Data[i]))
			}
		}
		return out, nil
	})
}

// listed combines the information about a model from the endpoint and from the catalog.
func (m *Model) listed(w *wireModel) agent.ModelInfo {
	r := modelhttp.Report{Name: w.Name, Window: []jsontext.Value{w.MaxInput}, Output: w.MaxTokens}
	if w.Capabilities.Image != nil {
		r.Vision = &w.Capabilities.Image.Supported
	}
	return m.Reported(m.info(w.ID), &r)
}

// Package gemini is the adapter for the Gemini API (generateContent). Start at Model.
package gemini

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
)

// DefaultBaseURL is the base URL of Google's own API.
const DefaultBaseURL = "https://generativelanguage.googleapis.com"

// version is the API version, as part of the path.
const version = "/v1beta"

// Model is one model of one endpoint. It is safe for concurrent use. Close it when it is no longer
// needed.
type Model struct{ *modelhttp.Client }

var _ agent.Model = (*Model)(nil)

// New returns a Model. "/v1beta/models/..." is appended to BaseURL, which may already end in
// "/v1beta". New does not access the network.
func New(opts modelhttp.Options) *Model {
	opts.BaseURL = cmp.Or(opts.BaseURL, DefaultBaseURL)
	opts.PathHint = `"/v1beta/models/..." is appended to it`
	if u, err := url.Parse(opts.BaseURL); err == nil && opts.KeyHeader == "" &&
		!strings.HasSuffix(u.Hostname(), "aiplatform.googleapis.com") {
		opts.KeyHeader = "x-goog-api-key"
	}
	return &Model{modelhttp.New(opts)}
}

// Info returns the capabilities of the configured model.
func (m *Model) Info() agent.ModelInfo { return m.info(m.Options.Model) }

// Generate makes one call (see agent.Model).
func (m *Model) Generate(
	ctx context.Context,
	req *agent.Request,
	on func(agent.Delta),
) (*agent.Reply, error) {
	return m.Client.Generate(ctx, req, on, func(c *modelhttp.Call) (*agent.Reply, error) {
		return (&call{c}).run()
	})
}

// call is a request in progress.
type call struct{ *modelhttp.Call }

func (c *call) run() (*agent.Reply, error) {
	written, err := c.encode()
	if err != nil {
		return nil, err
	}
	c.Body = c.Builder.Body(written)
	method := ":streamGenerateContent?alt=sse"
	if c.Client.Options.NoStream {
		method = ":generateContent"
	}
	name := strings.TrimPrefix(c.Model, "models/")
	a, err := c.send(http.MethodPost, "/models/"+url.PathEscape(name)+method)
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
	return c.SendTo(method, version, path, nil)
}

// wireModel is an entry of the list of models.
type wireModel struct {
	Name    string         `json:"name"`
	Title   string         `json:"displayName"`
	Input   jsontext.Value `json:"inputTokenLimit"`
	Output  jsontext.Value `json:"outputTokenLimit"`
	Methods []string       `json:"supportedGenerationMethods"`
}

// Models lists the endpoint's models that generate content, with the information from the endpoint
// and from the catalog.
func (m *Model) Models(ctx context.Context) ([]agent.ModelInfo, error) {
	return modelhttp.Attempt(ctx, m.Client, "", func(h *modelhttp.Call) ([]agent.ModelInfo, error) {
		c := &call{h}
		a, err := c.send(http.MethodGet, "/models?pageSize=1000")
		if err != nil {
			return nil, err
		}
		var list struct {
			Error  jsontext.Value `json:"error"`
			Models []wireModel    `json:"models"`
		}
		if err := c.DecodeWhole(a, &list, &list.Error); err != nil {
			return nil, err
		}
		var out []agent.ModelInfo
		for i := range list.Models {
			if w := &list.Models[i]; w.generates() {
				out = append(out, m.listed(w))
			}
		}
		return out, nil
	})
}

func (w *wireModel) generates() bool {
	return w.Name != "" && (w.Methods == nil || slices.Contains(w.Methods, "generateContent"))
}

// listed combines the information about a model from the endpoint and from the catalog.
func (m *Model) listed(w *wireModel) agent.ModelInfo {
	return m.Reported(m.info(strings.TrimPrefix(w.Name, "models/")), &modelhttp.Report{
		Name: w.Title, Window: []jsontext.Value{w.Input}, Output: w.Output})
}

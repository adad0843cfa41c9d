package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/config"
)

const (
	// reportTimeout limits the queries to a local server about one model.
	reportTimeout = time.Second
	// reportLifetime is how long a response is cached. The server may later load the model again
	// with another window.
	reportLifetime = time.Minute
	// maxReport is the maximum size of a response in bytes.
	maxReport = 4 << 20
)

// serverReport is a local server's report about a model, in addition to the list of models. Zero
// means unknown.
type serverReport struct {
	Window        int // tokens
	Vision, Tools *bool
	Thinks        bool
}

// reports caches the reports of local servers and refreshes them in the background. It is safe for
// concurrent use.
type reports struct {
	ctx  context.Context // context of background requests; canceled by close
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu     sync.Mutex
	kept   map[string]keptReport // keyed by base URL and model
	asking map[string]bool       // keys of the background requests that are running
}

func newReports() *reports {
	r := &reports{kept: map[string]keptReport{}, asking: map[string]bool{}}
	r.ctx, r.stop = context.WithCancel(context.Background())
	return r
}

// close ends the background queries and waits for them.
func (r *reports) close() {
	r.mu.Lock()
	r.stop()
	r.mu.Unlock()
	r.wg.Wait()
}

type keptReport struct {
	serverReport
	at time.Time
}

// get returns the cached report about a model, and whether the report is recent.
func (r *reports) get(baseURL, id string) (serverReport, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	k, ok := r.kept[baseURL+"\x00"+id]
	return k.serverReport, ok && time.Since(k.at) < reportLifetime
}

func (r *reports) put(baseURL, id string, s serverReport) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept[baseURL+"\x00"+id] = keptReport{s, time.Now()}
}

// known reports whether a model was queried at least once.
func (r *reports) known(baseURL, id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.kept[baseURL+"\x00"+id]
	return ok
}

// refresh queries the server again in the background, unless a query is already running.
func (r *reports) refresh(baseURL, id string, ask func(ctx context.Context) serverReport) {
	key := baseURL + "\x00" + id
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.asking[key] || r.ctx.Err() != nil {
		return
	}
	r.asking[key] = true
	r.wg.Go(func() {
		said := ask(r.ctx)
		if r.ctx.Err() == nil {
			r.put(baseURL, id, said)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.asking, key)
	})
}

// apply overrides the known properties of a model with the server's report.
func (s serverReport) apply(m *agent.ModelInfo) {
	if s.Window > 0 {
		m.ContextWindow, m.Reported = s.Window, true
	}
	if s.Vision != nil {
		m.Vision, m.Reported = s.Vision, true
	}
	if s.Tools != nil {
		m.Tools, m.Reported = s.Tools, true
	}
	if s.Thinks && m.Thinking == nil {
		m.Thinking = []string{"off", "low", "medium", "high"}
	}
}

// localPorts are the usual ports of local servers that report windows.
var localPorts = map[string]string{"8080": "llama-server", "11434": "ollama", "8000": "vllm"}

// serverKind returns the kind of local server at an endpoint. It derives the kind from the name of
// the built-in provider or from the usual port. It returns "" if the kind is unknown.
func serverKind(e *config.Endpoint) string {
	switch {
	case e.Provider.API == config.APIAnthropic || e.Provider.API == config.APIGemini:
		return ""
	case e.ID == "llama-server" || e.ID == "ollama" || e.ID == "vllm":
		return e.ID
	case !unpriced(e):
		return ""
	}
	u, err := url.Parse(e.BaseURL)
	if err != nil {
		return ""
	}
	return localPorts[u.Port()]
}

// learn asks a local server for the window and the capabilities of a model, unless it was asked
// within the last minute. Only the first prompt waits for the response, for at most reportTimeout.
// Later prompts use the last response, which is refreshed in the background. learn sends nothing to
// a server that may not get prompts yet.
func (p *providers) learn(ctx context.Context, e *config.Endpoint, id string) {
	kind := serverKind(e)
	if kind == "" || id == "" || p.script != nil || p.local != nil && p.mayPrompt(e) != nil {
		return
	}
	if _, recent := p.reports.get(e.BaseURL, id); recent {
		return
	}
	if p.reports.known(e.BaseURL, id) {
		p.reports.refresh(e.BaseURL, id, func(ctx context.Context) serverReport {
			return p.ask(ctx, e, kind, id)
		})
		return
	}
	p.reports.put(e.BaseURL, id, p.ask(ctx, e, kind, id))
}

// ask queries a server of the given kind. For "", it tries llama-server and then Ollama.
func (p *providers) ask(ctx context.Context, e *config.Endpoint, kind, id string) serverReport {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	var r serverReport
	if kind == "llama-server" || kind == "" {
		r = p.askLlamaServer(ctx, e)
	}
	if kind == "ollama" || kind == "" && r == (serverReport{}) {
		r = p.askOllama(ctx, e, id)
	}
	if kind == "vllm" {
		r = p.askVLLM(ctx, e, id)
	}
	return r
}

// askLlamaServer reads /props. The response contains the window of a slot, and the capabilities of
// the model and its template.
func (p *providers) askLlamaServer(ctx context.Context, e *config.Endpoint) (r serverReport) {
	var props struct {
		Generation struct {
			Window int `json:"n_ctx"`
		} `json:"default_generation_settings"`
		Modalities *struct {
			Vision bool `json:"vision"`
		} `json:"modalities"`
		Template *struct {
			Tools *bool `json:"supports_tool_calls"`
		} `json:"chat_template_caps"`
	}
	if p.read(ctx, e, http.MethodGet, root(e)+"/props", nil, &props) != nil {
		return r
	}
	r.Window = max(props.Generation.Window, 0)
	if props.Modalities != nil {
		r.Vision = &props.Modalities.Vision
	}
	if props.Template != nil {
		r.Tools = props.Template.Tools
	}
	return r
}

// askOllama reads /api/show, and it reads /api/ps for the window of a loaded model. Ollama
// truncates prompts to that window, which is usually smaller than the window of the model.
func (p *providers) askOllama(ctx context.Context, e *config.Endpoint, id string) (r serverReport) {
	var show struct {
		Parameters   string         `json:"parameters"`
		Info         map[string]any `json:"model_info"`
		Capabilities []string       `json:"capabilities"`
	}
	body, err := json.Marshal(map[string]string{"model": id})
	if err != nil || p.read(ctx, e, http.MethodPost, root(e)+"/api/show", body, &show) != nil {
		return r
	}
	if len(show.Info) == 0 {
		return r // another kind of server, which answers every request
	}
	family, _ := show.Info["general.architecture"].(string)
	if n, ok := show.Info[family+".context_length"].(float64); ok {
		r.Window = int(n)
	}
	for line := range strings.Lines(show.Parameters) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "num_ctx" {
			if n, err := strconv.Atoi(f[1]); err == nil && n > 0 {
				r.Window = n
			}
		}
	}
	if n := p.loadedWindow(ctx, e, id); n > 0 {
		r.Window = n
	}
	if len(show.Capabilities) > 0 {
		can := func(what string) *bool {
			found := slices.Contains(show.Capabilities, what)
			return &found
		}
		r.Vision, r.Tools, r.Thinks = can("vision"), can("tools"), *can("thinking")
	}
	return r
}

// loadedWindow returns the window with which Ollama has loaded a model, or 0 if the model is not
// loaded.
func (p *providers) loadedWindow(ctx context.Context, e *config.Endpoint, id string) int {
	var ps struct {
		Models []struct {
			Name   string `json:"name"`
			Window int    `json:"context_length"`
		} `json:"models"`
	}
	if p.read(ctx, e, http.MethodGet, root(e)+"/api/ps", nil, &ps) != nil {
		return 0
	}
	for _, m := range ps.Models {
		if m.Name == id || m.Name == id+":latest" {
			return m.Window
		}
	}
	return 0
}

// askVLLM reads max_model_len from the list of models.
func (p *providers) askVLLM(ctx context.Context, e *config.Endpoint, id string) (r serverReport) {
	var list struct {
		Data []struct {
			ID     string `json:"id"`
			Window int    `json:"max_model_len"`
		} `json:"data"`
	}
	if p.read(ctx, e, http.MethodGet, e.BaseURL+"/models", nil, &list) != nil {
		return r
	}
	for _, m := range list.Data {
		if m.ID == id {
			r.Window = max(m.Window, 0)
		}
	}
	return r
}

// root returns the address of a server, which is the base URL without "/v1" at its end.
func root(e *config.Endpoint) string {
	return strings.TrimSuffix(strings.TrimRight(e.BaseURL, "/"), "/v1")
}

// read makes a request with the key and the headers of the endpoint, and decodes the response.
func (p *providers) read(
	ctx context.Context, e *config.Endpoint, method, address string, body []byte, into any,
) error {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	key, err := e.Key(ctx)
	if err != nil {
		return err
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	for k, v := range e.Provider.Headers {
		req.Header.Set(k, v)
	}
	resp, err := p.plain.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return json.NewDecoder(io.LimitReader(resp.Body, maxReport)).Decode(into)
}

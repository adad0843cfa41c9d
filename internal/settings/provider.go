package settings

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

const (
	defaultBaseURL = "https://api.openai.com/v1"
	defaultKeyEnv  = "OPENAI_API_KEY"
	// probeTimeout bounds the search for a local server, all ports together.
	probeTimeout = 400 * time.Millisecond
	// keyLifetime is how long the answer of an apiKeyCommand is used.
	keyLifetime = time.Minute
	// maxModelList bounds the answer of a local server in bytes.
	maxModelList = 1 << 20
)

// localServers are the usual loopback addresses of OpenAI-compatible servers, in order of preference.
var localServers = []struct{ name, baseURL string }{
	{"llama-server", "http://127.0.0.1:8080/v1"},
	{"Ollama", "http://127.0.0.1:11434/v1"},
	{"LM Studio", "http://127.0.0.1:1234/v1"},
	{"vLLM", "http://127.0.0.1:8000/v1"},
}

// Endpoint is a provider that was found. Safe for concurrent use.
type Endpoint struct {
	Name    string // for the screen: the host, or the local server's name
	BaseURL string
	Model   string // "" : one that the provider lists, by ChatModel
	Local   bool   // found on a loopback port
	// Provider is the configuration with ${NAME} replaced in headers and query.
	Provider wire.Provider

	key keySource
}

// NotConfiguredError says that no provider is configured and none was found (wire code 1006).
type NotConfiguredError struct {
	Reason string
	Hint   string // what to set
}

func (e *NotConfiguredError) Error() string { return e.Reason + ": " + e.Hint }

const setupHint = "set OPENAI_API_KEY (and OPENAI_BASE_URL and OPENAI_MODEL for another provider), or \"provider\" in the user's settings, " +
	"or start a local server (llama-server, Ollama, LM Studio, vLLM)"

// Resolver finds the provider. Env looks up a variable; Run runs a command and returns its
// output, nil where none can be run; Client makes the probes, nil is a plain one.
type Resolver struct {
	Env    func(string) string
	Run    func(ctx context.Context, argv []string) (string, error)
	Client *http.Client
}

// Resolve returns the provider of a configuration: what it names, else OpenAI where a key is
// set, else a local server that answers on its usual port. It uses the network only for the last,
// for at most half a second; call it when a prompt needs it.
func (r *Resolver) Resolve(ctx context.Context, config *wire.Config) (*Endpoint, error) {
	var p wire.Provider
	if config.Provider != nil {
		p = *config.Provider
	}
	e := &Endpoint{BaseURL: p.BaseURL, Model: config.Model, key: r.keySource(p)}
	e.Provider = r.expanded(p)
	if e.BaseURL == "" {
		switch {
		case e.key.command != nil || r.env(e.key.variable) != "":
			e.BaseURL = defaultBaseURL
		case e.key.named:
			return nil, &NotConfiguredError{Reason: "the environment variable " + e.key.variable + " that provider.apiKeyEnv names is not set", Hint: "set " + e.key.variable}
		case p.Probe != nil && !*p.Probe:
			return nil, &NotConfiguredError{Reason: "no model provider is configured", Hint: setupHint}
		default:
			return r.probe(ctx, e)
		}
	}
	u, err := url.Parse(e.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, &NotConfiguredError{Reason: "provider.baseUrl (or OPENAI_BASE_URL)" + named(e.BaseURL) + " is no http or https address", Hint: "set it to one such as " + defaultBaseURL}
	}
	e.BaseURL = strings.TrimRight(e.BaseURL, "/")
	e.Name = u.Host
	return e, nil
}

// named is an address for an error, "" where it may hold a password or a key.
func named(address string) string {
	if strings.ContainsAny(address, "@?") {
		return ""
	}
	return ", " + strconv.Quote(address) + ","
}

func (r *Resolver) env(name string) string {
	if r.Env == nil {
		return ""
	}
	return r.Env(name)
}

func (r *Resolver) expanded(p wire.Provider) wire.Provider {
	expand := func(m map[string]string) map[string]string {
		if m == nil {
			return nil
		}
		out := make(map[string]string, len(m))
		for k, v := range m {
			out[k] = Expand(v, r.env)
		}
		return out
	}
	p.Headers, p.Query = expand(p.Headers), expand(p.Query)
	return p
}

// probe asks the local servers, all at once, and takes the first in order that answers.
func (r *Resolver) probe(ctx context.Context, e *Endpoint) (*Endpoint, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	models := make([][]string, len(localServers))
	var wg sync.WaitGroup
	for i, s := range localServers {
		wg.Go(func() { models[i] = r.models(ctx, s.baseURL) })
	}
	wg.Wait()
	for i, s := range localServers {
		if models[i] == nil {
			continue
		}
		e.Name, e.BaseURL, e.Local = s.name, s.baseURL, true
		if e.Model == "" {
			e.Model = ChatModel(models[i])
		}
		return e, nil
	}
	return nil, &NotConfiguredError{Reason: "no model provider is configured and no local server answers", Hint: setupHint}
}

// models returns the model ids of a server; nil where no OpenAI-compatible server answers.
func (r *Resolver) models(ctx context.Context, baseURL string) []string {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, baseURL+"/models", nil)
	if err != nil {
		return nil
	}
	resp, err := r.client().Do(req)
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if resp.StatusCode != http.StatusOK || json.NewDecoder(io.LimitReader(resp.Body, maxModelList)).Decode(&list) != nil || list.Data == nil {
		return nil
	}
	ids := make([]string, 0, len(list.Data))
	for _, m := range list.Data {
		ids = append(ids, m.ID)
	}
	return ids
}

func (r *Resolver) client() *http.Client {
	if r.Client != nil {
		return r.Client
	}
	// No proxy and no redirect: what answers must be the loopback address itself.
	return &http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// keySource is where a provider's key comes from.
type keySource struct {
	variable string
	named    bool // provider.apiKeyEnv was set
	command  []string
	env      func(string) string
	run      func(ctx context.Context, argv []string) (string, error)

	cache *keyCache
}

type keyCache struct {
	mu   sync.Mutex
	key  string
	at   time.Time
	uses int // how often it was given
}

func (r *Resolver) keySource(p wire.Provider) keySource {
	k := keySource{variable: defaultKeyEnv, env: r.env, run: r.Run, cache: new(keyCache)}
	if p.APIKeyEnv != "" {
		k.variable, k.named = p.APIKeyEnv, true
	}
	if len(p.APIKeyCommand) > 0 {
		k.command = p.APIKeyCommand
	}
	return k
}

// Key returns the key to use for a call now; "" where the provider needs none. An error says
// what to do and holds no secret.
func (e *Endpoint) Key(ctx context.Context) (string, error) {
	k := &e.key
	if e.Local {
		return "", nil
	}
	if k.command != nil {
		return k.fromCommand(ctx)
	}
	key := k.env(k.variable)
	if key == "" && k.named {
		return "", fmt.Errorf("reading the provider's key: the environment variable %s that provider.apiKeyEnv names is not set", k.variable)
	}
	return key, nil
}

func (k *keySource) fromCommand(ctx context.Context) (string, error) {
	if key := k.cache.get(); key != "" {
		return key, nil
	}
	if k.run == nil {
		return "", errors.New("running provider.apiKeyCommand: commands cannot be run here")
	}
	out, err := k.run(ctx, k.command)
	if err != nil {
		return "", fmt.Errorf("running provider.apiKeyCommand %s: %w", k.command[0], err)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	key := strings.TrimSpace(line)
	if key == "" {
		return "", fmt.Errorf("running provider.apiKeyCommand %s: it printed nothing", k.command[0])
	}
	k.cache.put(key)
	return key, nil
}

// get returns the key, "" where there is none or it is too old.
func (c *keyCache) get() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if time.Since(c.at) >= keyLifetime {
		return ""
	}
	c.uses++
	return c.key
}

func (c *keyCache) put(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.key, c.at, c.uses = key, time.Now(), 1
}

// Refused tells that the provider refused a key (401). One that a command printed is forgotten, so that the
// next call asks anew; true says that asking at once may help, because the command was not asked for
// this call.
func (e *Endpoint) Refused(key string) bool {
	if e.key.command == nil || e.key.cache == nil || key == "" {
		return false
	}
	c := e.key.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.key != key { // another call has forgotten it already
		return true
	}
	reused := c.uses > 1
	c.key, c.at, c.uses = "", time.Time{}, 0
	return reused
}

package config

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/near"
)

const (
	// probeTimeout limits the total time of the search for a local server on all ports.
	probeTimeout = 400 * time.Millisecond
	// keyLifetime is how long the output of apiKeyCommand is cached.
	keyLifetime = time.Minute
	// maxModelList is the maximum size of a local server's response in bytes.
	maxModelList = 1 << 20
)

// localServers are the usual loopback addresses of OpenAI-compatible servers, in order of
// preference.
var localServers = []struct{ name, baseURL string }{
	{"llama-server", "http://127.0.0.1:8080/v1"},
	{"Ollama", "http://127.0.0.1:11434/v1"},
	{"LM Studio", "http://127.0.0.1:1234/v1"},
	{"vLLM", "http://127.0.0.1:8000/v1"},
}

// Endpoint is a resolved provider. It is safe for concurrent use.
type Endpoint struct {
	ID      string // the name used in references; "" is the provider without a name
	Name    string // name for the user: ID, the host, or the local server's name
	BaseURL string
	Model   string // "" means the model that ChatModel chooses from the provider's list
	// Local means that the server gets no key, because it was found by probing or is the scripted
	// model.
	Local  bool
	Probed bool // whether the server was found by probing, so that the user has not chosen it
	// Provider contains the settings, with ${NAME} replaced in headers and query.
	Provider Provider

	key keySource
}

// NotConfiguredError reports that the configured provider cannot be used, or that none is
// configured and none was found (wire code 1006).
type NotConfiguredError struct {
	Reason string
	Hint   string // what the user can do
}

func (e *NotConfiguredError) Error() string { return e.Reason + ": " + e.Hint }

const setupHint = "set OPENAI_API_KEY (and OPENAI_BASE_URL and OPENAI_MODEL for another provider), or \"provider\" in the user's settings, " +
	"or start a local server (llama-server, Ollama, LM Studio, vLLM)"

// Resolver finds the provider. Env looks up a variable. Run runs a command and returns its output.
// If Run is nil, no command can run. Client makes the probes. If it is nil, a plain client is used.
type Resolver struct {
	Env func(string) string
	Run func(ctx context.Context, argv []string) (string, error)
	// Stored returns the key that the user has stored for a provider (`agent-lsp login`), or "" if
	// there is none. It is called before each call that needs the key, so it must be fast. If it is
	// nil, no key is stored.
	Stored func(provider string) (string, error)
	// Secret is called with each key from an environment variable before the key is used. The user
	// chooses the name of the variable, so the name might not look like that of a secret. Secret
	// may be nil.
	Secret func(key string)
	Client *http.Client
}

// Resolve returns the provider of a model reference. For the provider without a name, it returns
// the one that the setting provider describes, or the API's own provider (such as OpenAI) if it has
// a key, or a local server that answers on its usual port. Only the search for a local server uses
// the network, for at most half a second. Call Resolve when a prompt needs it.
func (r *Resolver) Resolve(ctx context.Context, config *Config, ref Reference) (*Endpoint, error) {
	if ref.Provider != "" {
		return r.byName(config, ref.Provider)
	}
	e, err := r.unnamed(ctx, config)
	var unset *NotConfiguredError
	if errors.As(err, &unset) && ref.Unknown != "" {
		return nil, unknownProvider(config, ref.Unknown)
	}
	return e, err
}

// unknownProvider returns the error for a reference that begins with an unknown provider name.
func unknownProvider(c *Config, name string) error {
	names := c.ProviderNames()
	return &NotConfiguredError{
		Reason: "no provider is named " + strconv.Quote(name),
		Hint: meant(name, names) + "add it to \"providers\", or use one of " +
			strings.Join(names, ", "),
	}
}

// meant returns the beginning of a hint that contains the provider name that the user probably
// meant, or "" if no name is similar.
func meant(misspelled string, names []string) string {
	if name := near.Of(misspelled, names); name != "" {
		return "did you mean " + name + "? Otherwise "
	}
	return ""
}

// ModelHint describes what to do about a model that the provider does not have.
func (e *Endpoint) ModelHint(c *Config, model string) string {
	hint := "`agent-lsp models` lists its models"
	if e.ID != "" {
		hint = "`agent-lsp models --provider " + e.ID + "` lists its models"
	}
	unknown := c.Reference(model).Unknown
	if name := near.Of(unknown, c.ProviderNames()); unknown != "" && name != "" {
		hint = "no provider is named " + strconv.Quote(unknown) + ", did you mean " + name + "? " +
			hint
	}
	return hint
}

// byName returns a provider that the settings define, or a built-in one.
func (r *Resolver) byName(config *Config, name string) (*Endpoint, error) {
	p := config.ProviderSettings(name, r.env)
	e := &Endpoint{ID: name, BaseURL: p.BaseURL, Provider: r.expanded(p)}
	e.key = r.keySource(p, name)
	if e.BaseURL == "" {
		return nil, &NotConfiguredError{
			Reason: "the provider " + name + " has no base URL",
			Hint:   "set providers." + name + ".baseUrl",
		}
	}
	if err := e.checkURL("providers." + name + ".baseUrl"); err != nil {
		return nil, err
	}
	e.Name = name
	return e, e.key.check()
}

// unnamed returns the provider that the setting provider describes. If that setting has no base
// URL, unnamed uses OPENAI_BASE_URL, the API's own provider if there is a key, or a local server.
func (r *Resolver) unnamed(ctx context.Context, config *Config) (*Endpoint, error) {
	p := config.ProviderSettings("", r.env)
	kind := builtinName(p.API)
	home := builtinProviders[kind]
	e := &Endpoint{BaseURL: p.BaseURL, key: r.keySource(p, "")}
	e.Provider = r.expanded(p)
	if e.BaseURL == "" {
		elsewhere := ""
		if kind == "openai" {
			elsewhere = r.env("OPENAI_BASE_URL")
		}
		switch {
		case elsewhere != "":
			e.BaseURL, e.key.login = elsewhere, "" // the stored key is only for OpenAI
		case e.key.command != nil || r.env(e.key.variable) != "" || e.key.hasLogin():
			e.BaseURL = home.BaseURL
		case e.key.named:
			return nil, &NotConfiguredError{
				Reason: "the environment variable " + e.key.variable +
					" that provider.apiKeyEnv names is not set",
				Hint: "set " + e.key.variable,
			}
		case kind != "openai":
			return nil, &NotConfiguredError{
				Reason: "the key of the provider " + kind + " is not set",
				Hint: "set " + home.APIKeyEnv + e.key.orLogin() +
					", or set provider.apiKeyEnv or provider.apiKeyCommand",
			}
		case p.Probe != nil && !*p.Probe:
			return nil, &NotConfiguredError{
				Reason: "no model provider is configured",
				Hint:   setupHint,
			}
		default:
			return r.probe(ctx, e)
		}
	}
	return e, e.checkURL("provider.baseUrl (or OPENAI_BASE_URL)")
}

// checkURL returns an error for an invalid base URL, and sets the endpoint's name to the host.
// setting is the source of the URL.
func (e *Endpoint) checkURL(setting string) error {
	u, err := url.Parse(e.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return &NotConfiguredError{
			Reason: setting + named(e.BaseURL) + " is not an http or https URL",
			Hint: "set it to one such as " +
				builtinProviders[builtinName(e.Provider.API)].BaseURL,
		}
	}
	e.BaseURL = strings.TrimRight(e.BaseURL, "/")
	e.Name = u.Host
	return nil
}

// named returns an address as it may appear in an error, or "" if it may contain a password or a
// key.
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

func (r *Resolver) expanded(p Provider) Provider {
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

// probe queries all local servers in parallel. Among those that answer, it returns the one that is
// first in the list. It queries none if ctx has ended.
func (r *Resolver) probe(ctx context.Context, e *Endpoint) (*Endpoint, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	models := make([][]string, len(localServers))
	var wg sync.WaitGroup
	for i, s := range localServers {
		if ctx.Err() == nil {
			wg.Go(func() { models[i] = r.models(ctx, s.baseURL) })
		}
	}
	wg.Wait()
	for i, s := range localServers {
		if models[i] == nil {
			continue
		}
		e.Name, e.BaseURL, e.Local, e.Probed = s.name, s.baseURL, true, true
		e.Model = ChatModel(models[i])
		// The user has not chosen this server, and these settings may contain a key.
		e.Provider.Headers, e.Provider.Query, e.Provider.Organization = nil, nil, ""
		return e, nil
	}
	return nil, &NotConfiguredError{
		Reason: "no model provider is configured and no local server responds",
		Hint:   setupHint,
	}
}

// models returns the model IDs of a server, or nil if no OpenAI-compatible server responds.
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
	if resp.StatusCode != http.StatusOK ||
		json.NewDecoder(io.LimitReader(resp.Body, maxModelList)).Decode(&list) != nil ||
		list.Data == nil {
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
	// Use no proxy and follow no redirect, because the response must come from the loopback address
	// itself.
	return &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request,
			[]*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

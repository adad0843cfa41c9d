package config

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

	"github.com/agent-lsp/agent-lsp/internal/near"
)

const (
	// probeTimeout bounds the search for a local server, all ports together.
	probeTimeout = 400 * time.Millisecond
	// keyLifetime is how long the answer of an apiKeyCommand is used.
	keyLifetime = time.Minute
	// maxModelList bounds the answer of a local server in bytes.
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

// Endpoint is a provider that was found. Safe for concurrent use.
type Endpoint struct {
	ID      string // the name that references use; "" is the provider without a name
	Name    string // for the screen: ID, the host, or the local server's name
	BaseURL string
	Model   string // "" : one that the provider lists, by ChatModel
	Local   bool   // found on a loopback port
	// Provider is the configuration with ${NAME} replaced in headers and query.
	Provider Provider

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
	Env func(string) string
	Run func(ctx context.Context, argv []string) (string, error)
	// Stored returns the key that the user has stored for a provider (`agent-lsp login`), "" for
	// none. It is asked before each call that needs it, and must be quick. nil: none is stored.
	Stored func(provider string) (string, error)
	Client *http.Client
}

// Resolve returns the provider of a model reference. For the provider without a name, that is the
// provider that the settings name, or OpenAI if a key is set, or a local server that answers on its
// usual port. Only the search for a local server uses the network, for at most half a second; call
// Resolve when a prompt needs it.
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

// unknownProvider is the error of a reference that begins with a name that no provider has.
func unknownProvider(c *Config, name string) error {
	names := c.ProviderNames()
	return &NotConfiguredError{
		Reason: "no provider is named " + strconv.Quote(name) + near.Suggestion("", name, names),
		Hint:   "add it to \"providers\", or use one of " + strings.Join(names, ", "),
	}
}

// byName returns a provider of the settings or a built-in one.
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

// unnamed returns the provider of the setting provider, or the one that the configuration page
// selects.
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
			e.BaseURL, e.key.login = elsewhere, "" // the stored key is for OpenAI alone
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

// checkURL refuses a base URL that cannot be one, and names the endpoint by its host. setting is
// where the URL comes from.
func (e *Endpoint) checkURL(setting string) error {
	u, err := url.Parse(e.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return &NotConfiguredError{
			Reason: setting + named(e.BaseURL) + " is not an http or https address",
			Hint: "set it to one such as " +
				builtinProviders[builtinName(e.Provider.API)].BaseURL,
		}
	}
	e.BaseURL = strings.TrimRight(e.BaseURL, "/")
	e.Name = u.Host
	return nil
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

// probe asks all the local servers in parallel, and picks the first in order that answers. It asks
// none if ctx has ended.
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
		e.Name, e.BaseURL, e.Local, e.Model = s.name, s.baseURL, true, ChatModel(models[i])
		return e, nil
	}
	return nil, &NotConfiguredError{
		Reason: "no model provider is configured and no local server answers",
		Hint:   setupHint,
	}
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
	// No proxy and no redirect: what answers must be the loopback address itself.
	return &http.Client{
		Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request,
			[]*http.Request) error {
			return http.ErrUseLastResponse
		},
	}
}

// keySource is where a provider's key comes from.
type keySource struct {
	setting  string // of the provider: "provider" or "providers.NAME"
	variable string // "": no variable
	named    bool   // apiKeyEnv was set
	required bool   // the provider refuses every call without a key
	command  []string
	env      func(string) string
	run      func(ctx context.Context, argv []string) (string, error)
	login    string // the name under which a key may be stored; "": none is
	stored   func(provider string) (string, error)

	cache *keyCache
}

type keyCache struct {
	mu   sync.Mutex
	key  string
	at   time.Time
	uses int // how often it was given
}

// keySource returns the source of the key of a provider with these settings; name is "" for the
// provider without a name.
func (r *Resolver) keySource(p Provider, name string) keySource {
	k := keySource{setting: "provider", env: r.env, run: r.Run, cache: new(keyCache)}
	home, builtin := builtinProviders[builtinName(p.API)], true
	if name != "" {
		k.setting, k.login = "providers."+name, name
		home, builtin = builtinProviders[name], builtinProviders[name].APIKeyEnv != ""
	} else if p.BaseURL == "" || p.BaseURL == home.BaseURL {
		k.login = builtinName(p.API)
	}
	k.stored = r.Stored
	k.variable = home.APIKeyEnv
	if p.APIKeyEnv != "" {
		k.variable, k.named = p.APIKeyEnv, true
	}
	if len(p.APIKeyCommand) > 0 {
		k.command = p.APIKeyCommand
	}
	k.required = builtin && p.BaseURL != "" && p.BaseURL == home.BaseURL && !carriesKey(p.Headers)
	return k
}

// carriesKey reports whether headers of the settings authenticate.
func carriesKey(headers map[string]string) bool {
	for name := range headers {
		switch strings.ToLower(name) {
		case "authorization", "api-key", "x-api-key", "x-goog-api-key":
			return true
		}
	}
	return false
}

// check returns an error if the provider needs a key and there is none. It runs no command.
func (k *keySource) check() error {
	if k.command != nil || k.variable != "" && k.env(k.variable) != "" {
		return nil
	}
	switch key, err := k.fromLogin(); {
	case err != nil:
		return err
	case key != "":
		return nil
	case k.named:
		return &NotConfiguredError{
			Reason: "the environment variable " + k.variable + " that " + k.setting +
				".apiKeyEnv names is not set",
			Hint: "set " + k.variable + k.orLogin(),
		}
	case k.required:
		return &NotConfiguredError{
			Reason: "the key of " + k.setting + " is not set",
			Hint: "set " + k.variable + k.orLogin() +
				", or set " + k.setting + ".apiKeyEnv or apiKeyCommand",
		}
	}
	return nil
}

// fromLogin returns the key that the user has stored, "" for none.
func (k *keySource) fromLogin() (string, error) {
	if k.stored == nil || k.login == "" {
		return "", nil
	}
	return k.stored(k.login)
}

// hasLogin says whether a key is stored, also one that cannot be read now.
func (k *keySource) hasLogin() bool {
	key, err := k.fromLogin()
	return key != "" || err != nil
}

// orLogin is the part of a hint that names the command which stores a key.
func (k *keySource) orLogin() string {
	if k.login == "" {
		return ""
	}
	return ", run `agent-lsp login " + k.login + "`"
}

// KeySource names the setting or the variable that the key of a provider comes from, "" for none.
// A key that the user has stored comes after these.
func (c *Config) KeySource(name string, env func(string) string) string {
	r := &Resolver{Env: env}
	k := r.keySource(c.ProviderSettings(name, r.env), name)
	switch {
	case k.command != nil:
		return k.setting + ".apiKeyCommand"
	case k.variable != "" && k.env(k.variable) != "":
		return k.variable
	}
	return ""
}

// HasKey reports whether a named provider that needs a key has one. It runs no command.
func (r *Resolver) HasKey(config *Config, name string) bool {
	k := r.keySource(config.ProviderSettings(name, r.env), name)
	if k.variable == "" || k.check() != nil {
		return false
	}
	return k.command != nil || k.env(k.variable) != "" || k.hasLogin()
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
	if err := k.check(); err != nil {
		return "", fmt.Errorf("reading the provider's key: %w", err)
	}
	if k.variable != "" && k.env(k.variable) != "" {
		return k.env(k.variable), nil
	}
	return k.fromLogin()
}

func (k *keySource) fromCommand(ctx context.Context) (string, error) {
	if key := k.cache.get(); key != "" {
		return key, nil
	}
	if k.run == nil {
		return "", fmt.Errorf("running %s.apiKeyCommand: commands cannot be run here", k.setting)
	}
	out, err := k.run(ctx, k.command)
	if err != nil {
		return "", fmt.Errorf("running %s.apiKeyCommand %s: %w", k.setting, k.command[0], err)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(out), "\n")
	key := strings.TrimSpace(line)
	if key == "" {
		return "", fmt.Errorf(
			"running %s.apiKeyCommand %s: it printed nothing",
			k.setting,
			k.command[0],
		)
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

// Refused records that the provider refused a key (401). A key that a command printed is forgotten,
// so that the next call runs the command again. True means that an immediate retry may help,
// because the command did not run for this call.
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

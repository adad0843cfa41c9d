package config

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// keySource describes where a provider's key comes from.
type keySource struct {
	setting  string // path of the provider: "provider" or "providers.NAME"
	variable string // "" if there is no variable
	named    bool   // whether apiKeyEnv is set
	required bool   // whether the provider rejects every call without a key
	command  []string
	env      func(string) string
	run      func(ctx context.Context, argv []string) (string, error)
	login    string // name under which a key may be stored; "" if no key is stored
	stored   func(provider string) (string, error)

	cache *keyCache
}

type keyCache struct {
	mu   sync.Mutex
	key  string
	at   time.Time
	uses int // number of uses
}

// keySource returns the source of the key of a provider with these settings. name is "" for the
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
	if r.Secret != nil && k.variable != "" {
		r.Secret(r.env(k.variable))
	}
	k.required = builtin && p.BaseURL != "" && p.BaseURL == home.BaseURL && !carriesKey(p.Headers)
	return k
}

// carriesKey reports whether headers from the settings authenticate the requests.
func carriesKey(headers map[string]string) bool {
	for name := range headers {
		switch strings.ToLower(name) {
		case "authorization", "api-key", "x-api-key", "x-goog-api-key":
			return true
		}
	}
	return false
}

// check returns an error if the key that the provider needs is missing. It runs no command.
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

// fromLogin returns the key that the user has stored, or "" if there is none.
func (k *keySource) fromLogin() (string, error) {
	if k.stored == nil || k.login == "" {
		return "", nil
	}
	return k.stored(k.login)
}

// hasLogin reports whether a key is stored, even if it cannot be read now.
func (k *keySource) hasLogin() bool {
	key, err := k.fromLogin()
	return key != "" || err != nil
}

// orLogin returns the part of a hint that names the command for storing a key.
func (k *keySource) orLogin() string {
	if k.login == "" {
		return ""
	}
	return " or run `agent-lsp login " + k.login + "`"
}

// KeySource returns the setting or the variable that a provider's key comes from, or "" if there is
// none. Both take precedence over a key that the user has stored.
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

// Key returns the key for the next call. It returns "" if the provider needs no key. An error
// explains why there is no key.
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

// get returns the key, or "" if there is none or it is too old.
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

// Refused records that the provider refused a key (401). It discards a key that a command printed,
// so that the next call runs the command again. It returns true if an immediate retry may help
// because the command did not run for this call.
func (e *Endpoint) Refused(key string) bool {
	if e.key.command == nil || e.key.cache == nil || key == "" {
		return false
	}
	c := e.key.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.key != key { // another call has already discarded it
		return true
	}
	reused := c.uses > 1
	c.key, c.at, c.uses = "", time.Time{}, 0
	return reused
}

// KeyHint describes where to correct a key that the provider rejected. It returns "" if no key was
// sent.
func (e *Endpoint) KeyHint() string {
	k := &e.key
	if k.command != nil {
		return "check the API key that " + k.setting + ".apiKeyCommand prints"
	}
	if k.variable != "" && k.env(k.variable) != "" {
		return "check the API key in the variable " + k.variable
	}
	if k.hasLogin() {
		return "check the API key, and store it again with `agent-lsp login " + k.login + "`"
	}
	return ""
}

package app

import (
	"context"
	"io"

	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/login"
	"github.com/agent-lsp/agent-lsp/internal/policy"
)

// Logins opens the store of the user's API keys.
func Logins(env []string) *login.Store {
	return login.Open(StateDir(env), func(name string) string { return Lookup(env, name) })
}

// OpenRouterKey gets a key for the user by OpenRouter's browser login. open opens a page. The
// instructions are written to out, and the address of the last page is read from in.
func OpenRouterKey(
	ctx context.Context,
	open func(address string) error,
	out io.Writer,
	in io.Reader,
) (string, error) {
	return login.OpenRouter{Open: open, Out: out, Input: in}.Key(ctx)
}

// storedKeys returns the function for config.Resolver.Stored. The function also registers each key
// that it returns as a secret, which is then removed from all output.
func storedKeys(store *login.Store, redact *policy.Redactor) func(provider string) (string, error) {
	return func(provider string) (string, error) {
		key, err := store.Get(provider)
		if key != "" {
			redact.Add(key)
		}
		return key, err
	}
}

// KeySources describes, for each provider that has a key, where the key comes from: "openai from
// OPENAI_API_KEY".
func KeySources(c *config.Config, env []string) []string {
	var out []string
	store := Logins(env)
	for _, name := range c.ProviderNames() {
		source := firstOf(c.KeySource(name, config.Lookup(env)), store.Where(name))
		if source != "" {
			out = append(out, name+" from "+source)
		}
	}
	return out
}

package policy

import (
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// subcommands lists programs whose effect depends on their first words. The value is the number of
// words that a pattern includes.
var subcommands = map[string]int{
	"git": 1, "go": 1, "cargo": 1, "npm": 1, "pnpm": 1, "yarn": 1, "bun": 1, "deno": 1, "make": 1,
	"just": 1, "pip": 1, "pip3": 1, "uv": 1, "poetry": 1,
	"dotnet": 1, "gh": 2, "docker": 1, "kubectl": 1, "terraform": 1, "mvn": 1, "gradle": 1,
	"bundle": 1, "rails": 1, "mix": 1, "zig": 1, "swift": 1, "apt": 1, "apt-get": 1, "brew": 1,
}

// openEnded are programs that may be allowed with any arguments, because the program itself limits
// what it can do.
var openEnded = words{list: "mkdir touch gofmt goimports prettier eslint tsc black ruff mypy pytest jest vitest rustfmt clang-format shellcheck staticcheck golangci-lint gopls stylua cp mv ln"}

var plainSubcommand = lazyregexp.New(`^[a-z][a-zA-Z0-9:_.-]*$`)

// Propose returns the patterns that "always" would allow, one for each part that is not read-only.
// The patterns are narrow enough to understand at a glance. whole reports that only an identical
// script can be allowed, which is not worth a lasting grant.
func Propose(script string, c Classification) (patterns []string, whole bool) {
	exact := []string{"=" + script}
	if c.Opaque || c.Class == Dangerous {
		return exact, true
	}
	for _, p := range c.Parts {
		if p.Wrapper || p.Class == ReadOnly {
			continue
		}
		pattern, ok := proposePart(p)
		if !ok {
			return exact, true
		}
		patterns = appendNew(patterns, pattern)
	}
	if len(patterns) == 0 {
		return exact, true
	}
	return patterns, false
}

// unbounded are subcommands whose arguments choose what is fetched, published or run. Only a
// sandbox limits them. Without a sandbox, "always" is not offered for them, nor for programs that
// replace files.
var unbounded = words{list: "add ci clone dlx exec fetch get i install pull push remote run submodule" +
	" sync update upgrade x"}

// bounded reports whether a pattern for a command is narrow enough without a sandbox.
func bounded(c Classification) bool {
	for _, p := range c.Parts {
		if len(p.Words) == 0 {
			continue
		}
		name := commandName(p.Words[0])
		switch name {
		case "cp", "mv", "ln":
			return false
		}
		if subcommands[name] > 0 && len(p.Words) > 1 && unbounded.has(p.Words[1]) {
			return false
		}
	}
	return true
}

func proposePart(p Part) (string, bool) {
	if len(p.Assigns) > 0 || len(p.Words) == 0 || p.Dynamic[0] {
		return "", false
	}
	name := p.Words[0]
	keep, known := subcommands[commandName(name)]
	switch {
	case name == ">" || name == ">>":
		return quoteAll(p, len(p.Words), false)
	case known && len(p.Words) > 1 && plainSubcommand().MatchString(p.Words[1]):
		if p.Words[1] == "run" && commandName(name) != "go" || p.Words[1] == "-m" {
			keep = 2 // npm run build
		}
		if hidesProgram(name, p.Words[1]) {
			return quoteAll(p, len(p.Words), false)
		}
		return quoteAll(p, min(keep+1, len(p.Words)), true)
	case openEnded.has(name):
		return quoteAll(p, 1, true)
	}
	return quoteAll(p, len(p.Words), false)
}

// hidesProgram reports whether a subcommand's arguments are a program to run.
func hidesProgram(name, sub string) bool {
	switch sub {
	case "exec", "x", "dlx", "run":
		return commandName(name) != "npm" && commandName(name) != "pnpm" &&
			commandName(name) != "yarn" && commandName(name) != "bun" &&
			commandName(name) != "cargo" || sub != "run"
	}
	return false
}

// quoteAll creates a pattern from the first n words. open adds a * at the end.
func quoteAll(p Part, n int, open bool) (string, bool) {
	var out []string
	for i := range n {
		w := p.Words[i]
		switch {
		case p.Dynamic[i] || strings.Contains(w, "*") || strings.ContainsAny(w, "\n\t") ||
			strings.Contains(w, "'") && strings.Contains(w, `"`):
			return "", false
		case w == "" || strings.ContainsAny(w, " \"") || i == 0 && strings.HasPrefix(w, "="):
			w = "'" + w + "'"
			if strings.Contains(p.Words[i], "'") {
				return "", false
			}
		case strings.Contains(w, "'"):
			w = `"` + w + `"`
		}
		out = append(out, w)
	}
	if open {
		out = append(out, "*")
	}
	return strings.Join(out, " "), true
}

func appendNew(list []string, s string) []string {
	for _, have := range list {
		if have == s {
			return list
		}
	}
	return append(list, s)
}

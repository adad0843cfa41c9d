package policy

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/globs"
	"github.com/agent-lsp/agent-lsp/internal/policy/hosts"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox/launcher"
)

// Action is the result of a rule or of the complete policy.
type Action int

// The actions. Each takes precedence over those before it.
const (
	Allow Action = iota
	Ask
	Deny
)

func (a Action) String() string { return [...]string{"allow", "ask", "deny"}[a] }

// Rule is `allow tool(pattern)`, `ask tool(pattern)` or `deny tool(pattern)`. The grammar is in
// docs/use/permissions.md.
type Rule struct {
	Action  Action
	Tool    string // a tool's name or glob, or the name of a kind of subject
	Pattern string
	tokens  []token // for commands
	glob    string  // for paths: the pattern in doublestar's syntax
	exact   string  // for commands: the whole script
}

// token is a word of a command pattern.
type token struct {
	text string
	glob bool // has an unquoted *
}

func (t token) star() bool { return t.glob && t.text == "*" }

func (r Rule) String() string { return r.Action.String() + " " + r.Tool + "(" + r.Pattern + ")" }

// RuleError reports where and why a rule is invalid.
type RuleError struct {
	Place  string // such as "permissions.rules[2]"
	Rule   string
	Column int // starts at 1
	Why    string
}

func (e *RuleError) Error() string {
	return fmt.Sprintf("reading %s (%q), column %d: %s", e.Place, e.Rule, e.Column, e.Why)
}

// ParseRules parses a list of rules. place names the list in errors. It returns the valid rules and
// the errors of the others.
func ParseRules(place string, list []string) ([]Rule, []error) {
	var rules []Rule
	var errs []error
	for i, s := range list {
		r, err := ParseRule(s)
		if err != nil {
			err.Place = fmt.Sprintf("%s[%d]", place, i)
			errs = append(errs, err)
			continue
		}
		rules = append(rules, r)
	}
	return rules, errs
}

// ParseRule parses one rule.
func ParseRule(s string) (Rule, *RuleError) {
	fail := func(column int, why string) (Rule, *RuleError) {
		return Rule{}, &RuleError{Place: "the rule", Rule: s, Column: column + 1, Why: why}
	}
	verb, rest, ok := strings.Cut(s, " ")
	var r Rule
	switch {
	case verb == "allow":
		r.Action = Allow
	case verb == "ask":
		r.Action = Ask
	case verb == "deny":
		r.Action = Deny
	default:
		return fail(0, `a rule begins with "allow", "ask" or "deny"`)
	}
	start := len(verb) + 1
	open := strings.IndexByte(rest, '(')
	if !ok || open <= 0 {
		return fail(min(start, len(s)),
			`a tool's name and "(" must follow, as in "allow bash(go test *)"`)
	}
	if !strings.HasSuffix(rest, ")") {
		return fail(len(s), `the closing ")" is missing`)
	}
	r.Tool, r.Pattern = rest[:open], rest[open+1:len(rest)-1]
	if i := strings.IndexAny(r.Tool, " \t()"); i >= 0 {
		return fail(start+i, "a tool's name has no spaces")
	}
	if strings.TrimSpace(r.Pattern) == "" {
		return fail(start+open+1, `the pattern is empty; "*" matches everything`)
	}
	if i, why := r.compile(); why != "" {
		return fail(start+open+1+i, why)
	}
	return r, nil
}

// compile compiles the pattern, which matches commands, hosts, names or paths.
func (r *Rule) compile() (column int, why string) {
	if exact, ok := strings.CutPrefix(r.Pattern, "="); ok {
		r.exact = exact
		return 0, ""
	}
	tokens, column, why := tokenize(r.Pattern)
	if why != "" {
		return column, why
	}
	r.tokens = tokens
	if commandTool(r.Tool) {
		return 0, ""
	}
	r.glob = globs.CloseSets(r.Pattern)
	if !doublestar.ValidatePattern(r.glob) {
		return 0, "the pattern is not a valid glob"
	}
	if globs.Alternatives(r.glob) > globs.MaxAlternatives {
		return 0, fmt.Sprintf("the braces expand to more than %d patterns; use several rules",
			globs.MaxAlternatives)
	}
	return 0, ""
}

// tokenize splits a command pattern into words. Quotes remove the special meaning of * and spaces.
func tokenize(p string) (out []token, column int, why string) {
	var text strings.Builder
	glob, in := false, false
	flush := func() {
		if in {
			out = append(out, token{text.String(), glob})
		}
		text.Reset()
		glob, in = false, false
	}
	for i := 0; i < len(p); i++ {
		switch c := p[i]; c {
		case ' ', '\t':
			flush()
		case '\'', '"':
			end := strings.IndexByte(p[i+1:], c)
			if end < 0 {
				return nil, i, "the quote is not closed"
			}
			if strings.Contains(p[i+1:i+1+end], "*") {
				return nil, i, "a quoted word cannot contain *; use the exact form (=text) instead"
			}
			text.WriteString(p[i+1 : i+1+end])
			in, i = true, i+1+end
		default:
			in = true
			glob = glob || c == '*'
			text.WriteByte(c)
		}
	}
	flush()
	return out, 0, ""
}

// kinds maps the names in rules to kinds of subjects. A rule may also contain the name of a tool.
var kinds = map[string]tool.SubjectKind{
	"bash": tool.SubjectCommand, "shell": tool.SubjectCommand, "command": tool.SubjectCommand,
	"edit": tool.SubjectEdit, "write": tool.SubjectEdit, "read": tool.SubjectRead,
	"mcp": tool.SubjectMCP, "network": tool.SubjectNetwork, "fetch": tool.SubjectNetwork,
}

func commandTool(name string) bool { return name == "*" || kinds[name] == tool.SubjectCommand }

// concerns reports whether the rule applies to this tool or kind of subject.
func (r *Rule) concerns(kind tool.SubjectKind, tool string) bool {
	if r.Tool == "*" || kinds[r.Tool] == kind && kind != "" {
		return true
	}
	return wildcard(r.Tool, tool)
}

// wildcard matches a pattern in which * stands for any text.
func wildcard(pattern, s string) bool {
	head, rest, ok := strings.Cut(pattern, "*")
	if !ok {
		return pattern == s
	}
	if !strings.HasPrefix(s, head) {
		return false
	}
	s = s[len(head):]
	for {
		part, next, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(s, part)
		}
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(part):], next
	}
}

// matchHost normalizes the pattern and the host and compares them. A pattern that begins with "*."
// covers the subdomains of a host.
func (r *Rule) matchHost(host string) bool {
	pattern := r.Pattern
	if r.exact != "" {
		pattern = r.exact
	}
	pattern, err := hosts.Pattern(pattern)
	if err != nil {
		return false
	}
	if name, err := hosts.Normalize(host); err == nil {
		host = name
	}
	return hosts.Match(pattern, host)
}

// matchName compares a rule with the name of an MCP tool: "server_tool" or "server/tool".
func (r *Rule) matchName(name string) bool {
	if r.exact != "" {
		return r.exact == name
	}
	return wildcard(strings.ToLower(r.Pattern), strings.ToLower(name))
}

// matchPath reports whether the rule matches a path, either as given or relative to one of the
// roots. Deny and ask rules ignore case, because some file systems do.
func (r *Rule) matchPath(path string, roots []string) bool {
	for _, p := range append(relatives(path, roots), filepath.ToSlash(path)) {
		if matchName(r.exact, r.glob, p) || r.Action != Allow &&
			matchName(launcher.Fold(r.exact), launcher.Fold(r.glob), launcher.Fold(p)) {
			return true
		}
	}
	return r.Pattern == "*"
}

// matchName compares a path with exact or, if exact is "", with glob.
func matchName(exact, glob, path string) bool {
	if exact != "" {
		return exact == path
	}
	ok, _ := doublestar.Match(glob, path)
	return ok
}

func relatives(path string, roots []string) []string {
	var out []string
	for _, root := range roots {
		rel, err := filepath.Rel(root, path)
		if err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			out = append(out, filepath.ToSlash(rel))
		}
	}
	return out
}

package config

import (
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

const envPrefix = "AGENT_LSP_"

// openAI maps variables to settings. Other programs use the same variables. OPENAI_BASE_URL is
// missing, because it sets the base URL of the built-in provider openai and not a setting.
var openAI = map[string]string{"OPENAI_MODEL": "model"}

// EnvName returns the variable that sets a key: editPolicy → AGENT_LSP_EDIT_POLICY,
// provider.baseUrl → AGENT_LSP_PROVIDER_BASE_URL.
func EnvName(path string) string {
	var b strings.Builder
	b.WriteString(envPrefix)
	lower := false
	for _, r := range path {
		switch {
		case r == '.':
			b.WriteByte('_')
			lower = false
		case unicode.IsUpper(r) && lower:
			b.WriteByte('_')
			fallthrough
		default:
			b.WriteRune(unicode.ToUpper(r))
			lower = !unicode.IsUpper(r)
		}
	}
	return b.String()
}

// envLayer reads the variables of all keys. The strings of a list are separated by commas. Objects
// and other lists are JSON.
func envLayer(environ []string) layer {
	l := layer{kind: Environment, all: true}
	env := make(map[string]string)
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		if value != "" && (strings.HasPrefix(name, envPrefix) || openAI[name] != "") {
			env[name] = value
		}
	}
	if len(env) == 0 {
		return l
	}
	l.tree = map[string]any{}
	for name, path := range openAI {
		if v, ok := env[name]; ok {
			put(l.tree, path, v)
		}
	}
	visit(configType, "", func(path string, f field) {
		text, ok := env[EnvName(path)]
		if !ok {
			return
		}
		if v, ok := envValue(text, f.typ); ok {
			put(l.tree, path, v)
		} else {
			l.broken = append(l.broken, Notice{Layer: l.name(), Path: EnvName(path),
				Text: "expected " + typeName(f.typ) + "; ignored"})
		}
	})
	return l
}

// envValue converts a variable's text to the type of its key.
func envValue(text string, t reflect.Type) (any, bool) {
	switch t.Kind() {
	case reflect.String:
		return text, true
	case reflect.Bool:
		v, err := strconv.ParseBool(text)
		return v, err == nil
	case reflect.Int, reflect.Int64, reflect.Float64:
		v, err := strconv.ParseFloat(text, 64)
		return v, err == nil
	case reflect.Slice:
		if t.Elem().Kind() == reflect.String {
			var list []any
			for s := range strings.SplitSeq(text, ",") {
				list = append(list, strings.TrimSpace(s))
			}
			return list, true
		}
	}
	var v any
	err := json.Unmarshal([]byte(text), &v)
	return v, err == nil
}

// put sets the value at a dotted path and creates the missing objects along the path.
func put(tree map[string]any, path string, v any) {
	for {
		key, rest, more := strings.Cut(path, ".")
		if !more {
			tree[key] = v
			return
		}
		sub, ok := tree[key].(map[string]any)
		if !ok {
			sub = map[string]any{}
			tree[key] = sub
		}
		tree, path = sub, rest
	}
}

// Lookup returns a function that looks up variables in an environment. It is used for ${NAME} and
// for API keys.
func Lookup(environ []string) func(string) string {
	m := make(map[string]string, len(environ))
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok {
			m[name] = value
		}
	}
	return func(name string) string { return m[name] }
}

// Expand replaces ${NAME} and ${env:NAME} with values from the environment. It does not change
// anything else.
func Expand(s string, env func(string) string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, "${")
		if i < 0 {
			break
		}
		n := strings.IndexByte(s[i:], '}')
		if n < 0 {
			break
		}
		b.WriteString(s[:i])
		b.WriteString(env(strings.TrimPrefix(s[i+2:i+n], "env:")))
		s = s[i+n+1:]
	}
	b.WriteString(s)
	return b.String()
}

func syntaxOffset(err error) (int64, bool) {
	var s *json.SyntaxError
	if errors.As(err, &s) {
		return s.Offset, true
	}
	return 0, false
}

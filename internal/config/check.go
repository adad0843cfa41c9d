package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/near"
)

// Notice is a problem in a layer that the user should know about. Text states the expected value
// and what happens to the actual value. It does not show long strings, because they may be secrets.
type Notice struct {
	Layer   string // the layer's kind and the path of its file
	Path    string
	Text    string
	Invalid bool // whether the value has the wrong type, or the layer cannot be read
}

func (n Notice) String() string { return n.Layer + ": " + n.short() }

// short returns the notice without its layer.
func (n Notice) short() string {
	if n.Path == "" {
		return n.Text
	}
	return n.Path + ": " + n.Text
}

// checker validates one layer and removes invalid values.
type checker struct {
	layer   string
	notices []Notice
}

func (c *checker) note(path, format string, args ...any) {
	c.notices = append(c.notices, Notice{Layer: c.layer, Path: path,
		Text: fmt.Sprintf(format, args...)})
}

// object returns the keys of tree that match t. It reports and omits the others.
func (c *checker) object(tree map[string]any, t reflect.Type, prefix string) map[string]any {
	out := make(map[string]any, len(tree))
	for _, key := range slices.Sorted(maps.Keys(tree)) {
		f, ok := fieldOf(t, key)
		if !ok {
			c.note(prefix+key, "unknown key, ignored%s", suggestion(t, key))
			continue
		}
		if tree[key] == nil {
			continue // null means that the layer does not set the value
		}
		if v, ok := c.value(tree[key], f, prefix+key); ok {
			out[key] = v
		}
	}
	return out
}

// value checks one value against its field.
func (c *checker) value(v any, f field, path string) (any, bool) {
	v, ok := c.typed(v, f.typ, path)
	if !ok {
		return nil, false
	}
	if s, isString := v.(string); isString && f.enum != nil && !slices.Contains(f.enum, s) {
		c.note(path, "expected one of %s, not %s; ignored", strings.Join(f.enum, ", "), kindOf(v))
		return nil, false
	}
	if n, isNumber := v.(float64); isNumber {
		if least, err := strconv.ParseFloat(f.min, 64); err == nil && n < least {
			c.note(path, "expected at least %s, not %v; ignored", f.min, n)
			return nil, false
		}
		if most, err := strconv.ParseFloat(f.max, 64); err == nil && n > most {
			c.note(path, "expected at most %s, not %v; ignored", f.max, n)
			return nil, false
		}
	}
	return v, true
}

func (c *checker) typed(v any, t reflect.Type, path string) (any, bool) {
	if t == rawType {
		return v, true
	}
	switch t.Kind() {
	case reflect.Struct:
		if m, ok := v.(map[string]any); ok {
			return c.object(m, t, path+"."), true
		}
	case reflect.Map:
		if m, ok := v.(map[string]any); ok {
			return c.entries(m, t.Elem(), path), true
		}
	case reflect.Slice:
		if l, ok := v.([]any); ok {
			return c.list(l, t.Elem(), path), true
		}
	case reflect.String:
		if _, ok := v.(string); ok {
			return v, true
		}
	case reflect.Bool:
		if _, ok := v.(bool); ok {
			return v, true
		}
	case reflect.Int, reflect.Int64:
		if n, ok := v.(float64); ok && n == math.Trunc(n) && math.Abs(n) < 1<<53 {
			return v, true
		}
	case reflect.Float64:
		if _, ok := v.(float64); ok {
			return v, true
		}
	}
	c.note(path, "expected %s, not %s; ignored", typeName(t), kindOf(v))
	c.notices[len(c.notices)-1].Invalid = true
	return nil, false
}

func (c *checker) entries(m map[string]any, elem reflect.Type, path string) map[string]any {
	out := make(map[string]any, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if m[key] == nil {
			continue
		}
		if path == "providers" && !providerName().MatchString(key) {
			c.note(path+"."+key, "a provider's name may contain only lower-case letters, digits and hyphens; ignored")
			continue
		}
		if v, ok := c.typed(m[key], elem, path+"."+key); ok {
			out[key] = v
		}
	}
	return out
}

func (c *checker) list(l []any, elem reflect.Type, path string) []any {
	out := make([]any, 0, len(l))
	for i, v := range l {
		if path == "permissions.rules" {
			v = ruleText(v)
		}
		if v, ok := c.typed(v, elem, fmt.Sprintf("%s[%d]", path, i)); ok {
			out = append(out, v)
		}
	}
	return out
}

// ruleText converts a rule written as an object to its text: {"allow": "bash(ls*)"} and {"action":
// "allow", "tool": "bash", "pattern": "ls*"}.
func ruleText(v any) any {
	m, ok := v.(map[string]any)
	if !ok {
		return v
	}
	for _, action := range []string{"allow", "deny", "ask"} {
		if s, ok := m[action].(string); ok && len(m) == 1 {
			return action + " " + s
		}
	}
	action, _ := m["action"].(string)
	tool, _ := m["tool"].(string)
	if action == "" || tool == "" {
		return v
	}
	if pattern, ok := m["pattern"].(string); ok {
		return action + " " + tool + "(" + pattern + ")"
	}
	return action + " " + tool
}

// typeName describes the type of a key in words.
func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct:
		return "an object"
	case reflect.Map:
		return "an object of " + plural(t.Elem())
	case reflect.Slice:
		return "a list of " + plural(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Float64:
		return "a number"
	}
	return "a string"
}

func plural(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Struct:
		return "objects"
	case reflect.Slice, reflect.Map:
		return "lists"
	case reflect.Int, reflect.Int64, reflect.Float64:
		return "numbers"
	}
	return "strings"
}

// kindOf describes a value for a notice. It shows null, Booleans, numbers and short strings, and
// only the type of any other value.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return strconv.FormatBool(v)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		if len(v) <= 20 {
			return strconv.Quote(v)
		}
		return "a string"
	case []any:
		return "a list"
	}
	return "an object"
}

// suggestion returns an addition to the notice about an unknown key, which names the key that the
// user probably meant. It returns "" if there is no similar key.
func suggestion(t reflect.Type, key string) string {
	plain := strings.NewReplacer("_", "", "-", "").Replace(key)
	if _, named := fieldOf(t, "apiKeyEnv"); named &&
		slices.Contains([]string{"apikey", "key", "token"}, strings.ToLower(plain)) {
		return " (settings cannot contain a key; set apiKeyEnv to the name of the environment variable that does)"
	}
	var keys []string
	for _, f := range fieldsOf(t) {
		keys = append(keys, f.key)
	}
	if meant := near.Of(plain, keys); meant != "" {
		return ` (did you mean "` + meant + `"?)`
	}
	return ""
}

// parse parses a layer's text: JSON that may contain comments and trailing commas.
func parse(text []byte) (map[string]any, error) {
	if len(strings.TrimSpace(string(text))) == 0 {
		return nil, nil
	}
	var v any
	if err := json.Unmarshal(plainJSON(text), &v); err != nil {
		return nil, err
	}
	if v == nil {
		return nil, nil
	}
	m, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("expected an object, not %s", kindOf(v))
	}
	return m, nil
}

// plainJSON removes a byte order mark. It replaces comments and trailing commas with spaces, so
// that line numbers do not change.
func plainJSON(b []byte) []byte {
	out := []byte(strings.TrimPrefix(string(b), "\uFEFF"))
	comma := -1
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			comma = -1
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			i = blankComment(out, i)
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			out[comma] = ' '
			comma = -1
		case c != ' ' && c != '\t' && c != '\n' && c != '\r':
			comma = -1
		}
	}
	return out
}

// blankComment replaces the comment that begins at i with spaces and returns the offset of its last
// byte.
func blankComment(out []byte, i int) int {
	end := len(out)
	if out[i+1] == '/' {
		if n := strings.IndexByte(string(out[i:]), '\n'); n >= 0 {
			end = i + n
		}
	} else if n := strings.Index(string(out[i+2:]), "*/"); n >= 0 {
		end = i + 2 + n + 2
	}
	for ; i < end; i++ {
		if out[i] != '\n' {
			out[i] = ' '
		}
	}
	return end - 1
}

package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/agent-lsp/agent-lsp/internal/clip"
)

// Limits of error results for invalid arguments.
const (
	// MaxProblems is the maximum number of problems with a call's arguments that one result lists.
	MaxProblems = 20
	// MaxQuote is the maximum number of bytes of invalid input that a result quotes.
	MaxQuote = 400
)

// schema checks and coerces a tool's arguments, and reports problems to the model. jsonschema-go
// stops at the first problem. To report all problems together, schema itself checks the common
// keywords, and the library checks the rest.
type schema struct {
	root     *jsonschema.Schema   // nil means that any arguments are valid
	resolved *jsonschema.Resolved // nil if the library did not accept the schema
	given    map[string]string    // Spec.ParamAliases
	aliases  map[string]string    // lower-case alias of a parameter to its real name
	bare     map[string]string    // Spec.BareItems
	text     json.RawMessage
	loaded   sync.Once
}

func newSchema(spec Spec) *schema {
	return &schema{given: spec.ParamAliases, bare: spec.BareItems, text: spec.Schema}
}

// load reads the schema on first use, because most tools are never called in a session.
func (a *schema) load() {
	a.aliases = make(map[string]string, len(a.given))
	for other, real := range a.given {
		a.aliases[strings.ToLower(other)] = real
	}
	var root jsonschema.Schema
	if len(a.text) > 0 && json.Unmarshal(a.text, &root) == nil {
		root.Schema = "" // an unknown draft is treated as the newest one
		a.root = &root
		a.resolved, _ = root.Resolve(nil)
	}
}

// prepare returns the arguments with corrected parameter names and types, as JSON and decoded. If
// problems remain, it returns all of them instead.
func (a *schema) prepare(raw json.RawMessage) (json.RawMessage, map[string]any, []string) {
	a.loaded.Do(a.load)
	args, err := decodeObject(raw)
	if err != nil {
		return nil, nil, []string{err.Error()}
	}
	if a.root == nil {
		return raw, args, nil
	}
	w := &argWalk{}
	a.rename(args, w)
	a.wrap(args, w)
	w.object(a.root, args, "")
	if w.changed {
		raw = encodeArgs(args)
	}
	if len(w.problems) == 0 {
		a.lastWord(args, w)
	}
	if len(w.problems) > 0 {
		return nil, nil, w.problems
	}
	return raw, args, nil
}

// lastWord lets the library check a copy of the arguments in which numbers are float64, because the
// library treats a json.Number as a string.
func (a *schema) lastWord(args map[string]any, w *argWalk) {
	if a.resolved == nil {
		return
	}
	plain, ok := withFloats(args)
	if !ok {
		return
	}
	if err := a.resolved.Validate(plain); err != nil {
		w.problem("", "%s", libraryProblem(err))
	}
}

// withFloats returns a copy of a decoded value in which numbers are float64. ok is false if a
// number does not fit.
func withFloats(v any) (_ any, ok bool) {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, x := range v {
			if out[name], ok = withFloats(x); !ok {
				return nil, false
			}
		}
		return out, true
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			if out[i], ok = withFloats(x); !ok {
				return nil, false
			}
		}
		return out, true
	}
	return v, true
}

// decodeObject decodes the arguments of a call. The error is for the model.
func decodeObject(raw json.RawMessage) (map[string]any, error) {
	v, err := decodeArgs(raw)
	if err != nil {
		return nil, fmt.Errorf("the arguments are not valid JSON: %w", err)
	}
	args, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("the arguments must be a JSON object, got %s", kindOf(v))
	}
	return args, nil
}

func decodeArgs(raw json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("there is more text after the value")
	}
	return v, nil
}

func encodeArgs(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(v) // v was built from decoded JSON, so encoding cannot fail
	return bytes.TrimSpace(b.Bytes())
}

// rename replaces aliases of parameters, and names that differ only in case, underscores or
// hyphens, with the real names.
func (a *schema) rename(args map[string]any, w *argWalk) {
	for name, v := range args {
		if _, ok := a.root.Properties[name]; ok {
			continue
		}
		real := a.aliases[strings.ToLower(name)]
		if real == "" {
			real = foldedName(a.root.Properties, name)
		}
		if _, taken := args[real]; real != "" && !taken {
			args[real] = v
			delete(args, name)
			w.changed = true
		}
	}
}

// wrap converts bare strings in lists of objects to objects.
func (a *schema) wrap(args map[string]any, w *argWalk) {
	for name, property := range a.bare {
		list, _ := args[name].([]any)
		for i, v := range list {
			if s, ok := v.(string); ok && !strings.HasPrefix(strings.TrimSpace(s), "{") {
				list[i], w.changed = map[string]any{property: s}, true
			}
		}
	}
}

// foldedName returns the property that differs from name only in case, underscores and hyphens. It
// returns "" if there is none, or more than one.
func foldedName(props map[string]*jsonschema.Schema, name string) string {
	fold := func(s string) string {
		return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(s))
	}
	found := ""
	for p := range props {
		if fold(p) == fold(name) {
			if found != "" {
				return ""
			}
			found = p
		}
	}
	return found
}

// libraryProblem removes the library's own preamble from an error.
func libraryProblem(err error) string {
	s := err.Error()
	if i := strings.LastIndex(s, ": validating "); i >= 0 {
		s = s[i+2:]
	}
	return s
}

// argWalk walks the arguments and the schema together. It coerces values where possible and
// collects the problems.
type argWalk struct {
	problems []string
	changed  bool
}

func (w *argWalk) problem(path, format string, args ...any) {
	if len(w.problems) > MaxProblems {
		return
	}
	text := fmt.Sprintf(format, args...)
	if path != "" {
		text = strconv.Quote(path) + ": " + text
	}
	w.problems = append(w.problems, text)
}

func (w *argWalk) object(s *jsonschema.Schema, obj map[string]any, path string) {
	for _, name := range s.Required {
		if _, ok := obj[name]; !ok {
			w.problem(join(path, name), "missing required parameter%s",
				describe(s.Properties[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(obj)) {
		p, ok := s.Properties[name]
		switch {
		case ok:
			w.property(s, p, obj, name, path)
		case isFalse(s.AdditionalProperties) && len(s.PatternProperties) == 0:
			w.problem(join(path, name), "unknown parameter; the known parameters are %s",
				strings.Join(slices.Sorted(maps.Keys(s.Properties)), ", "))
		case s.AdditionalProperties != nil && len(s.PatternProperties) == 0:
			obj[name] = w.value(s.AdditionalProperties, obj[name], join(path, name))
		}
	}
}

// property checks one property. An optional property that is null is treated as absent.
func (w *argWalk) property(s, p *jsonschema.Schema, obj map[string]any, name, path string) {
	if obj[name] == nil && len(types(p)) > 0 && !slices.Contains(types(p), "null") &&
		!slices.Contains(s.Required, name) {
		delete(obj, name)
		w.changed = true
		return
	}
	obj[name] = w.value(p, obj[name], join(path, name))
}

func (w *argWalk) value(s *jsonschema.Schema, v any, path string) any {
	if want := types(s); len(want) > 0 && !fits(want, v) {
		c, ok := coerce(want, v)
		if !ok {
			w.problem(path, "must be %s, got %s%s", strings.Join(want, " or "), kindOf(v),
				hint(want, v))
			return v
		}
		v, w.changed = c, true
	}
	if len(s.Enum) > 0 && !slices.ContainsFunc(s.Enum, func(e any) bool {
		return jsonschema.Equal(e,
			plainNumber(v))
	}) {
		w.problem(path, "must be one of %s, got %s", encodeArgs(s.Enum),
			Quote(string(encodeArgs(v))))
		return v
	}
	switch v := v.(type) {
	case map[string]any:
		w.object(s, v, path)
	case []any:
		for i := range v {
			if s.Items != nil {
				v[i] = w.value(s.Items, v[i], fmt.Sprintf("%s[%d]", path, i))
			}
		}
	}
	return v
}

// plainNumber converts a json.Number to a float64, or to a string if it does not fit. The library
// would expand numbers whose exponents are in the millions.
func plainNumber(v any) any {
	if n, ok := v.(json.Number); ok {
		if f, err := n.Float64(); err == nil {
			return f
		}
		return string(n)
	}
	return v
}

func types(s *jsonschema.Schema) []string {
	if s == nil {
		return nil
	}
	if s.Type != "" {
		return []string{s.Type}
	}
	return s.Types
}

// isFalse reports whether s is a schema that no value matches.
func isFalse(s *jsonschema.Schema) bool {
	if s == nil || s.Not == nil {
		return false
	}
	b, err := json.Marshal(s)
	return err == nil && string(b) == "false"
}

func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if isInteger(v) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	default:
		return "object"
	}
}

func isInteger(n json.Number) bool {
	if _, err := n.Int64(); err == nil {
		return true
	}
	f, err := n.Float64()
	return err == nil && f == float64(int64(f))
}

func fits(want []string, v any) bool {
	kind := kindOf(v)
	return slices.Contains(want, kind) || kind == "integer" && slices.Contains(want, "number")
}

// coerce corrects frequent mistakes of models: numbers and Booleans as strings and the reverse,
// arrays and objects as encoded strings, and a single element instead of an array.
func coerce(want []string, v any) (any, bool) {
	for _, t := range want {
		if c, ok := coerceTo(t, v); ok {
			return c, true
		}
	}
	return nil, false
}

func coerceTo(t string, v any) (any, bool) {
	s, isString := v.(string)
	trimmed := strings.TrimSpace(s)
	switch t {
	case "integer", "number":
		n := json.Number(trimmed)
		if f, err := n.Float64(); isString && err == nil && json.Valid([]byte(trimmed)) &&
			(t == "number" || f == float64(int64(f))) {
			return n, true
		}
	case "boolean":
		if b, err := strconv.ParseBool(strings.ToLower(trimmed)); isString && err == nil {
			return b, true
		}
	case "string":
		switch v.(type) {
		case json.Number, bool:
			return string(encodeArgs(v)), true
		}
	case "array", "object":
		return coerceNested(t, trimmed, v)
	}
	return nil, false
}

func coerceNested(t, text string, v any) (any, bool) {
	if text != "" {
		if d, err := decodeArgs(json.RawMessage(text)); err == nil && kindOf(d) == t {
			return d, true
		}
	}
	if t == "array" && v != nil && kindOf(v) != "object" && !strings.HasPrefix(text, "[") {
		return []any{v}, true
	}
	return nil, false
}

func hint(want []string, v any) string {
	s, ok := v.(string)
	if ok && (slices.Contains(want, "array") || slices.Contains(want, "object")) &&
		strings.ContainsAny(s, "[{") {
		return "; it looks like JSON inside a string: send the value itself"
	}
	return ""
}

func describe(s *jsonschema.Schema) string {
	if t := types(s); len(t) > 0 {
		return " (" + strings.Join(t, " or ") + ")"
	}
	return ""
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// Quote shortens invalid input for a result.
func Quote(s string) string {
	return clip.Bytes(s, MaxQuote)
}

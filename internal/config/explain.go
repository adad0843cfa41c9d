package config

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"
)

// Explanation describes which layer a key's value comes from.
type Explanation struct {
	Path   string
	Value  string   // as JSON; values that may be secrets are replaced by "(set)"
	Layer  string   // the layer that set the value
	Hidden []string // other layers that set it and were overridden; the highest layer is first
}

// Explain returns every key that has a value, in the order of the documentation.
func (s *Set) Explain() []Explanation {
	var all []Explanation
	visit(configType, "", func(path string, f field) {
		if f.typ.Kind() == reflect.Struct {
			return
		}
		v, ok := lookup(s.tree, path)
		if !ok {
			return
		}
		e := Explanation{Path: path, Value: shown(path, v)}
		for i := len(s.origin) - 1; i >= 0; i-- {
			if _, ok := lookup(s.origin[i].tree, path); !ok {
				continue
			}
			if e.Layer == "" {
				e.Layer = s.origin[i].name
			} else {
				e.Hidden = append(e.Hidden, s.origin[i].name)
			}
		}
		all = append(all, e)
	})
	return all
}

// shown returns a value for display. It omits the values of headers, environments and query
// parameters, which may be secrets.
func shown(path string, v any) string {
	v = masked(path, v)
	b, err := json.Marshal(v)
	if err != nil {
		return "?"
	}
	return string(b)
}

func masked(path string, v any) any {
	key := path[strings.LastIndexByte(path, '.')+1:]
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, x := range v {
			if s, isText := x.(string); isText &&
				(key == "headers" || key == "env" || key == "query") &&
				!strings.HasPrefix(s, "${") {
				out[k] = "(set)"
				continue
			}
			out[k] = masked(path+"."+k, x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = masked(path, v[i])
		}
		return out
	}
	return v
}

// WriteExplanation writes the effective settings with their layers, then the notices.
func (s *Set) WriteExplanation(w io.Writer) error {
	var b strings.Builder
	for _, e := range s.Explain() {
		fmt.Fprintf(&b, "%s = %s  (%s", e.Path, e.Value, e.Layer)
		if len(e.Hidden) > 0 {
			fmt.Fprintf(&b, "; over %s", strings.Join(e.Hidden, ", "))
		}
		b.WriteString(")\n")
	}
	for _, n := range s.notices {
		fmt.Fprintf(&b, "notice: %s\n", n)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

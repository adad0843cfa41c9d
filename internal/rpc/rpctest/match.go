package rpctest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"
)

// Match compares a value with a pattern. It returns "" if they match, and otherwise describes the
// difference. In an object, only the pattern's keys are compared. The pattern null matches null or
// an absent value, a string "~re" is a regular expression, and "*" matches any existing value.
// Arrays are compared element by element. If an array pattern ends in "...", additional elements
// are allowed.
func Match(pattern, got any) string { return match("", pattern, got) }

// MatchJSON is like Match, for encoded values. An empty pattern matches everything.
func MatchJSON(pattern string, got json.RawMessage) string {
	if strings.TrimSpace(pattern) == "" {
		return ""
	}
	var p, g any
	if err := json.Unmarshal([]byte(pattern), &p); err != nil {
		return fmt.Sprintf("pattern %s: %v", pattern, err)
	}
	if len(got) > 0 {
		if err := json.Unmarshal(got, &g); err != nil {
			return fmt.Sprintf("message: %v", err)
		}
	}
	return Match(p, g)
}

func match(path string, pattern, got any) string {
	switch p := pattern.(type) {
	case nil:
		if got != nil {
			return fmt.Sprintf("%s: want nothing, got %s", path, show(got))
		}
	case string:
		return matchString(path, p, got)
	case map[string]any:
		return matchObject(path, p, got)
	case []any:
		return matchArray(path, p, got)
	default:
		if !reflect.DeepEqual(pattern, got) {
			return fmt.Sprintf("%s: want %s, got %s", path, show(pattern), show(got))
		}
	}
	return ""
}

func matchString(path, p string, got any) string {
	if p == "*" && got != nil {
		return ""
	}
	s, ok := got.(string)
	if !ok {
		return fmt.Sprintf("%s: want %q, got %s", path, p, show(got))
	}
	if re, isRegexp := strings.CutPrefix(p, "~"); isRegexp {
		r, err := regexp.Compile("(?s)" + re)
		if err != nil {
			return fmt.Sprintf("%s: %v", path, err)
		}
		if r.MatchString(s) {
			return ""
		}
	} else if s == p {
		return ""
	}
	return fmt.Sprintf("%s: want %q, got %q", path, p, s)
}

func matchObject(path string, p map[string]any, got any) string {
	g, ok := got.(map[string]any)
	if !ok {
		return fmt.Sprintf("%s: want an object, got %s", path, show(got))
	}
	for k, v := range p {
		if diff := match(path+"."+k, v, g[k]); diff != "" {
			return diff
		}
	}
	return ""
}

func matchArray(path string, p []any, got any) string {
	g, ok := got.([]any)
	if !ok {
		return fmt.Sprintf("%s: want an array, got %s", path, show(got))
	}
	open := len(p) > 0 && p[len(p)-1] == "..."
	if open {
		p = p[:len(p)-1]
	}
	if len(g) < len(p) || (!open && len(g) != len(p)) {
		return fmt.Sprintf("%s: want %d elements, got %d: %s", path, len(p), len(g), show(got))
	}
	for i := range p {
		if diff := match(fmt.Sprintf("%s[%d]", path, i), p[i], g[i]); diff != "" {
			return diff
		}
	}
	return ""
}

func show(v any) string {
	b, _ := json.Marshal(v)
	if len(b) > 400 {
		b = append(b[:400], "…"...)
	}
	return string(b)
}

package history

import (
	"bytes"
	"encoding/json"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// cutArgs returns a copy of m in which long strings are cut in the arguments of calls whose
// arguments are long. It returns nil if nothing was cut.
func cutArgs(m *message.Message) *message.Message {
	long := false
	for _, c := range m.ToolCalls() {
		long = long || len(c.Args) > argBytes
	}
	if !long {
		return nil
	}
	cp := m.Clone()
	changed := false
	for _, c := range cp.ToolCalls() {
		var v any
		dec := json.NewDecoder(bytes.NewReader(c.Args))
		dec.UseNumber()
		if len(c.Args) <= argBytes || dec.Decode(&v) != nil {
			continue
		}
		if b, err := json.Marshal(cutStrings(v)); err == nil && len(b) < len(c.Args) {
			c.Args, changed = b, true
		}
	}
	if !changed {
		return nil
	}
	return cp
}

func cutStrings(v any) any {
	switch v := v.(type) {
	case string:
		if len(v) > argBytes/2 {
			return headTail(v, argBytes/8, argBytes/8, "")
		}
	case []any:
		for i := range v {
			v[i] = cutStrings(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = cutStrings(v[k])
		}
	}
	return v
}

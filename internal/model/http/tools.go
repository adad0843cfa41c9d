package modelhttp

import (
	"bytes"
	"encoding/json"
	"slices"
	"sync/atomic"

	"github.com/agent-lsp/agent-lsp/internal/agent"
)

// ToolList caches the encoding of the last request's tools, which rarely change between requests.
// It is safe for concurrent use. The zero value is empty.
type ToolList struct{ last atomic.Pointer[encodedTools] }

type encodedTools struct {
	tools    []agent.ToolSpec
	encoding []byte
}

// Encode returns the tools as a JSON array. The function one appends a single tool.
func (l *ToolList) Encode(tools []agent.ToolSpec, one func([]byte, *agent.ToolSpec) []byte) []byte {
	if last := l.last.Load(); last != nil && slices.EqualFunc(tools, last.tools, sameTool) {
		return last.encoding
	}
	b := []byte{'['}
	for i := range tools {
		b = one(Next(b, 1), &tools[i])
	}
	b = append(b, ']')
	l.last.Store(&encodedTools{slices.Clone(tools), b})
	return b
}

// AppendSchema appends a key and the JSON Schema of a tool's arguments. A tool without a schema
// takes no arguments.
func AppendSchema(b []byte, key string, t *agent.ToolSpec) []byte {
	b = AppendKey(b, key)
	if json.Valid(t.Schema) && len(t.Schema) > 0 {
		return append(b, t.Schema...)
	}
	return append(b, `{"type":"object","properties":{}}`...)
}

func sameTool(a, b agent.ToolSpec) bool {
	return a.Name == b.Name && a.Description == b.Description &&
		bytes.Equal(a.Schema, b.Schema)
}

package rpc

import (
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
)

// lenient are the rules by which a client's JSON is read.
var lenient = jsonrpc.Lenient

// codec is what the connection encodes and decodes with.
var codec = agentapi.Codec

func encode(v any) []byte { return agentapi.Encode(v) }

// object reads a JSON object whose fields may have any type: what does not fit counts as absent.
type object map[string]jsontext.Value

func objectFrom(data []byte) object {
	var o object
	if jsonv2.Unmarshal(data, &o, lenient) != nil {
		return nil
	}
	return o
}

func (o object) object(name string) object { return objectFrom(o[name]) }

func (o object) has(name string) bool {
	v, ok := o[name]
	return ok && v.Kind() != 'n' && v.Kind() != 'f'
}

func (o object) string(name string) string {
	var s string
	if jsonv2.Unmarshal(o[name], &s, lenient) != nil {
		return ""
	}
	return s
}

func (o object) bool(name string) bool { return o[name].Kind() == 't' }

// int accepts a number also as a string.
func (o object) int(name string) int {
	var n int
	if jsonv2.Unmarshal(o[name], &n, lenient, jsonv2.StringifyNumbers(o[name].Kind() == '"')) != nil {
		return 0
	}
	return n
}

func (o object) strings(name string) []string {
	var values []jsontext.Value
	if jsonv2.Unmarshal(o[name], &values, lenient) != nil {
		return nil
	}
	var out []string
	for _, v := range values {
		var s string
		if jsonv2.Unmarshal(v, &s, lenient) == nil {
			out = append(out, s)
		}
	}
	return out
}

func (o object) objects(name string) []object {
	var values []jsontext.Value
	if jsonv2.Unmarshal(o[name], &values, lenient) != nil {
		return nil
	}
	out := make([]object, 0, len(values))
	for _, v := range values {
		if sub := objectFrom(v); sub != nil {
			out = append(out, sub)
		}
	}
	return out
}

package agentapi

import (
	"github.com/go-json-experiment/json/jsontext"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
)

// lenient are the rules by which a client's JSON is read.
var lenient = jsonrpc.Lenient

// Codec is what a connection encodes and decodes the wire's structs with.
var Codec = jsonrpc.Codec{
	Encode: func(v any) ([]byte, error) { return jsonv2.Marshal(v, lenient) },
	Decode: func(data []byte, v any) error { return jsonv2.Unmarshal(data, v, lenient) },
}

// Encode writes a struct of the wire. It returns nil for raw JSON that is not valid, which only a
// tool can have made: our own structs always encode.
func Encode(v any) []byte {
	data, err := Codec.Marshal(v)
	if err != nil {
		return nil
	}
	return data
}

func isObject(data []byte) bool {
	var fields map[string]jsontext.Value
	return jsonv2.Unmarshal(data, &fields, lenient) == nil && fields != nil
}

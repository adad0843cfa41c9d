package agentapi

import (
	"github.com/go-json-experiment/json/jsontext"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
)

// lenient are the options for decoding a client's JSON.
var lenient = jsonrpc.Lenient

// Codec encodes and decodes the structs of package wire.
var Codec = jsonrpc.Codec{
	Encode: func(v any) ([]byte, error) { return jsonv2.Marshal(v, lenient) },
	Decode: func(data []byte, v any) error { return jsonv2.Unmarshal(data, v, lenient) },
}

// Encode encodes a wire struct. agent-lsp's own structs can always be encoded. Encode returns nil
// if the struct contains invalid raw JSON, which only a tool can have produced.
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

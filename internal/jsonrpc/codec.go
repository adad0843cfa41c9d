package jsonrpc

import (
	"encoding/json"

	"go.lsp.dev/jsonrpc2"
)

// Codec encodes and decodes the messages of a connection. It passes JSON that is already encoded
// through unchanged and uses Encode and Decode for all other values. Codec is safe for concurrent
// use if Encode and Decode are.
type Codec struct {
	Encode func(v any) ([]byte, error)
	Decode func(data []byte, v any) error
}

var _ jsonrpc2.Codec = Codec{}

// Marshal implements [jsonrpc2.Codec].
func (c Codec) Marshal(v any) ([]byte, error) {
	switch v := v.(type) {
	case jsonrpc2.RawMessage:
		return v, nil
	case json.RawMessage:
		return v, nil
	}
	return c.Encode(v)
}

// Unmarshal implements [jsonrpc2.Codec]. Raw JSON is copied.
func (c Codec) Unmarshal(data []byte, v any) error {
	if raw, ok := v.(*json.RawMessage); ok {
		*raw = append((*raw)[:0], data...)
		return nil
	}
	return c.Decode(data, v)
}

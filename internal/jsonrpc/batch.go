package jsonrpc

import (
	"bytes"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"
)

// notARequest replaces a member of a batch that is not an object. jsonrpc2 answers it with -32600
// and handles the other members normally.
var notARequest = jsontext.Value(`{}`)

// splitBatch returns the frames into which a batch is split. Each of the client's responses becomes
// a separate frame, because jsonrpc2 accepts only requests in a batch. All other members form one
// batch, which is answered with one array.
func splitBatch(body []byte) (frames [][]byte, bad *frameError) {
	var all, rest []jsontext.Value
	if jsonv2.Unmarshal(body, &all, Lenient) != nil {
		return nil, errNotJSON
	}
	if len(all) == 0 {
		return nil, &frameError{
			code:    jsonrpc2.InvalidRequest,
			message: "the batch is empty; it needs at least one message",
		}
	}
	for _, m := range all {
		switch {
		case m.Kind() != '{':
			rest = append(rest, notARequest)
		case len(AnsweredIDs(m)) > 0:
			frames = append(frames, m)
		default:
			rest = append(rest, m)
		}
	}
	if len(rest) > 0 {
		out, _ := jsonv2.Marshal(rest, Lenient) // cannot fail, because the values are valid
		frames = append(frames, out)
	}
	return frames, nil
}

// opensBatch reports whether a body begins like a batch.
func opensBatch(body []byte) bool {
	return isBatch(bytes.TrimLeft(body, " \t\r\n"))
}

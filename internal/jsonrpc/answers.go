package jsonrpc

import (
	"slices"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.lsp.dev/jsonrpc2"
)

// Lenient accepts JSON that peers send in practice. Invalid UTF-8 becomes U+FFFD, and duplicate
// members are accepted. Unknown members are always ignored.
var Lenient = jsonv2.JoinOptions(jsontext.AllowInvalidUTF8(true),
	jsontext.AllowDuplicateNames(true))

// AnsweredIDs returns the IDs of the requests that a body answers. The body is a message or a
// batch. Requests and notifications in the body are ignored.
func AnsweredIDs(body []byte) []jsonrpc2.ID {
	if isBatch(body) {
		var ids []jsonrpc2.ID
		for _, m := range members(body) {
			ids = append(ids, AnsweredIDs(m)...)
		}
		return ids
	}
	view, err := jsonrpc2.ScanMessageView(body)
	if err != nil || view.Kind != jsonrpc2.MessageViewResponseResult &&
		view.Kind != jsonrpc2.MessageViewResponseError {
		return nil
	}
	return []jsonrpc2.ID{IDFrom(view.IDRaw)}
}

// Without returns a body without the messages for which the function drop returns true, or nil if
// no message is left. The body is a message or a batch.
func Without(body []byte, drop func(message []byte) bool) []byte {
	if !isBatch(body) {
		if drop(body) {
			return nil
		}
		return body
	}
	all := members(body)
	kept := slices.DeleteFunc(slices.Clone(all), func(m jsontext.Value) bool { return drop(m) })
	switch len(kept) {
	case len(all):
		return body
	case 0:
		return nil
	}
	out, _ := jsonv2.Marshal(kept, Lenient) // cannot fail, because the values are valid
	return out
}

// IDFrom parses the ID of a message. If the ID is neither an integer nor a string, IDFrom returns
// the zero ID.
func IDFrom(raw []byte) jsonrpc2.ID {
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return jsonrpc2.NewNumberID(n)
	}
	var s string
	if jsonv2.Unmarshal(raw, &s, Lenient) != nil {
		return jsonrpc2.ID{}
	}
	return jsonrpc2.NewStringID(s)
}

func isBatch(body []byte) bool { return len(body) > 0 && body[0] == '[' }

// members returns the messages of a batch, or nil if it is not a JSON array.
func members(batch []byte) []jsontext.Value {
	var all []jsontext.Value
	if jsonv2.Unmarshal(batch, &all, Lenient) != nil {
		return nil
	}
	return all
}

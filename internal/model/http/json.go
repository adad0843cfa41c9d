package modelhttp

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// AppendString appends s as a JSON string.
func AppendString(dst []byte, s string) []byte {
	dst, _ = jsontext.AppendQuote(dst, strings.ToValidUTF8(s, "\uFFFD"))
	return dst
}

// AppendKey appends the key, preceded by a comma unless the object is empty.
func AppendKey(dst []byte, key string) []byte {
	if n := len(dst); n > 0 && dst[n-1] != '{' {
		dst = append(dst, ',')
	}
	return append(append(append(dst, '"'), key...), '"', ':')
}

// AppendField appends a member with a string value.
func AppendField(dst []byte, key, value string) []byte {
	return AppendString(AppendKey(dst, key), value)
}

// AppendInt appends a member with an integer value.
func AppendInt(dst []byte, key string, n int) []byte {
	return strconv.AppendInt(AppendKey(dst, key), int64(n), 10)
}

// AppendFloat appends a number unless it is zero. Zero means the provider's default.
func AppendFloat(dst []byte, key string, f float64) []byte {
	if f == 0 || f != f {
		return dst
	}
	return strconv.AppendFloat(AppendKey(dst, key), f, 'g', -1, 64)
}

// AppendOptional appends a number if it is set, even if it is zero.
func AppendOptional(dst []byte, key string, f *float64) []byte {
	if f == nil || *f != *f {
		return dst
	}
	return strconv.AppendFloat(AppendKey(dst, key), *f, 'g', -1, 64)
}

// JSONKey returns k as it is written between the quotes of a JSON string.
func JSONKey(k string) string {
	q := AppendString(nil, k)
	return string(q[1 : len(q)-1])
}

// Lenient are the options for decoding JSON from providers.
var Lenient = jsonv2.JoinOptions(
	jsontext.AllowInvalidUTF8(true),
	jsontext.AllowDuplicateNames(true),
)

// Present reports whether a member exists and is not null.
func Present(v jsontext.Value) bool { return len(v) > 0 && v[0] != 'n' }

// Word decodes a JSON string. It returns "" for null or an absent member, and the JSON text of any
// other value, such as a number.
func Word(v jsontext.Value) string {
	if !Present(v) {
		return ""
	}
	if v[0] != '"' {
		return string(v)
	}
	var l Joiner
	return l.Add(v) + l.End()
}

// Integer decodes a number from 0 to 1e9, or a string that contains one. It drops the fraction.
func Integer(v jsontext.Value) (int, bool) {
	f, err := strconv.ParseFloat(Word(v), 64)
	if err != nil || f != f || f < 0 || f > 1e9 {
		return 0, false
	}
	return int(f), true
}

// ToolCall returns a call. Arguments that are not an object are kept in Raw.
func ToolCall(id, name, args string) *message.ToolCall {
	call := &message.ToolCall{ID: id, Name: name, Args: json.RawMessage(args)}
	if t := strings.TrimSpace(args); !strings.HasPrefix(t, "{") || !json.Valid(call.Args) {
		call.Args, call.Raw, call.Problem = json.RawMessage(
			"{}",
		), args, "the arguments are not a JSON object"
		if t == "" {
			call.Raw, call.Problem = "", ""
		}
	}
	return call
}

// QuoteUnlessJSON returns data as a JSON value. It quotes data that begins neither an object nor a
// string.
func QuoteUnlessJSON(data []byte) []byte {
	if data = bytes.TrimSpace(data); len(data) > 0 && (data[0] == '{' || data[0] == '"') {
		return data
	}
	return AppendString(nil, string(data))
}

// Next appends a comma, unless the next element is the first one of a list that begins at start.
func Next(b []byte, start int) []byte {
	if len(b) > start {
		b = append(b, ',')
	}
	return b
}

package conn

import (
	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
)

// lenient are the options for decoding a client's JSON.
var lenient = jsonrpc.Lenient

// Object is a JSON object whose fields may have any type. A field of the wrong type is treated as
// absent.
type Object map[string]jsontext.Value

// ObjectFrom decodes an object. It returns nil for any other value.
func ObjectFrom(data []byte) Object {
	var o Object
	if jsonv2.Unmarshal(data, &o, lenient) != nil {
		return nil
	}
	return o
}

// Object returns a field that is an object. For any other field, it returns nil.
func (o Object) Object(name string) Object { return ObjectFrom(o[name]) }

// Has reports whether a field exists and is neither null nor false.
func (o Object) Has(name string) bool {
	v, ok := o[name]
	return ok && v.Kind() != 'n' && v.Kind() != 'f'
}

// String returns a field that is a string. For any other field, it returns "".
func (o Object) String(name string) string {
	var s string
	if jsonv2.Unmarshal(o[name], &s, lenient) != nil {
		return ""
	}
	return s
}

// Bool reports whether a field is true.
func (o Object) Bool(name string) bool { return o[name].Kind() == 't' }

// Int returns a field that is an integer or a string with an integer. For any other field, it
// returns 0.
func (o Object) Int(name string) int {
	var n int
	if jsonv2.Unmarshal(
		o[name],
		&n,
		lenient,
		jsonv2.StringifyNumbers(o[name].Kind() == '"'),
	) != nil {
		return 0
	}
	return n
}

// Strings returns the strings of a field that is a list.
func (o Object) Strings(name string) []string {
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

// Objects returns the objects in a field that is a list.
func (o Object) Objects(name string) []Object {
	var values []jsontext.Value
	if jsonv2.Unmarshal(o[name], &values, lenient) != nil {
		return nil
	}
	out := make([]Object, 0, len(values))
	for _, v := range values {
		if sub := ObjectFrom(v); sub != nil {
			out = append(out, sub)
		}
	}
	return out
}

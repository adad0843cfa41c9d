package tool

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/go-viper/mapstructure/v2"
)

// Decode decodes the call's arguments into a struct. The parameter is a pointer to the struct.
// Decode matches keys with json tags. It decodes JSON only for a call that did not go through the
// registry. A type with more than one JSON form implements mapstructure.Unmarshaler.
func (c *Call) Decode(into any) error {
	object, err := c.object()
	if err != nil {
		return err
	}
	if err := Assign(object, into); err != nil {
		return fmt.Errorf("reading the arguments: %w", err)
	}
	return nil
}

// Text returns a string argument, or "" if the argument is absent or not a string.
func (c *Call) Text(name string) string {
	object, err := c.object()
	text, ok := object[name].(string)
	if err != nil || !ok {
		return ""
	}
	return text
}

func (c *Call) object() (map[string]any, error) {
	if c.Object != nil {
		return c.Object, nil
	}
	return decodeObject(c.Args)
}

// Assign converts decoded JSON, in which numbers are json.Number, to a Go value. The second
// argument is a pointer to this value. Assign matches keys with json tags.
func Assign(from, into any) error {
	d, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result: into, TagName: "json", Squash: true, DecodeHook: noNumber,
	})
	if err != nil {
		return err
	}
	return d.Decode(from)
}

// noNumber returns an error for a number where a string is expected. The library would accept the
// number, because json.Number is a string.
func noNumber(from, to reflect.Value) (any, error) {
	if n, ok := from.Interface().(json.Number); ok && to.Kind() == reflect.String {
		return nil, fmt.Errorf("expected a string, got the number %s", n)
	}
	return from.Interface(), nil
}

package agent

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// SchemaFor makes a tool's schema of the struct T. Property names follow the json tags,
// a field with omitempty or omitzero is optional, its description is in the tag
// jsonschema (or description), its allowed values, separated by commas, in the tag enum.
// It panics where T is not a struct or holds what JSON has not: a defect of the program.
func SchemaFor[T any]() json.RawMessage {
	t := reflect.TypeFor[T]()
	if made, ok := schemas.Load(t); ok {
		return made.(json.RawMessage)
	}
	if t.Kind() != reflect.Struct {
		panic(fmt.Sprintf("making a schema of %s: not a struct", t))
	}
	s, err := jsonschema.ForType(t, nil)
	if err != nil {
		panic(fmt.Sprintf("making a schema of %s: %v", t, err))
	}
	applyTags(s, t)
	b, err := json.Marshal(s)
	if err != nil {
		panic(fmt.Sprintf("making a schema of %s: %v", t, err))
	}
	schemas.Store(t, json.RawMessage(b))
	return b
}

// schemas are those that SchemaFor made, by their struct.
var schemas sync.Map

// applyTags adds what the library does not read: the tags enum and description, at any depth.
func applyTags(s *jsonschema.Schema, t reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		if t.Kind() == reflect.Slice && s.Items != nil {
			s = s.Items
		}
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || s.Properties == nil {
		return
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			name = f.Name
		}
		p := s.Properties[name]
		if p == nil {
			continue
		}
		nullToOptional(p)
		tagProperty(p, f)
		applyTags(p, f.Type)
	}
}

func tagProperty(p *jsonschema.Schema, f reflect.StructField) {
	if d := f.Tag.Get("description"); d != "" {
		p.Description = d
	}
	target := p
	if p.Items != nil {
		target = p.Items
	}
	if e := f.Tag.Get("enum"); e != "" {
		for _, v := range strings.Split(e, ",") {
			target.Enum = append(target.Enum, v)
		}
	}
}

// nullToOptional drops null from a property's types: a model that sends null for an
// optional parameter is understood anyway, and fewer types confuse fewer models.
func nullToOptional(p *jsonschema.Schema) {
	if len(p.Types) == 2 && p.Types[0] == "null" {
		p.Type, p.Types = p.Types[1], nil
	}
}

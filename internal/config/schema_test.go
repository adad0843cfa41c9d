package config

import (
	"encoding/json"
	"reflect"
	"strconv"
)

// Schema returns the JSON Schema for .agent-lsp.json and for the user's settings file.
func Schema() json.RawMessage {
	defs := map[string]any{}
	root := objectSchema(configType, defs)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Settings of agent-lsp"
	root["$defs"] = defs
	root["properties"].(map[string]any)["$schema"] = map[string]any{"type": "string"}
	b, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil // contains only values that JSON can represent
	}
	return b
}

func objectSchema(t reflect.Type, defs map[string]any) map[string]any {
	props := map[string]any{}
	for _, f := range fieldsOf(t) {
		p := typeSchema(f.typ, defs)
		p["description"] = f.doc
		if f.enum != nil {
			p["enum"] = f.enum
		}
		if f.def != "" {
			p["default"] = json.RawMessage(f.def)
		}
		if n, err := strconv.ParseFloat(f.min, 64); err == nil {
			p["minimum"] = n
		}
		if n, err := strconv.ParseFloat(f.max, 64); err == nil {
			p["maximum"] = n
		}
		props[f.key] = p
	}
	return map[string]any{"type": "object", "properties": props}
}

func typeSchema(t reflect.Type, defs map[string]any) map[string]any {
	if t == rawType {
		return map[string]any{}
	}
	switch t.Kind() {
	case reflect.Struct:
		if _, ok := defs[t.Name()]; !ok {
			defs[t.Name()] = nil // prevents an endless recursion
			defs[t.Name()] = objectSchema(t, defs)
		}
		return map[string]any{"$ref": "#/$defs/" + t.Name()}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": typeSchema(t.Elem(), defs)}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": typeSchema(t.Elem(), defs)}
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Float64:
		return map[string]any{"type": "number"}
	}
	return map[string]any{"type": "string"}
}

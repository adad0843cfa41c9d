package config

import (
	"encoding/json"
	"reflect"
	"strings"
	"sync"
)

// field is one key of Config or of a struct within it.
type field struct {
	key  string
	typ  reflect.Type // the type without its pointer
	doc  string
	def  string // as JSON
	enum []string
	min  string
	max  string
}

var fieldCache sync.Map // reflect.Type → []field

// fieldsOf returns the keys of a struct in the order of their declaration.
func fieldsOf(t reflect.Type) []field {
	if f, ok := fieldCache.Load(t); ok {
		return f.([]field)
	}
	var fields []field
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() {
			continue // this field is not a setting
		}
		key, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		typ := f.Type
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		fd := field{key: key, typ: typ, doc: f.Tag.Get("doc"), def: f.Tag.Get("default"),
			min: f.Tag.Get("min"), max: f.Tag.Get("max")}
		if e := f.Tag.Get("enum"); e != "" {
			fd.enum = strings.Split(e, ",")
		}
		fields = append(fields, fd)
	}
	fieldCache.Store(t, fields)
	return fields
}

func fieldOf(t reflect.Type, key string) (field, bool) {
	for _, f := range fieldsOf(t) {
		if f.key == key {
			return f, true
		}
	}
	return field{}, false
}

var (
	configType = reflect.TypeFor[Config]()
	rawType    = reflect.TypeFor[json.RawMessage]()
)

// builtin returns the lowest layer: the defaults from the struct tags.
func builtin() map[string]any { return defaultsOf(configType) }

func defaultsOf(t reflect.Type) map[string]any {
	tree := map[string]any{}
	for _, f := range fieldsOf(t) {
		switch {
		case f.def != "":
			var v any
			if err := json.Unmarshal([]byte(f.def), &v); err == nil {
				tree[f.key] = v
			}
		case f.typ.Kind() == reflect.Struct:
			if sub := defaultsOf(f.typ); len(sub) > 0 {
				tree[f.key] = sub
			}
		}
	}
	return tree
}

// visit calls do with the path of each key of t and of the nested structs, except structs in lists
// and maps.
func visit(t reflect.Type, prefix string, do func(path string, f field)) {
	for _, f := range fieldsOf(t) {
		path := prefix + f.key
		do(path, f)
		if f.typ.Kind() == reflect.Struct {
			visit(f.typ, path+".", do)
		}
	}
}

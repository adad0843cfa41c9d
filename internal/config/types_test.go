package config

import (
	"encoding/json"
	"reflect"
	"testing"
)

// Every key has a description, every default is valid, and an empty Config is encoded as {}.
func TestConfigTags(t *testing.T) {
	seen := map[reflect.Type]bool{}
	var walk func(typ reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice ||
			typ.Kind() == reflect.Map {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			f := typ.Field(i)
			if !f.IsExported() {
				continue // not a setting
			}
			if doc := f.Tag.Get("doc"); doc == "" || doc[len(doc)-1] != '.' {
				t.Errorf("%s.%s: doc tag %q is not a sentence", typ.Name(), f.Name, doc)
			}
			if d := f.Tag.Get("default"); d != "" {
				if err := json.Unmarshal([]byte(d), reflect.New(f.Type).Interface()); err != nil {
					t.Errorf("%s.%s: default %s: %v", typ.Name(), f.Name, d, err)
				}
			}
			walk(f.Type)
		}
	}
	walk(reflect.TypeFor[Config]())
	if b, err := json.Marshal(Config{}); err != nil || string(b) != "{}" {
		t.Errorf("an empty Config is %s, %v", b, err)
	}
}

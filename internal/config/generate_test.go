package config

import (
	"fmt"
	"reflect"
	"strings"
)

// Document returns the Markdown reference of all keys, which is the generated part of
// docs/reference/configuration.md.
func Document() string {
	var b strings.Builder
	b.WriteString("| key | type | default | variable | meaning |\n|---|---|---|---|---|\n")
	var entries []reflect.Type
	visit(configType, "", func(path string, f field) {
		row(&b, path, f, true)
		if t := entryType(f.typ); t != nil {
			entries = append(entries, t)
		}
	})
	seen := map[reflect.Type]bool{}
	for len(entries) > 0 {
		t := entries[0]
		entries = entries[1:]
		if seen[t] {
			continue
		}
		seen[t] = true
		fmt.Fprintf(&b, "\n### %s\n\n| key | type | default | meaning |\n|---|---|---|---|\n",
			t.Name())
		visit(t, "", func(path string, f field) {
			row(&b, path, f, false)
			if t := entryType(f.typ); t != nil {
				entries = append(entries, t)
			}
		})
	}
	return b.String()
}

// entryType returns the struct type of the entries in a list or map, or nil if the entries are not
// structs.
func entryType(t reflect.Type) reflect.Type {
	for t != rawType && (t.Kind() == reflect.Slice || t.Kind() == reflect.Map) {
		t = t.Elem()
	}
	if t.Kind() == reflect.Struct {
		return t
	}
	return nil
}

func row(b *strings.Builder, path string, f field, variable bool) {
	if f.typ.Kind() == reflect.Struct {
		return // the keys of the struct are listed next
	}
	name := typeWord(f)
	if f.enum != nil {
		name = "`" + strings.Join(f.enum, "` `") + "`"
	}
	def := ""
	if f.def != "" {
		def = "`" + f.def + "`"
	}
	fmt.Fprintf(b, "| `%s` | %s | %s |", path, name, def)
	if variable {
		if f.typ.Kind() == reflect.Map || entryType(f.typ) != nil {
			b.WriteString(" |")
		} else {
			fmt.Fprintf(b, " `%s` |", EnvName(path))
		}
	}
	fmt.Fprintf(b, " %s |\n", f.doc)
}

func typeWord(f field) string {
	if t := entryType(f.typ); t != nil {
		kind := "list"
		if f.typ.Kind() == reflect.Map {
			kind = "object"
		}
		return fmt.Sprintf("%s of [%s](#%s)", kind, t.Name(), strings.ToLower(t.Name()))
	}
	if f.typ == rawType {
		return "anything"
	}
	for prefix := range strings.SplitSeq("an ,a ", ",") {
		if word, ok := strings.CutPrefix(typeName(f.typ), prefix); ok {
			return word
		}
	}
	return typeName(f.typ)
}

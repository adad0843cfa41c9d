package schema

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// protocolPage is the page that lists the enumerations of all messages, except those in Config.
var protocolPage = filepath.Join("..", "..", "..", "docs", "reference", "protocol", "types.md")

var (
	enumRow  = regexp.MustCompile("(?m)^\\| ([^|]*) \\| (`[^|]*`) \\|$")
	enumName = regexp.MustCompile("`([^`]+)`")
)

// The enumerations in the wire package match those on the protocol page, with the same values in
// the same order. The enumerations of Config are on the configuration page.
func TestEnumerationsAreDocumented(t *testing.T) {
	documented, typed := documentedEnums(t), typedEnums(load(t))
	for _, field := range slices.Sorted(maps.Keys(typed)) {
		if got := documented[field]; got != typed[field] {
			t.Errorf("%s: the type has %q, docs/reference/protocol/types.md has %q", field,
				typed[field], got)
		}
	}
	for _, field := range slices.Sorted(maps.Keys(documented)) {
		if typed[field] == "" {
			t.Errorf(
				"%s: docs/reference/protocol/types.md has %q, but the type has no enumeration",
				field,
				documented[field],
			)
		}
	}
	if len(typed) < 40 {
		t.Errorf("only %d fields are enumerations", len(typed))
	}
}

// documentedEnums parses the table below the heading "Enumerations". The keys have the form
// Type.field.
func documentedEnums(t *testing.T) map[string]string {
	t.Helper()
	page, err := os.ReadFile(protocolPage)
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n## 9.6 Enumerations\n")
	if !found {
		t.Fatal("docs/reference/protocol/types.md has no section Enumerations")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	out := map[string]string{}
	for _, row := range enumRow.FindAllStringSubmatch(section, -1) {
		var values []string
		for _, v := range enumName.FindAllStringSubmatch(row[2], -1) {
			values = append(values, v[1])
		}
		for _, field := range enumName.FindAllStringSubmatch(row[1], -1) {
			out[field[1]] = strings.Join(values, ",")
		}
	}
	return out
}

// typedEnums returns the enumerations in all types that a message can contain, except Config and
// the types in it. The keys have the form Type.field.
func typedEnums(s *Schema) map[string]string {
	config := map[string]bool{}
	s.reach("Config", config)
	out := map[string]string{}
	for name, st := range s.types {
		for _, f := range st.fields {
			if len(f.enum) > 0 && !config[name] {
				out[name+"."+f.name] = strings.Join(f.enum, ",")
			}
		}
	}
	return out
}

// reach collects the named type and all types that it refers to.
func (s *Schema) reach(name string, seen map[string]bool) {
	st := s.types[name]
	if st == nil || seen[name] {
		return
	}
	seen[name] = true
	for _, f := range st.fields {
		typescript.spell(f.typ, func(n string) string {
			s.reach(n, seen)
			return n
		})
	}
}

package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// leaves calls do for each setting that has no subordinate settings.
func leaves(do func(path string, f field)) {
	visit(configType, "", func(path string, f field) {
		if f.typ.Kind() != reflect.Struct {
			do(path, f)
		}
	})
}

// classOf returns the names of the tables in privilege.go that contain a setting.
func classOf(path string) (classes []string) {
	below := func(list []string) bool {
		return slices.ContainsFunc(list, func(key string) bool {
			return path == key || strings.HasPrefix(path, key+".")
		})
	}
	for name, is := range map[string]bool{
		"privileged": below(privileged), "rank": ranks[path] != nil, "bound": bounds[path] != nil,
		"switch": below(switches), "filtered": below(filtered), "conversation": below(conversation),
	} {
		if is {
			classes = append(classes, name)
		}
	}
	return classes
}

// Each setting has one class, and each table names existing settings. This test fails for a new
// setting without a class. To fix it, decide what an untrusted workspace may do with the setting.
func TestEverySettingIsClassified(t *testing.T) {
	known := map[string]bool{}
	visit(configType, "", func(path string, _ field) { known[path] = true })
	leaves(func(path string, _ field) {
		if classes := classOf(path); len(classes) != 1 {
			t.Errorf("%s has the classes %q, want one: see privilege.go", path, classes)
		}
	})
	names := slices.Concat(privileged, switches, filtered, conversation)
	for path := range bounds {
		names = append(names, path)
	}
	for path := range ranks {
		names = append(names, path)
	}
	for _, name := range names {
		if !known[name] {
			t.Errorf("%s is not a setting", name)
		}
	}
}

// sample returns a value of the setting's type that differs from the default.
func sample(f field) string {
	switch {
	case len(f.enum) > 0:
		for _, e := range f.enum {
			if fmt.Sprintf("%q", e) != f.def {
				return fmt.Sprintf("%q", e)
			}
		}
	case f.typ == rawType:
		return `{"a":1}`
	}
	switch f.typ.Kind() {
	case reflect.Bool:
		return map[bool]string{true: "false", false: "true"}[f.def == "true"]
	case reflect.Int, reflect.Int64:
		return "7"
	case reflect.Float64:
		return "0.5"
	case reflect.Slice:
		if f.typ.Elem().Kind() == reflect.String {
			return `["evil"]`
		}
		return `[{}]`
	case reflect.Map:
		switch f.typ.Elem().Kind() {
		case reflect.Int:
			return `{"evil":7}`
		case reflect.String:
			return `{"evil":"x"}`
		case reflect.Slice:
			return `{"beforeRun":[{}]}`
		}
		return `{"evil":{}}`
	}
	return `"evil"`
}

// in returns the content of a settings file that sets a value at a path.
func in(t *testing.T, path, value string) string {
	t.Helper()
	tree := map[string]any{}
	put(tree, path, json.RawMessage(value))
	b, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestAnUntrustedWorkspaceMayOnlyTighten sets each setting alone in an untrusted workspace.
// Settings that would loosen permissions are ignored with a notice until the user trusts the
// workspace. All other settings take effect.
func TestAnUntrustedWorkspaceMayOnlyTighten(t *testing.T) {
	before := Load(Sources{})
	ignored := func(path, user, value string) {
		t.Helper()
		s := Load(files(t, user, in(t, path, value)))
		was, _ := lookup(Load(files(t, user, "")).tree, path)
		now, _ := lookup(s.tree, path)
		if !reflect.DeepEqual(was, now) {
			t.Errorf("%s: %s makes %v of %v", path, value, now, was)
		}
		if len(s.Notices()) != 1 || len(s.NeedsTrust()) != 1 {
			t.Errorf("%s: %s: notices %v, asks about %v", path, value, s.Notices(), s.NeedsTrust())
		}
	}
	applied := func(path, user, value string) {
		t.Helper()
		s := Load(files(t, user, in(t, path, value)))
		now, _ := lookup(s.tree, path)
		if b, _ := json.Marshal(now); string(b) != value {
			t.Errorf("%s: %s became %s", path, value, b)
		}
		if len(s.NeedsTrust()) > 0 {
			t.Errorf("%s: %s asks about %v", path, value, s.NeedsTrust())
		}
	}
	leaves(func(path string, f field) {
		was, _ := lookup(before.tree, path)
		switch classOf(path)[0] {
		case "privileged":
			ignored(path, "", sample(f))
		case "conversation":
			applied(path, "", sample(f))
		case "rank":
			list := ranks[path]
			for i, values := range list {
				for value := range strings.SplitSeq(values, ",") {
					loosest, _, _ := strings.Cut(list[len(list)-1], ",")
					strictest, _, _ := strings.Cut(list[0], ",")
					value := fmt.Sprintf("%q", value)
					applied(path, in(t, path, fmt.Sprintf("%q", loosest)), value)
					if i > 0 {
						ignored(path, in(t, path, fmt.Sprintf("%q", strictest)), value)
					}
				}
			}
		case "bound":
			applied(path, in(t, path, "5000"), "4999")
			applied(path, in(t, path, "5000"), "5000")
			ignored(path, in(t, path, "5000"), "5001")
			if bounds[path](0) {
				ignored(path, in(t, path, "5000"), "0")
				applied(path, in(t, path, "0"), "5000")
			}
			if n, ok := was.(float64); ok {
				ignored(path, "", fmt.Sprint(int64(n)+1))
			}
		case "switch":
			applied(path, in(t, path, "true"), "false")
			ignored(path, in(t, path, "false"), "true")
		}
	})
	ignored("maxModelCalls", "", "-1")
	ignored("project.instructions", "", `[".env"]`)
	ignored("project.instructions", "", `["../x.md"]`)
	ignored("project.instructions", "", `["/etc/x.md"]`)
	applied("project.instructions", "", `["docs/AI.md","CLAUDE.md"]`)
	applied("project.instructions", `{"project": {"instructions": ["RULES"]}}`, `["RULES"]`)
	ignored("tools.enable", `{"tools": {"enable": ["read"]}}`, `["read","bash"]`)
	applied("tools.enable", `{"tools": {"enable": ["read","grep"]}}`, `["read"]`)
	s := Load(files(t, `{"tools": {"disable": ["bash"]}}`, `{"tools": {"disable": ["write"]}}`))
	if c := s.Config(); !slices.Equal(c.Tools.Disable, []string{"bash", "write"}) {
		t.Errorf("tools.disable %q", c.Tools.Disable)
	}
	s = Load(files(t, "", `{"agents": [{"maxModelCalls": -1}, {"maxModelCalls": 5}]}`))
	list := s.Config().Agents
	if len(list) != 2 || list[0].MaxModelCalls != 0 || list[1].MaxModelCalls != 5 {
		t.Errorf("agents %+v", list)
	}
}

// A session's own config cannot set the keys that are listed on the documentation page about
// sessions. This applies to every client. The variable allowed lists the other privileged settings.
func TestASessionSetsNoPrograms(t *testing.T) {
	allowed := []string{
		"prices", "fetch", "shell", "sandboxPaths", "mode", "aiComments", "repair", "catalog",
		"check", "formatters", "webSearch", "memory.embeddings",
	}
	below := func(list []string, path string) bool {
		return slices.ContainsFunc(list, func(key string) bool {
			return path == key || strings.HasPrefix(path, key+".")
		})
	}
	user := NewLive(files(t, "", ""), nil)
	leaves(func(path string, f field) {
		if !below(privileged, path) {
			return
		}
		if below(allowed, path) == below(sessionsMayNotSet, path) {
			t.Errorf("%s: list it in sessionsMayNotSet, or here", path)
		}
		if below(allowed, path) {
			return
		}
		own := in(t, path, sample(f))
		_, notices, err := user.Session(json.RawMessage(own))
		if err != nil || len(notices) != 1 ||
			!strings.Contains(notices[0], "a session cannot set this") {
			t.Errorf("%s: notices %q, %v", own, notices, err)
		}
		with := user.Set().With(Session, json.RawMessage(own))
		was, _ := lookup(user.Set().tree, path)
		if now, _ := lookup(with.tree, path); !reflect.DeepEqual(now, was) {
			t.Errorf("%s takes effect as %v", own, now)
		}
		// A session may set the values that the user has already set.
		same := NewLive(files(t, own, ""), nil)
		if _, notices, _ := same.Session(json.RawMessage(own)); len(notices) != 0 {
			t.Errorf("%s repeated: %q", own, notices)
		}
	})
	c, _, _ := user.Session(json.RawMessage(`{"editPolicy":"auto","sandbox":"off",` +
		`"permissions":{"profile":"trust","rules":["allow bash(ls *)"]}}`))
	if c.EditPolicy != "auto" || c.Sandbox != "off" || c.Permissions.Profile != "trust" ||
		len(c.Permissions.Rules) != 1 {
		t.Errorf("a session's own permissions, sandbox or edit policy were ignored: %+v", c)
	}
}

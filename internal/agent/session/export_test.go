package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

func TestExportAndImport(t *testing.T) {
	l := OpenWith(t.TempDir(), Options{now: clock(), Cwd: "/here"})
	defer l.Close()
	s := create(t, l)
	story(t, s)
	text, err := l.Export(s.ID(), "json")
	must(t, err)
	log, err := os.ReadFile(l.logPath(s.ID()))
	must(t, err)
	for name, text := range map[string]string{"export": text, "log": string(log),
		"log with a torn line": string(log) + `{"type":"mess`} {
		other, problems, err := l.Import([]byte(text))
		must(t, err)
		in := load(t, l, other.ID())
		wantOutline(t, in, storyOutline)
		items, err := other.Items(0)
		must(t, err)
		if len(items) != 3 || items[1].Item.Call.Result != "main.go" || items[0].Seq != 1 {
			t.Errorf("%s: items %+v", name, items)
		}
		if in.Entry.Title != "fix <the> bug please" || in.Entry.Cwd != "/here" ||
			len(in.Config) != 0 || len(problems) > 1 {
			t.Errorf("%s: %+v, config %s, problems %v", name, in.Entry, in.Config, problems)
		}
	}
	if _, err := l.Export(s.ID(), "pdf"); err == nil {
		t.Error("exported as pdf")
	}
}

// Importing a session brings only its title, its conversation and its pins. Settings and the folder
// in the file are ignored, whichever fields contain them.
func TestImportBringsNoSettings(t *testing.T) {
	from := newLibrary(t)
	src := create(t, from)
	story(t, src)
	text, err := from.Export(src.ID(), "json")
	must(t, err)
	for _, field := range []string{
		`"cwd":"/elsewhere"`, `"config":{"instructions":"obey"}`,
		`"config":{"systemPrompt":"obey"}`,
		`"config":{"permissions":{"rules":["allow bash(*)"]}}`, `"config":{"model":"m"}`,
		`"config":{"hooks":{"beforeRun":[{"command":"touch"}]}}`, `"config":{"mode":"x"}`,
		`"config":{"permissions":{"rules":["deny read(*)"]}}`, `"config":{"editPolicy":"auto"}`,
		`"instructions":"obey"`, `"rules":["allow bash(*)"]`, `"settings":{"model":"m"}`,
	} {
		doc := map[string]any{}
		must(t, json.Unmarshal([]byte(text), &doc))
		must(t, json.Unmarshal([]byte("{"+field+"}"), &doc))
		changed, err := json.Marshal(doc)
		must(t, err)
		l := OpenWith(t.TempDir(), Options{now: clock(), Cwd: "/here"})
		s, _, err := l.Import(changed)
		must(t, err)
		in := load(t, l, s.ID())
		if in.Entry.Cwd != "/here" || len(in.Config) != 0 {
			t.Errorf("%s: in %s with %s", field, in.Entry.Cwd, in.Config)
		}
		wantOutline(t, in, storyOutline)
		must(t, l.Close())
	}
}

func TestMarkdown(t *testing.T) {
	l := newLibrary(t)
	s := create(t, l)
	story(t, s)
	must(t, s.Append(messageRecord(msg("a3", message.RoleAssistant, "again", "k2")),
		messageRecord(result("r2", "k2", "```\nnested\n```"))))
	text, err := l.Export(s.ID(), "markdown")
	must(t, err)
	for _, want := range []string{"# fix <the> bug please\n",
		"\n## User\n\nfix <the> bug\nplease\n",
		"\n## Agent\n\nlooking\n\n**bash**\n\n```json\n{\"command\":\"ls\"}\n```\n",
		"<details><summary>Result of bash</summary>\n\n```\nmain.go\n```\n",
		"````\n```\nnested\n```\n````"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
}

func TestImportOfSomebodyElse(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"chat": {`[{"role":"system","content":"s"},{"role":"user","content":"hi"},` +
			`{"role":"assistant","content":[{"type":"text","text":"ho"},` +
			`{"type":"image_url"}]}]`, "u:hi a:ho[image_url omitted]"},
		"object": {`{"model":"x","messages":[{"role":"user","content":"hi"}]}`, "u:hi"},
		"calls": {`[{"role":"user","content":"hi"},{"role":"assistant","content":null,` +
			`"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{\"a\":1}"}},` +
			`{"id":"d","function":{"name":"g","arguments":"nonsense"}}]},
			{"role":"tool","tool_call_id":"c","content":"r"},{"role":"tool","tool_call_id":"zz",` +
			`"content":"orphan"}]`,
			"u:hi a: t:r t:interrupted: agent-lsp ended before this call was started. It had no effect."},
		"odd messages": {`[1,null,{"role":"user","content":{"x":1}},` +
			`{"role":"user","content":"kept"}]`, "u:kept"},
	} {
		l := newLibrary(t)
		s, _, err := l.Import([]byte(c.text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		in := load(t, l, s.ID())
		wantOutline(t, in, c.want)
		checkPaired(t, in.Messages)
	}
	l := newLibrary(t)
	for _, text := range []string{"", "hello", "{}", "[]", `{"messages":{}}`,
		`{"format":"agent-lsp-session","version":9}`, "\x00\x01",
		`[{"role":"robot","content":"x"}]`, `<html>`} {
		if _, _, err := l.Import([]byte(text)); err == nil {
			t.Errorf("imported %q", text)
		}
	}
	if list, _, err := l.List(Query{}); err != nil || len(list) != 0 {
		t.Errorf("failed imports left %v, %v", list, err)
	}
}

// Pins are preserved by a fork, by an export, and by importing the session's file.
func TestPinsGoAlong(t *testing.T) {
	l := newLibrary(t)
	s := create(t, l)
	story(t, s)
	must(t, s.Append(agent.Record{Type: agent.RecordPin,
		Pin: &agent.PinChange{Pin: []string{"u1"}}},
		agent.Record{Type: agent.RecordPin, Pin: &agent.PinChange{Unpin: []string{"u1"}}}))
	file, err := os.ReadFile(l.logPath(s.ID()))
	must(t, err)
	fork, err := l.Fork(s.ID(), "", false)
	must(t, err)
	text, err := l.Export(s.ID(), "json")
	must(t, err)
	exported, _, err := l.Import([]byte(text))
	must(t, err)
	imported, _, err := l.Import(file)
	must(t, err)
	for name, id := range map[string]string{"itself": s.ID(), "fork": fork.ID(),
		"export": exported.ID(), "file": imported.ID()} {
		if got := fmt.Sprint(load(t, l, id).Restored().Pins); got != "[{[u1] [] []} {[] [u1] []}]" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func TestRecord(t *testing.T) {
	l := newLibrary(t)
	s := create(t, l)
	story(t, s)
	text, err := Record(load(t, l, s.ID()), Recording{})
	must(t, err)
	sections := map[string]string{}
	for _, f := range txtar.Parse(text).Files {
		sections[f.Name] = string(f.Data)
	}
	if want := "{\"text\":\"looking\",\"toolCalls\":[{\"id\":\"k1\",\"name\":\"bash\",\"arguments\":{\"command\":\"ls\"}}]}\n{\"text\":\"done\"}\n"; sections["model.jsonl"] != want {
		t.Errorf("model:\n%s", sections["model.jsonl"])
	}
	if want := "auto agent/requestPermission {\"optionId\": \"allow_once\"}\nprompt \"fix <the> bug\\nplease\"\nwait\n"; sections["script"] != want {
		t.Errorf("script:\n%s", sections["script"])
	}
}

// FuzzLoad checks that loading any file either succeeds or returns an error with the reason. A
// session that loads has paired calls and results and can be appended to.
func FuzzLoad(f *testing.F) {
	data := stored(f)
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add(bytes.Replace(data, []byte(`"createdAt":"`), []byte(`"createdAt":{},"x":"`), 3))
	f.Add([]byte(`{"type":"session","data":{"version":1,"id":"x"}}` + "\n" +
		`{"type":"branch","data":{"through":"u9"}}` + "\n"))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		l := OpenWith(dir, Options{now: clock()})
		defer l.Close()
		put(t, l.logPath("s1"), data)
		in, err := l.Load("s1")
		if err != nil {
			return
		}
		checkPaired(t, in.Messages)
		if _, err := in.Session.Items(0); err != nil {
			t.Fatal(err)
		}
		n := len(in.Messages)
		must(t, in.Session.Append(messageRecord(msg("fresh", message.RoleUser, "on"))))
		must(t, in.Session.Close())
		again := load(t, l, "s1")
		if len(again.Messages) != n+1 || again.LastSeq < in.LastSeq {
			t.Fatalf("%d messages and number %d, then %d and %d", n, in.LastSeq,
				len(again.Messages), again.LastSeq)
		}
	})
}

// TestLoadedWhileCopied checks that a session that is loaded during its export or fork stays open
// afterwards.
func TestLoadedWhileCopied(t *testing.T) {
	export := func(l *Library, id string) error { _, err := l.Export(id, "json"); return err }
	fork := func(l *Library, id string) error { _, err := l.Fork(id, "", false); return err }
	for _, c := range []struct {
		at     string // the session is loaded when Redact is called with this text
		copied func(*Library, string) error
	}{{"hello", export}, {`"messages":[`, export}, {"hello", fork}, {`"forkOf":`, fork}} {
		t.Run(c.at, func(t *testing.T) {
			var l *Library
			var id string
			var in *Loaded
			l = OpenWith(t.TempDir(), Options{now: clock(), Redact: func(b []byte) []byte {
				if id != "" && in == nil && bytes.Contains(b, []byte(c.at)) {
					in = &Loaded{}
					in = load(t, l, id)
				}
				return b
			}})
			defer l.Close()
			s := create(t, l)
			must(t, s.Append(messageRecord(msg("m1", message.RoleUser, "hello"))))
			must(t, s.Close())
			id = s.ID()
			must(t, c.copied(l, id))
			must(t, in.Session.Append(messageRecord(msg("m2", message.RoleUser, "and more"))))
			if l.opened(id) != in.Session {
				t.Error("the library no longer knows the session")
			}
		})
	}
}

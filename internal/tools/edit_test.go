package tools

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

const mainGo = "package main\n\nfunc main() {\n\tprintln(\"hello\")\n}\n"

func TestEdit(t *testing.T) {
	for _, c := range []struct {
		name string
		args args
		want []string
		disk string // expected content of main.go; "" if unchanged
	}{
		{"exact", args{"path": "main.go", "old_string": "hello", "new_string": "bye"},
			[]string{"Edit main.go: applied 1/1 hunks", "lines 4-4, tier T0 (exact)",
				"4| \tprintln(\"bye\")"}, strings.Replace(mainGo, "hello", "bye", 1)},
		{"many", args{"path": "main.go",
			"edits": []args{{"oldText": "hello", "newText": "bye"},
				{"old_str": "package main", "new_str": "package app"}}},
			[]string{"applied 2/2 hunks", "edit 1: ", "edit 2: "},
			strings.NewReplacer("hello", "bye", "package main", "package app").Replace(mainGo)},
		{"one of many fails", args{"path": "main.go",
			"edits": []args{{"old_string": "hello", "new_string": "bye"},
				{"old_string": "nowhere", "new_string": "x"}}},
			[]string{"ERROR: ", "edit 2: ", "not found", "Nothing was changed"}, ""},
		{"ambiguous", args{"path": "main.go", "old_string": "main", "new_string": "app"},
			[]string{"ERROR: ", "2 places", "lines 1, 3"}, ""},
		{"all of them", args{"path": "main.go", "old_string": "main", "new_string": "app",
			"replace_all": true}, []string{"applied"}, strings.ReplaceAll(mainGo, "main", "app")},
		{"near a line", args{"path": "main.go", "old_string": "main", "new_string": "app",
			"near_line": 3}, []string{"applied"},
			strings.Replace(mainGo, "func main", "func app", 1)},
		{"no change", args{"path": "main.go", "old_string": "hello", "new_string": "hello"},
			[]string{"nothing was changed", "!ERROR"}, ""},
		{"already there", args{"path": "main.go", "old_string": "goodbye", "new_string": "hello"},
			[]string{"ERROR: ", "not found"}, ""},
		{"missing file", args{"path": "man.go", "old_string": "a", "new_string": "b"},
			[]string{"ERROR: man.go does not exist.", "Use write to create"}, ""},
		{"new file", args{"path": "new.go", "old_string": "", "new_string": "package x\n"},
			[]string{"Create new.go: applied", "new file, 1 line"}, ""},
		{"empty search", args{"path": "main.go", "old_string": "", "new_string": "x"},
			[]string{"ERROR: ", "empty"}, ""},
		{"folder", args{"path": ".", "old_string": "a", "new_string": "b"},
			[]string{"ERROR: ", "is a folder"}, ""},
		{"outside", args{"path": "../x", "old_string": "a", "new_string": "b"},
			[]string{"ERROR: ", "outside"}, ""},
		{"binary", args{"path": "bin", "old_string": "a", "new_string": "b"},
			[]string{"ERROR: ", "binary"}, ""},
		{"nothing given", args{"path": "main.go"}, []string{"ERROR: no change is given"},
			""},
		{"edits of a wrong kind", args{"path": "main.go", "edits": []any{3}},
			[]string{"ERROR: ", "object"}, ""},
		{"a patch instead", args{"path": "main.go",
			"patch": "--- a/main.go\n+++ b/main.go\n@@ -4 +4 @@\n-\tprintln(\"hello\")\n+\tprintln(\"bye\")\n"}, []string{"Patch main.go: applied"}, strings.Replace(mainGo, "hello", "bye", 1)},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t).files("main.go: "+mainGo, "bin: a\x00b")
			h.run("read", args{"path": "main.go"})
			want(t, h.run("edit", c.args), c.want...)
			if c.disk == "" {
				c.disk = mainGo
			}
			if got := h.disk("main.go"); got != c.disk {
				t.Errorf("on disk:\n%s", got)
			}
		})
	}
}

// Edit formats of other agents are accepted under the tool names that those agents use.
func TestForeignEditFormats(t *testing.T) {
	bye := strings.Replace(mainGo, "hello", "bye", 1)
	twice := "a\nsame\nb\nc\nd\ne\nsame\n"
	for _, c := range []struct {
		name, tool string
		args       args
		want       []string
		file, disk string
	}{
		{"Cline", "replace_in_file", args{"path": "main.go",
			"diff": "------- SEARCH\n\tprintln(\"hello\")\n=======\n\tprintln(\"bye\")\n+++++++ REPLACE\n"}, []string{"applied 1/1"}, mainGo, bye},
		{"Cline, old markers", "replace_in_file",
			args{"path": "main.go", "diff": "<<<<<<< SEARCH\n\tprintln(\"hello\")\n=======\n\tprintln(\"bye\")\n>>>>>>> REPLACE\n"}, []string{"applied 1/1"}, mainGo, bye},
		{"Cline, two blocks", "replace_in_file",
			args{"path": "main.go", "diff": "------- SEARCH\npackage main\n=======\npackage app\n+++++++ REPLACE\n\n------- SEARCH\n\tprintln(\"hello\")\n=======\n+++++++ REPLACE\n"}, []string{"applied 2/2"}, mainGo, "package app\n\nfunc main() {\n}\n"},
		{"Cline, part of a line", "replace_in_file",
			args{"path": "main.go", "diff": "------- SEARCH\nprintln(\n=======\nprint(\n+++++++ REPLACE\n"}, []string{"ERROR: ", "only as part of a line", "Nothing was changed"}, mainGo, mainGo},
		{"Roo", "apply_diff", args{"path": "main.go",
			"diff": "<<<<<<< SEARCH\n:start_line:4\n-------\n\tprintln(\"hello\")\n=======\n\tprintln(\"bye\")\n>>>>>>> REPLACE\n"}, []string{"applied 1/1"}, mainGo, bye},
		{"Roo, the line distinguishes two matches", "apply_diff",
			args{"path": "main.go", "diff": "<<<<<<< SEARCH\n:start_line:7\n:end_line:7\n-------\nsame\n=======\nother\n>>>>>>> REPLACE\n"}, []string{"applied 1/1"}, twice, "a\nsame\nb\nc\nd\ne\nother\n"},
		{"Roo, a line next to it", "apply_diff",
			args{"path": "main.go", "diff": "<<<<<<< SEARCH\n:start_line:6\n-------\nsame\n=======\nother\n>>>>>>> REPLACE\n"}, []string{"ERROR: ", "2 places", "Nothing was changed"}, twice, twice},
		{"Roo, no line", "apply_diff",
			args{"path": "main.go", "diff": "<<<<<<< SEARCH\nsame\n=======\nother\n>>>>>>> REPLACE\n"}, []string{"ERROR: ", "2 places", "Nothing was changed"}, twice, twice},
		{"Roo, escaped marker", "apply_diff",
			args{"path": "main.go", "diff": "<<<<<<< SEARCH\n:start_line:1\n-------\n\\=======\n=======\n\\-------\n>>>>>>> REPLACE\n"}, []string{"applied 1/1"}, "=======\nx\n", "-------\nx\n"},
		{"hunks without a header", "apply_diff",
			args{"path": "main.go",
				"diff": "@@ -4 +4 @@\n-\tprintln(\"hello\")\n+\tprintln(\"bye\")\n"},
			[]string{"applied 1/1"}, mainGo, bye},
		{"another file in the diff", "apply_diff",
			args{"path": "main.go", "diff": "--- a/other.go\n+++ b/other.go\n@@ -4 +4 @@\n-\tprintln(\"hello\")\n+\tprintln(\"bye\")\n"}, []string{"ERROR: ", "names the file main.go", "Nothing was changed"}, mainGo, mainGo},
		{"omitted lines", "write_to_file", args{"path": "main.go",
			"content": "package main\n\n// ... existing code ...\n"},
			[]string{"ERROR: ", "omitted lines", "Nothing was changed"}, mainGo, mainGo},
		{"omitted in an edit", "edit",
			args{"path": "main.go", "old_string": "\tprintln(\"hello\")\n",
				"new_string": "\tprintln(\"bye\")\n\t// (rest of main ...)\n"},
			[]string{"ERROR: ", "edit 1: line 2 of the new text", "Nothing was changed"}, mainGo,
			mainGo},
		{"the file has the placeholder", "edit",
			args{"path": "main.go", "old_string": "a\n",
				"new_string": "b\n# ... rest of file ...\n"}, []string{"applied"},
			"a\n# ... rest of file ...\n", "b\n# ... rest of file ...\n# ... rest of file ...\n"},
		{"renamed onto a file", "apply_patch",
			args{"patch": "*** Begin Patch\n*** Update File: main.go\n*** Move to: bin\n*** End Patch\n"}, []string{"ERROR: main.go: it cannot be renamed to bin, which already exists", "Nothing was changed"}, mainGo, mainGo},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t).files("main.go: "+c.file, "bin: x")
			h.run("read", args{"path": "main.go"})
			want(t, h.run(c.tool, c.args), c.want...)
			if got := h.disk("main.go"); got != c.disk {
				t.Errorf("on disk:\n%s", got)
			}
		})
	}
}

// Every error of an edit says that nothing was changed.
func TestRefusalsSayUnchanged(t *testing.T) {
	h := newHarness(t).files("a.go: "+mainGo, "bin: a\x00b")
	for _, c := range []struct {
		tool string
		args args
	}{
		{"edit", args{"path": "", "old_string": "a", "new_string": "b"}},
		{"edit", args{"path": "missing.go", "old_string": "a", "new_string": "b"}},
		{"edit", args{"path": "bin", "old_string": "a", "new_string": "b"}},
		{"edit", args{"path": "a.go"}},
		{"edit", args{"path": ".", "old_string": "a", "new_string": "b"}},
		{"edit", args{"path": "../x", "old_string": "a", "new_string": "b"}},
		{"edit", args{"path": "a.go", "old_string": "nowhere", "new_string": "b"}},
		{"write", args{"path": "a.go", "content": "unread"}},
		{"write", args{"path": ".", "content": "x"}},
		{"apply_patch", args{"patch": "please"}},
		{"apply_patch", args{"patch": "*** Begin Patch\n*** Delete File: none\n*** End Patch"}},
		{"apply_patch", args{"patch": "*** Begin Patch\n*** Add File: a.go\n+x\n*** End Patch"}},
	} {
		want(t, h.run(c.tool, c.args), "ERROR: ", "Nothing was changed")
	}
}

// A session must read a file before it edits it, and must read it again after repeated failures.
func TestEditStamps(t *testing.T) {
	h := newHarness(t).files("a.go: "+mainGo, "b.go: "+mainGo, "c.txt: c\n", "d.txt: d\n",
		"f.txt: f\n", "big: "+strings.Repeat("line\n", 300_000)+"end\n")
	bye := args{"path": "a.go", "old_string": "hello", "new_string": "bye"}
	want(t, h.run("edit", bye), "ERROR: changing a.go: read it first", "4\t\tprintln(\"hello\")",
		"send the edit again")
	want(t, h.run("edit", bye), "applied")
	loose := args{"path": "b.go", "old_string": "func main() {   \n\tprintln(\"hello\")",
		"new_string": "func main() {\n\tprintln(\"x\")"}
	want(t, h.run("edit", loose), "ERROR: ", "read it first")
	h.run("read", args{"path": "b.go", "offset": 1, "limit": 1})
	want(t, h.run("edit", args{"path": "b.go", "old_string": "println(\"hello\")   \n}",
		"new_string": "println(\"part read\")\n}"}), "applied", "verify the result")

	h.files("b.go: " + strings.Replace(mainGo, "package main", "package other", 1))
	bye["path"] = "b.go"
	want(t, h.run("edit", bye), "ERROR: b.go has changed since it was read", "+package other",
		"Send the edit again")
	want(t, h.run("edit", bye), "applied")

	patch := args{"patch": "--- a/c.txt\n+++ b/c.txt\n@@ -1 +1 @@\n-c\n+C\n--- a/f.txt\n+++ b/f.txt\n@@ -1 +1 @@\n-f\n+F\n"}
	want(t, h.run("apply_patch", patch), "ERROR: changing c.txt: read it first", "1\tc",
		"changing f.txt: read it first", "1\tf")
	want(t, h.run("apply_patch", patch), "applied")
	want(t, h.run("apply_patch", args{"patch": "*** Begin Patch\n*** Delete File: d.txt\n*** End Patch"}), "deleted", "!ERROR")
	want(t, h.run("write", args{"path": "e.txt", "content": "own\n"}), "applied")
	want(t, h.run("edit", args{"path": "e.txt", "old_string": "own", "new_string": "its own"}),
		"applied")

	big := args{"path": "big", "old_string": "end", "new_string": "END"}
	h.run("read", args{"path": "big", "offset": 300_001})
	want(t, h.run("edit", big), "applied")
	h.files("big: " + strings.Repeat("line\n", 300_000) + "other\n")
	want(t, h.run("write", args{"path": "big", "content": "x"}), "ERROR: big has changed")
}

func TestEditFailures(t *testing.T) {
	h := newHarness(t).files("a.go: " + mainGo)
	bad := args{"path": "a.go", "old_string": "printn(\"hello\")", "new_string": "x"}
	h.run("read", args{"path": "a.go"})
	want(t, h.run("edit", bad), "ERROR: ", "not found", "!failure 2")
	want(t, h.run("edit", bad), "ERROR: ", "This was failure 2 on a.go. Read it again",
		"4\t\tprintln(\"hello\")")
	good := args{"path": "a.go", "old_string": "hello", "new_string": "bye"}
	want(t, h.run("edit", good), "ERROR: 2 edits of a.go have failed; read it again first")
	h.run("read", args{"path": "a.go"})
	want(t, h.run("edit", good), "applied 1/1")
}

// If a file cannot be edited, the error states the reason. Other files in the same call stay
// unchanged.
func TestUneditableFiles(t *testing.T) {
	h := newHarness(t).files("ok.txt: one\n", "bin: a\x00b", "odd: \xff\xfe\xfd", "locked: two\n")
	bigFile(t, filepath.Join(h.root, "big.log"), 200<<20)
	if err := os.Chmod(filepath.Join(h.root, "locked"), 0o444); err != nil {
		t.Fatal(err)
	}
	h.run("read", args{"paths": []string{"ok.txt", "locked"}})
	for name, says := range map[string]string{"big.log": "too large", "bin": "binary",
		"odd": "encoding", "locked": "read-only"} {
		for tool, a := range map[string]args{
			"edit":        {"path": name, "old_string": "two", "new_string": "2"},
			"write":       {"path": name, "content": "2\n"},
			"apply_patch": {"patch": "*** Begin Patch\n*** Update File: ok.txt\n@@\n-one\n+1\n*** Update File: " + name + "\n@@\n-two\n+2\n*** End Patch"},
		} {
			if got := h.run(tool, a); !strings.HasPrefix(got, "ERROR: ") ||
				!strings.Contains(got, says) || len(got) > 2000 {
				t.Errorf("%s %s: %.2000s", tool, name, got)
			}
			if got := h.disk("ok.txt"); got != "one\n" {
				t.Fatalf("%s of %s changed the other file: %q", tool, name, got)
			}
		}
	}
}

func TestWrite(t *testing.T) {
	h := newHarness(t).files("old: one\r\ntwo\r\n", "empty: ", "noend: x")
	want(t, h.run("write", args{"path": "sub/new.txt", "content": "a\nb"}),
		"Create sub/new.txt: applied 1/1", "new file, 2 lines, without a line break at its end")
	if got := h.disk("sub/new.txt"); got != "a\nb" {
		t.Errorf("new: %q", got)
	}
	want(t, h.run("write", args{"path": "old", "content": "x"}), "ERROR: ", "read it first")
	h.run("read", args{"path": "old", "offset": 1, "limit": 1})
	want(t, h.run("write", args{"path": "old", "content": "x"}), "ERROR: ",
		"only a part of it was read")
	h.run("read", args{"path": "old"})
	h.files("old: one\r\nTWO\r\n")
	want(t, h.run("write", args{"path": "old", "content": "x"}),
		"ERROR: old has changed since it was read", "+TWO")
	h.run("read", args{"path": "old"})
	want(t, h.run("write", args{"path": "old", "content": "one\nthree\n"}),
		"Write old: applied 1/1")
	if got := h.disk("old"); got != "one\r\nthree\r\n" {
		t.Errorf("line endings: %q", got)
	}
	want(t, h.run("write", args{"path": "old", "content": "one\nthree\n"}),
		"already has this content")
	want(t, h.run("write", args{"path": "old", "content": "its own edit needs no new read\n"}),
		"applied")
	want(t, h.run("write", args{"path": "empty", "content": "filled\n"}), "applied")
	want(t, h.run("write", args{"path": "../x", "content": "a"}), "ERROR: ", "outside")
}

// If a document is open and has unsaved changes, an edit is matched against the buffer, and never
// changes the file on disk.
func TestEditUnsaved(t *testing.T) {
	h := newHarness(t).files("a.txt: disk\n")
	h.open("a.txt", "buffer\n")
	got := h.run("edit", args{"path": "a.txt", "old_string": "disk", "new_string": "x"})
	want(t, got, "ERROR: ", "not found", "the version on disk")
	if h.disk("a.txt") != "disk\n" {
		t.Error("the file on disk was changed")
	}
}

func TestPatch(t *testing.T) {
	h := newHarness(t).files("a.txt: one\ntwo\n", "b.txt: b\n", "c.txt: c\n")
	h.run("read", args{"paths": []string{"a.txt", "c.txt"}})
	want(t, h.run("apply_patch", args{"patch": "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+TWO\n*** Add File: new.txt\n+new\n*** Delete File: b.txt\n*** Update File: c.txt\n*** Move to: d.txt\n@@\n-c\n+d\n*** End Patch"}),
		"Patch a.txt, new.txt, b.txt, c.txt: applied 4/4", "new.txt: new file, 1 line",
		"b.txt: deleted", "renamed to d.txt")
	for name, text := range map[string]string{"a.txt": "one\nTWO\n", "new.txt": "new\n",
		"d.txt": "d\n"} {
		if got := h.disk(name); got != text {
			t.Errorf("%s: %q", name, got)
		}
	}
	want(t, h.disk("b.txt")+h.disk("c.txt"), "no such file")
	want(t, h.run("apply_patch", args{"patch": "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,2 @@\n one\n-nowhere\n+x\n--- a/d.txt\n+++ b/d.txt\n@@ -1 +1 @@\n-d\n+e\n"}), "ERROR: a.txt: ", "Nothing was changed")
	if h.disk("d.txt") != "d\n" {
		t.Error("the other file was changed")
	}
	want(t, h.run("apply_patch", args{"patch": "no patch"}), "ERROR: no patch found")
	want(t, h.run("apply_patch", args{"patch": "*** Begin Patch\n*** Delete File: none\n*** End Patch"}), "ERROR: none: it does not exist")
	want(t, h.run("apply_patch", args{"patch": "*** Begin Patch\n*** Add File: ../../x\n+x\n*** End Patch"}), "ERROR: ../../x: ", "outside")
}

// decide waits until the session's proposal can be decided, and then decides it.
func (h *harness) decide(decisions []workspace.Decision, comment string) {
	h.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for {
		if open := h.ws.List("s1", "", workspace.StateProposed); len(open) > 0 {
			if _, err := h.ws.Decide(context.Background(),
				workspace.DecideRequest{ProposalID: open[0].ID, Decisions: decisions,
					Comment: comment}); err != nil {
				h.t.Error(err)
			}
			return
		}
		if time.Now().After(deadline) {
			h.t.Error("there is no proposal")
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestEditAsks(t *testing.T) {
	edit := args{"path": "a.go", "old_string": "hello", "new_string": "bye"}
	start := func(t *testing.T) (*harness, <-chan string) {
		h := newHarness(t).files("a.go: " + mainGo)
		h.run("read", args{"path": "a.go"})
		h.policy = workspace.Ask
		done := make(chan string, 1)
		go func() {
			res, err := h.result("edit", edit)
			s := shownResult(res, err)
			if res != nil && res.Denied {
				s = "DENIED: " + s
			}
			done <- s
		}()
		return h, done
	}
	t.Run("accepted", func(t *testing.T) {
		h, done := start(t)
		h.decide([]workspace.Decision{{HunkID: "*", Action: "accept"}}, "")
		want(t, <-done, "Edit a.go: applied 1/1 hunks", "println(\"bye\")", "!DENIED")
		want(t, h.disk("a.go"), "bye")
		h.mu.Lock()
		defer h.mu.Unlock()
		if len(h.updates) != 1 || h.updates[0].Status != tool.StatusAwaitingReview ||
			h.updates[0].ProposalID == "" {
			t.Errorf("updates: %+v", h.updates)
		}
	})
	t.Run("rejected", func(t *testing.T) {
		h, done := start(t)
		h.decide([]workspace.Decision{{HunkID: "*", Action: "reject",
			Comment: "keep the greeting"}}, "")
		want(t, <-done, "DENIED: ", "applied 0/1", `"keep the greeting"`, "!println")
		want(t, h.disk("a.go"), "hello")
	})
	t.Run("steered", func(t *testing.T) {
		h, done := start(t)
		h.steer <- "use another word"
		want(t, <-done, "applied 0/1", `"use another word"`)
		want(t, h.disk("a.go"), "hello")
	})
}

// Collected edits build on each other. The result of a command notes that they are not on disk.
func TestEditCollects(t *testing.T) {
	h := newHarness(t).files("a.go: " + mainGo)
	h.run("read", args{"path": "a.go"})
	h.policy = workspace.Collect
	want(t, h.run("edit", args{"path": "a.go", "old_string": "hello", "new_string": "bye"}),
		"collected", "nothing is on disk yet")
	want(t, h.run("edit", args{"path": "a.go", "old_string": "bye", "new_string": "later"}),
		"collected")
	want(t, h.run("read", args{"path": "a.go"}), "[source: pending]", "later")
	want(t, h.run("bash", args{"command": "cat a.go"}), "hello", "not on disk yet: a.go")
	want(t, h.disk("a.go"), "hello")
}

func TestEditTellsBeforeItRuns(t *testing.T) {
	h := newHarness(t).files("a.go: x")
	p := h.prepared("edit", `{"path":"a.go","old_string":"x","new_string":"y"}`)
	if s := p.Subject; s == nil || s.Kind != tool.SubjectEdit || s.Paths[0] != h.root+"/a.go" {
		t.Errorf("subject %+v", s)
	}
	if l := p.Locks; len(l) != 1 || p.Label != "Edit a.go" || len(p.Locations) != 1 {
		t.Errorf("locks %v", l)
	}
}

// TestRefusalsFromBelow checks that, if the cwd is a subfolder, edit errors name files relative to
// it and say that nothing was changed.
func TestRefusalsFromBelow(t *testing.T) {
	const rename = "*** Begin Patch\n*** Update File: a.go\n*** Move to: b.go\n*** End Patch\n"
	for _, c := range []struct {
		name, tool string
		args       args
		want       string
	}{
		{"unread", "edit", args{"path": "a.go", "old_string": "package a",
			"new_string": "package c"}, "changing a.go: read it first"},
		{"written over unread", "write", args{"path": "a.go", "content": "x"},
			"changing a.go: read it first"},
		{"renamed onto a file", "apply_patch", args{"patch": rename},
			"it cannot be renamed to b.go, which already exists"},
		{"read-only", "edit", args{"path": "locked.go", "old_string": "package l",
			"new_string": "package c"}, "changing locked.go: it is read-only"},
		{"not text", "edit", args{"path": "bin", "old_string": "a", "new_string": "b"},
			"reading bin:"},
		{"a notebook", "write", args{"path": "n.ipynb", "content": "{}"}, "n.ipynb"},
		{"above the cwd", "edit", args{"path": "../top.go", "old_string": "package a",
			"new_string": "package c"}, "/top.go: read it first"},
		{"no file", "edit", args{"path": "none.go", "old_string": "a", "new_string": "b"},
			"none.go does not exist"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := newHarness(t).files("sub/a.go: package a\n", "sub/b.go: package b\n",
				"sub/locked.go: package l\n", "sub/bin: a\x00b", "top.go: package a\n")
			h.cwd = filepath.Join(h.root, "sub")
			if err := os.Chmod(filepath.Join(h.cwd, "locked.go"), 0o400); err != nil {
				t.Fatal(err)
			}
			if c.name == "read-only" {
				h.run("read", args{"path": "locked.go"})
			}
			want(t, h.run(c.tool, c.args), "ERROR: ", c.want, "!sub/", "Nothing was changed.")
		})
	}
}

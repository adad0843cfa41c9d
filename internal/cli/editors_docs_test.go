package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const repository = "../../"

// editorList is the content of testdata/editors.json, from which the tables of editors are
// generated.
type editorList struct {
	// by profile; editors/plain/ran.mjs compares the results of each run
	Real   map[string]realRun
	Plain  []plainEditor
	Readme []readmeEditor
}

// realRun describes a test that performs the standard job in the real editor without a plugin.
type realRun struct {
	Editor, By string
	Did        []string
}

// plainEditor is an editor that is used without a plugin. A session script simulates it by sending
// its capabilities.
type plainEditor struct{ Editor, Profile, Version, Prompt, Review, Permissions string }

// readmeEditor is a group of editors, with all tests that cover them.
type readmeEditor struct {
	Editor, How string
	Tests       []struct{ About, By string }
	Profiles    []string
}

func (p plainEditor) script() string { return "testdata/session/profile/" + p.Profile + ".txtar" }

func readEditors(t *testing.T) (l editorList) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, "testdata/editors.json")), &l); err != nil {
		t.Fatal(err)
	}
	return l
}

// read returns the content of a file in the repository.
func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(repository + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// textOf returns a script's text without comments, or "" if the file is not a script.
func textOf(name string) string {
	b, _ := os.ReadFile(repository + name)
	return comments.ReplaceAllString(string(b), "")
}

// plainTable returns the table for docs/use/editors.md.
func (l editorList) plainTable() string {
	var b strings.Builder
	b.WriteString(
		"| editor, without a plugin | tested in the real editor | simulated with its capabilities | prompt | review | permissions |\n|---|---|---|---|---|---|\n",
	)
	for _, p := range l.Plain {
		real := "no"
		if r, ok := l.Real[p.Profile]; ok {
			real = fmt.Sprintf("[%s](../../%s): %s", r.Editor, r.By, strings.Join(r.Did, ", "))
		}
		fmt.Fprintf(&b, "| %s | %s | [%s](../../%s) | %s | %s | %s |\n", p.Editor, real, p.Version,
			p.script(), p.Prompt, p.Review, p.Permissions)
	}
	return b.String()
}

// readmeTable returns the table for README.md. It lists the tested versions instead of the tests,
// because that is what readers look for.
func (l editorList) readmeTable() string {
	var b strings.Builder
	b.WriteString("| editor | how to use agent-lsp | tested |\n|---|---|---|\n")
	for _, r := range l.Readme {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", r.Editor, r.How, strings.Join(l.tested(r), ", and "))
	}
	return b.String()
}

// tested describes how the editors in a row are tested.
func (l editorList) tested(r readmeEditor) (how []string) {
	var real, replayed []string
	for _, p := range l.Plain {
		if run, ok := l.Real[p.Profile]; !slices.Contains(r.Profiles, p.Profile) {
			continue
		} else if ok {
			real = append(real, run.Editor)
		} else {
			replayed = append(replayed, p.Editor+" "+p.Version)
		}
	}
	for _, test := range r.Tests {
		how = append(how, test.About)
	}
	if len(real) > 0 {
		where := "in the real editor (" + strings.Join(real, "; ") + ")"
		if len(how) > 0 {
			where = "without it " + where
		}
		how = append(how, where)
	}
	if len(replayed) > 0 {
		how = append(how,
			"by session scripts that send the capabilities of "+strings.Join(replayed, "; "))
	}
	return how
}

// TestTablesOfEditors checks that the tables of editors match testdata/editors.json. With
// UPDATE_DOCS=1, it writes the tables.
func TestTablesOfEditors(t *testing.T) {
	l := readEditors(t)
	for page, want := range map[string]string{"docs/use/editors.md": l.plainTable(),
		"README.md": l.readmeTable()} {
		text := read(t, page)
		head, _, _ := strings.Cut(want, "\n")
		before, rest, found := strings.Cut(text, head)
		if !found {
			t.Errorf("%s has no table %q", page, head)
			continue
		}
		table, after, _ := strings.Cut(head+rest, "\n\n")
		if table+"\n" == want {
			continue
		}
		if on, _ := strconv.ParseBool(os.Getenv("UPDATE_DOCS")); !on {
			t.Errorf("%s does not match testdata/editors.json (make docs writes it):\n%s",
				page, want)
		} else if err := os.WriteFile(repository+page, []byte(before+want+"\n"+after),
			0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Each listed test exists, and `make test` runs it.
func TestTestsOfEditorsRun(t *testing.T) {
	l := readEditors(t)
	run := byMakeTest(t)
	check := func(name string) {
		t.Helper()
		if _, err := os.Stat(repository + name); err != nil {
			t.Error(err)
		}
		byGo := run["go test ./..."] &&
			(strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "testdata/session/"))
		if !byGo && !run[name] {
			t.Errorf("make test does not run %s", name)
		}
	}
	for name, r := range l.Real {
		check(r.By)
		if !slices.ContainsFunc(l.Plain, func(p plainEditor) bool { return p.Profile == name }) {
			t.Errorf("%s is in no row", name)
		}
		kind, _, _ := strings.Cut(name, "-")
		says := regexp.MustCompile(`\bran(\.mjs"? |\()['"]?` + kind)
		if len(r.Did) == 0 || !slices.ContainsFunc(slices.Collect(maps.Keys(run)),
			func(script string) bool { return says.MatchString(textOf(script)) }) {
			t.Errorf("no test compares the results of %s with the list", r.By)
		}
	}
	for _, r := range l.Readme {
		for _, test := range r.Tests {
			check(test.By)
		}
		if len(r.Tests)+len(r.Profiles) == 0 {
			t.Errorf("%s has no test", r.Editor)
		}
	}
}

// Each profile performs the complete job, is listed in testdata/editors.json and in the README, and
// names the version of the editor and the source of its capabilities.
func TestProfilesNameTheirSource(t *testing.T) {
	l := readEditors(t)
	files, err := filepath.Glob(repository + "testdata/session/profile/*.txtar")
	if err != nil || len(files) != len(l.Plain) {
		t.Errorf("%d profiles, %d in the list (%v)", len(files), len(l.Plain), err)
	}
	for _, p := range l.Plain {
		script := read(t, p.script())
		source := regexp.MustCompile(`(?m)^Source: (.*)$`).FindString(script)
		if !strings.Contains(source, p.Version) ||
			!regexp.MustCompile(`\.(el|lua|rs|cpp|py)\b|github\.com|`+
				`microsoft/`).MatchString(source) {
			t.Errorf("%s does not name the source of version %s: %s", p.Profile, p.Version, source)
		}
		for _, step := range []string{"prompt", "watch", "permit", "review", "undo"} {
			if !regexp.MustCompile(`(?m)^# ` + step + `\b`).MatchString(script) {
				t.Errorf("%s does not %s", p.Profile, step)
			}
		}
		if !slices.ContainsFunc(l.Readme,
			func(r readmeEditor) bool { return slices.Contains(r.Profiles, p.Profile) }) {
			t.Errorf("the README does not mention %s", p.Profile)
		}
	}
}

var (
	comments   = regexp.MustCompile(`(?m)^\s*(#|//).*$`)
	scriptName = regexp.MustCompile(`[\w./-]+\.(?:sh|mjs|js|lua)`)

	calledTargets = regexp.MustCompile(`(?m)\$\(MAKE\) (.*)$`)
	targetName    = regexp.MustCompile(`^[a-z][a-z-]*$`)
	allPackages   = regexp.MustCompile(`\$\(GO\) test .*\./\.\.\.`)
)

// byMakeTest returns the scripts that `make test` runs: those in the recipes of its targets, and
// the scripts that these scripts start.
func byMakeTest(t *testing.T) map[string]bool {
	t.Helper()
	makefile := read(t, "Makefile")
	run := map[string]bool{}
	var visit func(target string)
	visit = func(target string) {
		ruleOf := regexp.MustCompile(`(?m)^` + target + `:([^#\n]*).*\n((?:\t.*\n)*)`)
		rule := ruleOf.FindStringSubmatch(makefile)
		if rule == nil {
			t.Fatalf("the Makefile has no target %s", target)
		}
		for _, before := range strings.Fields(rule[1]) {
			visit(before)
		}
		for _, call := range calledTargets.FindAllStringSubmatch(rule[2], -1) {
			for _, word := range strings.Fields(call[1]) {
				if targetName.MatchString(word) {
					visit(word)
				}
			}
		}
		for _, name := range scriptName.FindAllString(rule[2], -1) {
			follow(t, run, path.Clean(name))
		}
		run["go test ./..."] = run["go test ./..."] || allPackages.MatchString(rule[2])
	}
	visit("test")
	return run
}

// follow adds a script and the scripts that it names, if they are in its folder or a subfolder.
func follow(t *testing.T, run map[string]bool, name string) {
	t.Helper()
	if run[name] {
		return
	}
	run[name] = true
	if !strings.HasSuffix(name, ".sh") {
		return
	}
	text := textOf(name)
	for _, pattern := range []string{"*.sh", "*.mjs", "*/*.lua"} {
		files, _ := filepath.Glob(repository + path.Join(path.Dir(name), pattern))
		for _, file := range files {
			base := filepath.Base(file)
			all := strings.HasSuffix(base, "_spec.lua") && strings.Contains(text, "*_spec.lua")
			if all || regexp.MustCompile(`[/\s]`+regexp.QuoteMeta(base)).MatchString(text) {
				follow(t, run, path.Join(path.Dir(name),
					strings.TrimPrefix(filepath.ToSlash(file), repository+path.Dir(name)+"/")))
			}
		}
	}
}

// The setup for each editor has at most ten lines.
func TestSetUpsAreShort(t *testing.T) {
	text, err := os.ReadFile("../../docs/use/editors.md")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	blocks := regexp.MustCompile("(?s)```(?:elisp|toml|jsonc?|lua)\n(.*?)```")
	for _, m := range blocks.FindAllStringSubmatch(string(text), -1) {
		n++
		if lines := strings.Count(m[1], "\n"); lines > 10 {
			t.Errorf("%d lines:\n%s", lines, m[1])
		}
	}
	if n < 8 {
		t.Errorf("%d set-ups", n)
	}
}

package project

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// tree writes files into a new folder and returns the folder.
func tree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(dir, filepath.FromSlash(name)), text)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func checkInstructions(t *testing.T, p *Project, cwd, want string, notices ...string) {
	t.Helper()
	checkInstructionsBy(t, Rules{}, p, cwd, want, notices...)
}

func checkInstructionsBy(t *testing.T, rules Rules, p *Project, cwd, want string,
	notices ...string) {
	t.Helper()
	files, said := p.Instructions(cwd, rules)
	var got []string
	for _, f := range files {
		got = append(got, filepath.Base(filepath.Dir(f.Path))+"="+f.Text)
	}
	if strings.Join(got, " ") != want {
		t.Errorf("instructions of %s: %q, want %q", cwd, got, want)
	}
	if len(said) != len(notices) {
		t.Errorf("notices %q, want %q", said, notices)
		return
	}
	for i := range notices {
		if !strings.Contains(said[i], notices[i]) {
			t.Errorf("notice %q lacks %q", said[i], notices[i])
		}
	}
}

func TestInstructions(t *testing.T) {
	root := tree(t, map[string]string{"AGENTS.md": "root", "a/AGENTS.md": "a",
		"a/b/c/AGENTS.md": "\uFEFFc", "x/CLAUDE.md": "x", "empty/AGENTS.md": " \n"})
	user := tree(t, map[string]string{"AGENTS.md": "mine"})
	p := New(Options{Root: root, UserDir: user})
	rules := Rules{Names: []string{"AGENTS.md", "CLAUDE.md"}}
	mine := filepath.Base(user) + "=mine"
	checkInstructionsBy(t, rules, p, root, mine+" .=root")
	checkInstructionsBy(t, rules, p, filepath.Join(root, "a", "b", "c"), mine+" .=root a=a c=c")
	checkInstructionsBy(t, rules, p, filepath.Join(root, "a", "none"), mine+" .=root a=a")
	checkInstructionsBy(t, rules, p, filepath.Join(root, "x"), mine+" .=root x=x")
	checkInstructionsBy(t, rules, p, filepath.Join(root, "empty"), mine+" .=root")
	checkInstructionsBy(t, rules, p, t.TempDir(), mine+" .=root")
	checkInstructions(t, New(Options{}), root, "")
}

func TestInstructionsFollowChange(t *testing.T) {
	root := tree(t, nil)
	p := New(Options{Root: root})
	path := filepath.Join(root, "AGENTS.md")
	checkInstructions(t, p, root, "")
	write(t, path, "one")
	checkInstructions(t, p, root, ".=one")
	write(t, path, "two")
	// The size stays the same, so only the modification time differs.
	if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	checkInstructions(t, p, root, ".=two")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	checkInstructions(t, p, root, "")
}

func TestInstructionsAreBounded(t *testing.T) {
	root := tree(t, map[string]string{"AGENTS.md": strings.Repeat("r", 60),
		"a/AGENTS.md": strings.Repeat("a", 60), "big/AGENTS.md": strings.Repeat("x", MaxFile+10)})
	p := New(Options{Root: root})
	checkInstructionsBy(t, Rules{MaxBytes: 100}, p, filepath.Join(root, "a"), "a="+
		strings.Repeat("a", 60), "more than 100 bytes")
	files, _ := p.Instructions(filepath.Join(root, "big"), Rules{MaxBytes: 1 << 20})
	if len(files) != 2 || len(files[1].Text) > MaxFile+100 ||
		!strings.HasSuffix(files[1].Text, "[cut: the file is longer]") {
		t.Errorf("%d files, the last of %d bytes", len(files), len(files[len(files)-1].Text))
	}
}

// Links within the root are followed. Links out of the root, and special files, are not.
func TestReadingStaysInside(t *testing.T) {
	outside := tree(t, map[string]string{"secret": "secret"})
	root := tree(t, map[string]string{"real.md": "inside", "dir/AGENTS.md/x": ""})
	for link, target := range map[string]string{"AGENTS.md": "real.md",
		"out/AGENTS.md":            filepath.Join(outside, "secret"),
		".agent-lsp/commands/x.md": filepath.Join(outside, "secret")} {
		write(t, filepath.Join(root, filepath.Dir(link), ".keep"), "")
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	p := New(Options{Root: root})
	checkInstructions(t, p, root, ".=inside")
	checkInstructions(t, p, filepath.Join(root, "out"), ".=inside", "out/AGENTS.md")
	checkInstructions(t, p, filepath.Join(root, "dir"), ".=inside", "not a regular file")
	if commands, notices := p.Commands(); len(commands) != 0 || len(notices) != 1 {
		t.Errorf("commands %v, notices %q", commands, notices)
	}
}

func TestSystem(t *testing.T) {
	if got := System(nil); got != "" {
		t.Errorf("of nothing: %q", got)
	}
	if got := System([]File{{"AGENTS.md", "use tabs\n"}}); !strings.Contains(got,
		"<instructions from=\"AGENTS.md\">\nuse tabs\n</instructions>") {
		t.Errorf("block %q", got)
	}
}

func TestCommands(t *testing.T) {
	root := tree(t, map[string]string{
		".agent-lsp/commands/review.md":    "---\r\ndescription: Review a change\r\nargument-hint: \"[branch]\"\r\n---\r\nReview $1 against $2.\r\nAll: $ARGUMENTS, $10, $5$1.",
		".agent-lsp/commands/plain.md":     "# Do the thing\nWell.",
		".agent-lsp/commands/open.md":      "---\ndescription: x\n",
		".agent-lsp/commands/bad.md":       "---\ndescription: [\n---\nx",
		".agent-lsp/commands/empty.md":     "---\ndescription: x\n---\n",
		".agent-lsp/commands/two words.md": "x",
		".agent-lsp/commands/note.txt":     "x",
		".agent-lsp/agents/a.md":           "agent",
	})
	user := tree(t, map[string]string{"commands/plain.md": "mine", "commands/own.md": "own"})
	p := New(Options{Root: root, UserDir: user})
	commands, notices := p.Commands()
	var got []string
	for _, c := range commands {
		got = append(got, c.Name+"|"+c.Description+"|"+c.Hint+"|"+c.Source)
	}
	if want := "own|own||user plain|Do the thing||workspace review|Review a change|[branch]|workspace"; strings.Join(
		got,
		" ",
	) != want {
		t.Errorf("commands %q, want %q", strings.Join(got, " "), want)
	}
	if len(notices) != 4 {
		t.Errorf("notices %q", notices)
	}
	if agents, _ := p.Agents(); len(agents) != 1 || agents[0].Text != "agent" {
		t.Errorf("agents %v", agents)
	}
	for prompt, want := range map[string]string{
		`/review "my branch" main`: "Review my branch against main.\nAll: \"my branch\" main, $10, my branch.",
		"  /plain and\nmore":       "# Do the thing\nWell.\n\nand\nmore",
		"/plain":                   "# Do the thing\nWell.",
		"/review":                  "Review  against .\nAll: , $10, .",
		"/unknown x":               "",
		"/etc/passwd is a file":    "",
		"plain":                    "",
		"/":                        "",
	} {
		if got, ok := p.Expand(prompt); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v, want %q", prompt, got, ok, want)
		}
	}
}

// Instructions never contain the text of a secret file, or of a file that is not Markdown, whatever
// the instruction file's name is and wherever its links lead.
func TestInstructionsAreNeverSecret(t *testing.T) {
	secret := func(path string) bool { return strings.HasPrefix(filepath.Base(path), ".env") }
	root := tree(t, map[string]string{
		".env": "K=1", ".env.md": "K=2", "c.yaml": "x: 1", "r.md": "fine",
	})
	p := New(Options{Root: root, Secret: secret})
	for name, target := range map[string]string{
		"a.md": ".env", "b.md": ".env.md", "c.md": "c.yaml", "d.md": "a.md", "e.md": "r.md",
		".agent-lsp/commands/x.md": "../../.env", ".agent-lsp/agents/y.md": "../../.env",
	} {
		write(t, filepath.Join(root, filepath.Dir(name), ".keep"), "")
		if err := os.Symlink(target, filepath.Join(root, filepath.FromSlash(name))); err != nil {
			t.Skip(err)
		}
	}
	for _, name := range []string{".env", ".env.md", "a.md", "b.md", "c.md", "d.md"} {
		files, notices := p.Instructions(root, Rules{Names: []string{name}})
		if len(files) != 0 || len(notices) != 1 {
			t.Errorf("%s: files %v, notices %q", name, files, notices)
		}
	}
	commands, _ := p.Commands()
	if agents, _ := p.Agents(); len(commands)+len(agents) > 0 {
		t.Errorf("commands %v, agents %v", commands, agents)
	}
	checkInstructionsBy(t, Rules{Names: []string{"e.md"}}, p, root, ".=fine")
}

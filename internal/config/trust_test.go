package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/visible"
)

func TestTrustFile(t *testing.T) {
	f := NewTrustFile(filepath.Join(t.TempDir(), "state", "trust.json"))
	claim := Claim{Layer: "workspace file", Digest: "sha256:1"}
	if f.Answer("/w").Given() {
		t.Error("there is an answer although the user gave none")
	}
	if err := f.Allow("/w/", []Claim{claim}); err != nil {
		t.Fatal(err)
	}
	if err := f.Refuse("/x"); err != nil {
		t.Fatal(err)
	}
	again := NewTrustFile(f.path)
	if !again.Answer("/w").Covers(claim) {
		t.Error("the answer was forgotten")
	}
	if again.Answer("/w").Covers(Claim{Layer: "workspace file", Digest: "sha256:2"}) {
		t.Error("other contents are trusted")
	}
	if again.Answer("/w").Covers(Claim{Layer: "editor settings", Digest: "sha256:1"}) {
		t.Error("another layer is trusted")
	}
	if !again.Answer("/x").Refused {
		t.Error("the refusal was forgotten")
	}
	for _, text := range []string{"{", "[]", `{"/w": "yes"}`} {
		if err := os.WriteFile(f.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if again.Answer("/w").Given() {
			t.Errorf("%s is an answer", text)
		}
	}
}

// A stored value of true is ignored, because it does not name the trusted contents. A stored value
// of false remains a refusal.
func TestTrustOfOlderVersions(t *testing.T) {
	f := NewTrustFile(filepath.Join(t.TempDir(), "trust.json"))
	if err := os.WriteFile(f.path, []byte(`{"/yes": true, "/no": false}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if f.Answer("/yes").Given() {
		t.Error("a plain true is treated as an answer")
	}
	if !f.Answer("/no").Refused {
		t.Error("a plain false is not treated as a refusal")
	}
	if err := f.Allow("/other", nil); err != nil {
		t.Fatal(err)
	}
	if f.Answer("/yes").Given() || !f.Answer("/no").Refused || !f.Answer("/other").Given() {
		t.Error("changing another answer changed these")
	}
}

// If several daemons store answers in the same file at the same time, all answers are kept.
func TestTrustOfDaemonsAtOnceIsAllKept(t *testing.T) {
	const daemons, each = 3, 5
	path := filepath.Join(t.TempDir(), "state", "trust.json")
	claim := Claim{Layer: "workspace file", Digest: "sha256:1"}
	var wg sync.WaitGroup
	for n := range daemons {
		f := NewTrustFile(path)
		wg.Go(func() {
			for i := range each {
				if err := f.Allow(fmt.Sprintf("/w%d/%d", n, i), []Claim{claim}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for n := range daemons {
		for i := range each {
			root := fmt.Sprintf("/w%d/%d", n, i)
			if !NewTrustFile(path).Answer(root).Covers(claim) {
				t.Errorf("the answer for %s was lost", root)
			}
		}
	}
}

func TestATrustFileThatHoldsNullIsEmpty(t *testing.T) {
	f := NewTrustFile(filepath.Join(t.TempDir(), "trust.json"))
	if err := os.WriteFile(f.path, []byte("null\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := f.Refuse("/w"); err != nil {
		t.Fatal(err)
	}
	if !f.Answer("/w").Refused {
		t.Error("the answer was forgotten")
	}
}

// trusted creates a workspace, stores the user's trust in it, and returns its settings.
func trusted(t *testing.T, settings string, names map[string]string) (*Live, Sources) {
	t.Helper()
	src := files(t, "", settings)
	for name, text := range names {
		create(t, src.Root, name, text)
	}
	src.Trust = NewTrustFile(filepath.Join(t.TempDir(), "trust.json"))
	l := NewLive(src, nil)
	if len(l.Set().NeedsTrust()) == 0 {
		t.Fatal("the workspace does not ask for trust")
	}
	if err := src.Trust.Allow(src.Root, l.Set().Untrusted()); err != nil {
		t.Fatal(err)
	}
	if open := l.Set().NeedsTrust(); len(open) > 0 {
		t.Fatalf("the user's answer does not cover %v", open)
	}
	return l, src
}

func create(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

const scriptHook = `{"hooks": {"beforeRun": [{"command": "sh", "args": ["hook.sh"]}]}}`

// For each kind of content in a claim, a change revokes the trust. Until the user has answered
// again, no part of the claim takes effect.
func TestTrustEndsWithTheContent(t *testing.T) {
	const hook = `{"hooks": {"beforeRun": [{"command": "sh", "args": ["tools/hook.sh"]}]}}`
	for _, c := range []struct {
		name, settings string
		files          map[string]string
		change, text   string // a file and its new content
	}{
		{
			"a changed command", `{"hooks": {"beforeRun": [{"command": "a"}]}}`, nil,
			WorkspaceName, `{"hooks": {"beforeRun": [{"command": "b"}]}}`,
		},
		{
			"a changed argument", `{"mcpServers": {"s": {"command": "a", "args": ["1"]}}}`, nil,
			WorkspaceName, `{"mcpServers": {"s": {"command": "a", "args": ["2"]}}}`,
		},
		{
			"a changed variable", `{"mcpServers": {"s": {"command": "a", "env": {"X": "1"}}}}`,
			nil, WorkspaceName, `{"mcpServers": {"s": {"command": "a", "env": {"X": "2"}}}}`,
		},
		{
			"one more key", `{"sandbox": "off"}`, nil, WorkspaceName,
			`{"sandbox": "off", "editPolicy": "auto"}`,
		},
		{
			"another key", `{"check": {"command": "x"}}`, nil, WorkspaceName,
			`{"formatters": {"*": {"command": "x"}}}`,
		},
		{
			"a looser rule", `{"permissions": {"rules": ["allow bash(ls)"]}}`, nil, WorkspaceName,
			`{"permissions": {"rules": ["allow bash(ls)", "allow bash(rm *)"]}}`,
		},
		{
			"a looser mode", `{"modes": {"m": {"permissions": {"profile": "workspace"}}}}`, nil,
			WorkspaceName, `{"modes": {"m": {"permissions": {"profile": "trust"}}}}`,
		},
		{
			"a looser agent",
			`{"agents": [{"name": "a", "permissions": {"profile": "workspace"}}]}`, nil,
			WorkspaceName, `{"agents": [{"name": "a", "permissions": {"profile": "trust"}}]}`,
		},
		{
			"a provider", `{"provider": {"baseUrl": "http://a"}}`, nil, WorkspaceName,
			`{"provider": {"baseUrl": "http://b"}}`,
		},
		{
			"a host", `{"network": {"allow": ["a.example"]}}`, nil, WorkspaceName,
			`{"network": {"allow": ["b.example"]}}`,
		},
		{
			"a variable passed on", `{"environment": {"pass": ["A"]}}`, nil, WorkspaceName,
			`{"environment": {"pass": ["B"]}}`,
		},
		{"a changed program", hook, map[string]string{"tools/hook.sh": "1"}, "tools/hook.sh", "2"},
		{"an added program", hook, nil, "tools/hook.sh", "2"},
		{
			"a program without an interpreter", `{"hooks": {"beforeRun": [{"command": "./run"}]}}`,
			map[string]string{"run": "1"}, "run", "2",
		},
		{
			"a program of a command line",
			`{"check": {"command": "FOO=1 sh \"$PWD/tools/check.sh\"; true"}}`,
			map[string]string{"tools/check.sh": "1"}, "tools/check.sh", "2",
		},
		{
			"a program in the folder itself",
			`{"hooks": {"beforeRun": [{"command": "go", "args": ["run", "."]}]}}`,
			map[string]string{"main.go": "1"}, "main.go", "2",
		},
		{
			"a new file of a program in a folder", `{"check": {"command": "cd x && node tools"}}`,
			map[string]string{"tools/index.js": "1"}, "tools/other.js", "2",
		},
		{
			"a folder of a runner", `{"check": {"command": "tsx tools"}}`,
			map[string]string{"tools/index.ts": "1"}, "tools/index.ts", "2",
		},
		{
			"the settings of a test runner", `{"check": {"command": "pytest -q"}}`,
			map[string]string{"conftest.py": "1"}, "conftest.py", "2",
		},
		{
			"a program after cd", `{"check": {"command": "cd tools && ./check.sh"}}`,
			map[string]string{"tools/check.sh": "1"}, "tools/check.sh", "2",
		},
		{
			"a program below the folder after cd",
			`{"check": {"command": "(cd 'a'; pushd b && c/check.sh)"}}`,
			map[string]string{"a/b/c/check.sh": "1"}, "a/b/c/check.sh", "2",
		},
		{
			"a manifest in a folder that an option names",
			`{"hooks": {"beforeRun": [{"command": "make", "args": ["-C", "tools", "check"]}]}}`,
			map[string]string{"tools/Makefile": "1"}, "tools/Makefile", "2",
		},
		{
			"a program in its working directory",
			`{"mcpServers": {"s": {"command": "python3", "args": ["-u", "."], "cwd": "srv"}}}`,
			map[string]string{"srv/__main__.py": "1"}, "srv/__main__.py", "2",
		},
		{
			"a formatter", `{"formatters": {"*.x": {"command": "node", "args": ["fmt.js"]}}}`,
			map[string]string{"fmt.js": "1"}, "fmt.js", "2",
		},
		{
			"a language server",
			`{"languageServers": {"x": {"command": "node_modules/.bin/xls"}}}`,
			map[string]string{"node_modules/.bin/xls": "1"}, "node_modules/.bin/xls", "2",
		},
		{
			"a key's command", `{"provider": {"apiKeyCommand": ["sh", "key.sh"]}}`,
			map[string]string{"key.sh": "1"}, "key.sh", "2",
		},
		{
			"a preloaded file",
			`{"mcpServers": {"s": {"command": "x", "env": {"NODE_OPTIONS": "--require=./p.js"}}}}`,
			map[string]string{"p.js": "1"}, "p.js", "2",
		},
		{
			"a file below another folder",
			`{"mcpServers": {"s": {"command": "node", "args": ["s.js"], "cwd": "sub"}}}`,
			map[string]string{"sub/s.js": "1"}, "sub/s.js", "2",
		},
		{
			"a folder with a program",
			`{"mcpServers": {"s": {"command": "go", "args": ["run", "./cmd/s"]}}}`,
			map[string]string{"cmd/s/main.go": "1"}, "cmd/s/more.go", "2",
		},
		{
			"npm's scripts", `{"check": {"command": "npm test"}}`,
			map[string]string{"package.json": "1"}, "package.json", "2",
		},
		{
			"a package's program", `{"mcpServers": {"s": {"command": "npx", "args": ["srv"]}}}`,
			map[string]string{"node_modules/.bin/srv": "1"}, "node_modules/.bin/srv", "2",
		},
		{
			"a program with the name of data", `{"check": {"command": "bash -e run.log"}}`,
			map[string]string{"run.log": "1"}, "run.log", "2",
		},
		{
			"make's rules", `{"check": {"command": "make check"}}`,
			map[string]string{"Makefile": "1"}, "Makefile", "2",
		},
		{
			"python's module",
			`{"mcpServers": {"s": {"command": "python3", "args": ["-m", "pkg.srv"]}}}`,
			map[string]string{"pkg/srv.py": "1"}, "pkg/srv.py", "2",
		},
		{
			"a changed agent", hook, map[string]string{".agent-lsp/agents/a.md": "1"},
			".agent-lsp/agents/a.md", "2",
		},
		{"an added agent", hook, nil, ".agent-lsp/agents/a.md", "2"},
		{
			"a changed command text", hook, map[string]string{".agent-lsp/commands/c.md": "1"},
			".agent-lsp/commands/c.md", "2",
		},
		{
			"an added command text", hook, map[string]string{".agent-lsp/commands/c.md": "1"},
			".agent-lsp/commands/d.md", "2",
		},
		{
			"a changed skill", hook, map[string]string{".agents/skills/s/SKILL.md": "1"},
			".agents/skills/s/SKILL.md", "2",
		},
		{
			"an added script of a skill", hook,
			map[string]string{".agent-lsp/skills/s/SKILL.md": "1"}, ".agent-lsp/skills/s/run.sh",
			"2",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, src := trusted(t, c.settings, c.files)
			create(t, src.Root, c.change, c.text)
			checkEnded(t, l, src)
		})
	}
}

// checkEnded checks that the workspace is no longer trusted, not even in a session or by another
// daemon, and that the user can trust the new contents.
func checkEnded(t *testing.T, l *Live, src Sources) {
	t.Helper()
	c, _, _ := l.Session(nil)
	open := min(len(l.Set().NeedsTrust()), len(l.Set().Untrusted()))
	if open == 0 || len(c.Hooks["beforeRun"]) > 0 {
		t.Fatal("the changed contents are still trusted")
	}
	if again := NewLive(src, nil); len(again.Set().NeedsTrust()) == 0 {
		t.Error("another daemon trusts the changed contents")
	}
	if err := src.Trust.Allow(src.Root, l.Set().Untrusted()); err != nil {
		t.Fatal(err)
	}
	if open := l.Set().NeedsTrust(); len(open) > 0 {
		t.Errorf("the new contents cannot be trusted: %v", open)
	}
}

// A change to a file does not revoke the workspace's trust unless the file starts a program or
// loosens a rule.
func TestTrustOutlivesOtherChanges(t *testing.T) {
	const settings = `"hooks": {"beforeRun": [
		{"command": "sh", "args": ["hook.sh", "--db", "data.sqlite"]},
		{"command": "touch", "args": ["made"]}]}`
	l, src := trusted(t, `{`+settings+`}`, map[string]string{"hook.sh": "1", "main.go": "1"})
	create(t, src.Root, "main.go", "2")
	for _, name := range []string{"made", "data.sqlite"} { // files that the hooks created
		create(t, src.Root, name, map[string]string{"made": "", "data.sqlite": "2"}[name])
	}
	create(t, src.Root, WorkspaceName,
		`{"model": "m", `+settings+`, "permissions": {"rules": ["deny bash(rm *)"]}}`)
	if open := l.Set().NeedsTrust(); len(open) > 0 {
		t.Errorf("the user is asked again about %v", open)
	}
	if c := l.Set().Config(); c.Model != "m" {
		t.Errorf("model %q", c.Model)
	}
}

// A change to a file is detected even if the file's size and time stay the same.
func TestTrustSeesAChangeThatHides(t *testing.T) {
	l, src := trusted(t, scriptHook, map[string]string{"hook.sh": "1"})
	path := filepath.Join(src.Root, "hook.sh")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	create(t, src.Root, "hook.sh", "2")
	if err := os.Chtimes(path, time.Time{}, info.ModTime()); err != nil {
		t.Fatal(err)
	}
	checkEnded(t, l, src)
}

// The digest of a link is that of its target. If the link leads out of the workspace, it is the
// digest of the target's name.
func TestTrustFollowsLinks(t *testing.T) {
	outside := t.TempDir()
	create(t, outside, "a", "1")
	for _, c := range []struct{ from, to string }{
		{"a.sh", "b.sh"}, {filepath.Join(outside, "a"), filepath.Join(outside, "b")},
	} {
		l, src := trusted(t, scriptHook, map[string]string{"a.sh": "1", "b.sh": "2"})
		link := filepath.Join(src.Root, "hook.sh")
		for _, target := range []string{c.from, c.to} {
			_ = os.Remove(link)
			if err := os.Symlink(target, link); err != nil {
				t.Skip(err)
			}
			checkEnded(t, l, src)
		}
	}
}

// Agents are also read through a link to a folder, so the claim includes the files in that folder.
// A cycle of links does not cause an endless loop.
func TestTrustFollowsLinkedFolders(t *testing.T) {
	src := files(t, "", scriptHook)
	create(t, src.Root, "shared/deep/a.md", "1")
	create(t, src.Root, ".agent-lsp/x", "1")
	for link, to := range map[string]string{
		".agent-lsp/agents": "../shared", "shared/deep/round": "../../shared",
	} {
		if err := os.Symlink(to, filepath.Join(src.Root, link)); err != nil {
			t.Skip(err)
		}
	}
	src.Trust = NewTrustFile(filepath.Join(t.TempDir(), "trust.json"))
	l := NewLive(src, nil)
	if err := src.Trust.Allow(src.Root, l.Set().Untrusted()); err != nil {
		t.Fatal(err)
	}
	if open := l.Set().NeedsTrust(); len(open) > 0 {
		t.Fatalf("the user's answer does not cover %v", open)
	}
	create(t, src.Root, "shared/deep/a.md", "2")
	checkEnded(t, l, src)
}

// A claim that would have to omit files cannot be trusted, because these files could change
// unnoticed.
func TestTrustLeavesOutNoFile(t *testing.T) {
	src := files(t, "", scriptHook)
	for i := range maxReferences + maxBound + 1 {
		create(t, src.Root, fmt.Sprintf(".agent-lsp/skills/%d.md", i), "")
	}
	src.Trust = NewTrustFile(filepath.Join(t.TempDir(), "trust.json"))
	if err := src.Trust.Allow(src.Root, Load(src).Untrusted()); err != nil {
		t.Fatal(err)
	}
	if len(Load(src).NeedsTrust()) == 0 {
		t.Error("the claim is trusted")
	}
}

// The answer applies to the contents that were shown, even if the file changed while the question
// was open.
func TestTrustIsForWhatWasShown(t *testing.T) {
	src := files(t, "", `{"hooks": {"beforeRun": [{"command": "shown"}]}}`)
	src.Trust = NewTrustFile(filepath.Join(t.TempDir(), "trust.json"))
	l := NewLive(src, nil)
	shown := l.Set().Untrusted()
	create(t, src.Root, WorkspaceName, `{"hooks": {"beforeRun": [{"command": "other"}]}}`)
	if err := src.Trust.Allow(src.Root, shown); err != nil {
		t.Fatal(err)
	}
	checkEnded(t, l, src)
}

// The digest that is compared with the user's answer belongs to the settings that take effect. If a
// program changes the file continuously, either the trusted hook takes effect or none, but never
// another hook.
func TestTrustHasNoRace(t *testing.T) {
	l, src := trusted(t, `{"hooks": {"beforeRun": [{"command": "good"}]}}`, nil)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		path := filepath.Join(src.Root, WorkspaceName)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			name := [...]string{"good", "evil"}[i%2]
			text := fmt.Appendf(nil, `{"hooks": {"beforeRun": [{"command": %q}]}}`, name)
			_ = os.WriteFile(path+".new", text, 0o600)
			_ = os.Rename(path+".new", path)
		}
	})
	for range 300 {
		c, _, _ := l.Session(nil)
		if list := c.Hooks["beforeRun"]; len(list) > 0 && list[0].Command != "good" {
			t.Error("a hook that the user does not trust took effect")
			break
		}
	}
	close(stop)
	wg.Wait()
}

// The question shows each value in full, without characters that would change the displayed text.
func TestAClaimIsShownInFull(t *testing.T) {
	long := strings.Repeat("x", 5000)
	src := files(t, "", `{"mcpServers": {"s": {"command": "evil", "env": {"A": "<b>"},
			"args": ["`+long+`END", "\u001b[2K\u202etxt"]}},
		"hooks": {"beforeRun": [{"command": "sh", "args": ["hook.sh"]}]},
		"editPolicy": "auto", "permissions": {"rules": ["allow bash(*)"]}}`)
	create(t, src.Root, "hook.sh", "1")
	var b strings.Builder
	for _, c := range Load(src).Untrusted() {
		if err := c.Write(&b); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		`"evil"`, long + "END", `\u001b[2K\u202etxt`, `{"A":"<b>"}`, `editPolicy = "auto"`,
		`permissions.rules = ["allow bash(*)"]`, "the file hook.sh (sha256:",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the question lacks %.80q", want)
		}
	}
	if strings.ContainsFunc(strings.ReplaceAll(b.String(), "\n", ""), visible.Hidden) {
		t.Errorf("the question contains invisible characters: %q", b.String())
	}
}

// A claim contains the files of a folder, however the name of the folder is written, and the files
// of a claim that is added to it.
func TestAClaimContainsTheFilesOfFolders(t *testing.T) {
	root, other := t.TempDir(), t.TempDir()
	write := func(dir, name, text string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	claim := func() Claim {
		p := NewPrograms()
		c := p.Claim(root, "server", nil, []string{"./src"})
		return c.With(p.Claim(other, "server", nil, []string{"lib/"}), other)
	}
	write(root, "src/a.rs", "one")
	write(other, "lib/b.js", "one")
	first := claim()
	write(root, "src/a.rs", "other")
	second := claim()
	write(other, "lib/b.js", "other")
	third := claim()
	if first.Digest == second.Digest || second.Digest == third.Digest || len(first.Files) != 2 ||
		first.Files[0].Name != "src/a.rs" ||
		first.Files[1].Name != filepath.Join(other, "lib/b.js") {
		t.Errorf("got %+v, %+v and %+v", first, second, third)
	}
}

// Computing a claim with too many names takes a bounded time, and the claim is not trusted.
func TestAClaimWithTooManyNames(t *testing.T) {
	names := strings.Join(slices.Collect(numbers(20000)), " ")
	src := files(t, "", `{"check": {"command": "`+names+`"}}`)
	src.Trust = NewTrustFile(filepath.Join(t.TempDir(), "trust.json"))
	if err := src.Trust.Allow(src.Root, Load(src).Untrusted()); err != nil {
		t.Fatal(err)
	}
	s := Load(src)
	if check := s.Config().Check; len(s.NeedsTrust()) == 0 || check != nil && check.Command != "" {
		t.Error("a claim with too many names is trusted")
	}
}

func numbers(n int) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := range n {
			if !yield(fmt.Sprint("w", i)) {
				return
			}
		}
	}
}

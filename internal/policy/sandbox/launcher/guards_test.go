//go:build linux && (amd64 || arm64)

package launcher

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// guarding are workspaces in which files start programs although their names are not protected.
// files contains entries of the form "name content", and links of the form "name target". guarded
// contains paths of such files, and plain of ordinary files.
var guarding = []struct {
	title          string
	files, links   []string
	guarded, plain []string
	script         string
}{
	{
		title:   "the target of a link",
		files:   []string{"config/tasks.json old"},
		links:   []string{".vscode config"},
		guarded: []string{"config/tasks.json"},
		plain:   []string{"configs/tasks.json"},
	},
	{
		title:   "a link to a missing folder",
		links:   []string{".vscode a/config"},
		files:   []string{"a/x old"},
		guarded: []string{"a/config/tasks.json"},
		plain:   []string{"a/y"},
	},
	{
		title:   "a chain of links",
		files:   []string{"b/config/f old", "evil/config/f old"},
		links:   []string{".idea a/config", "a b"},
		guarded: []string{"b/config/f"},
		plain:   []string{"b/f"},
		script:  "rm -f a; mv a z; ln -sfn evil a; mv --no-target-directory evil a",
	},
	{
		title: "links of files and of the folder above them",
		files: []string{"gh/workflows/x.yml old", "rc old", "tools/x old",
			"conf/config.toml old"},
		links: []string{".github gh", ".envrc rc", ".agents/skills ../tools",
			".cargo conf"},
		guarded: []string{"gh/workflows/x.yml", "rc", "tools/x", "conf/config.toml"},
		plain:   []string{"gh/x.yml", "conf/x"},
	},
	{
		title: "a bare repository that no .git file names",
		files: []string{"x/repo/HEAD ref: refs/heads/main", "x/repo/objects/p 1",
			"x/repo/refs/heads/main 1", "x/repo/config old"},
		guarded: []string{"x/repo/config", "x/repo/hooks/post-merge"},
		plain:   []string{"x/config"},
	},
	{
		title: "the workspace is a bare repository",
		files: []string{"HEAD ref: refs/heads/main", "objects/p 1", "refs/heads/main 1",
			"config old"},
		guarded: []string{"config", "hooks/post-merge"},
		plain:   []string{"notes"},
	},
	{
		title: "settings of Git",
		files: []string{
			".git/HEAD x", ".git/objects/x x", ".git/refs/x x",
			".git/config [core]\n\thooksPath = \"ci/hooks\" ; own\n[include] path = ../ci/git.conf\n" +
				"[includeIf \"gitdir:/\"]\n\tpath=../ci/more\n",
			"ci/hooks/pre-commit old",
			"ci/git.conf [Core]\n\tAttributesFile = ci/attr\n[x]\n",
			"ci/attr old",
		},
		guarded: []string{"ci/hooks/pre-commit", "ci/git.conf", "ci/more", "ci/attr"},
		plain:   []string{"ci/x", "hooks/x"},
	},
	{
		title:   "settings of a worktree",
		files:   []string{".git gitdir: .bare", ".bare/config [core]\nhooksPath = hooks\n"},
		guarded: []string{"hooks/pre-commit", ".bare/config"},
		plain:   []string{"hook"},
	},
}

func (b *box) links(list []string) {
	for _, l := range list {
		name, to, _ := strings.Cut(l, " ")
		path := filepath.Join(b.work, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			b.t.Fatal(err)
		}
		if err := os.Symlink(to, path); err != nil {
			b.t.Fatal(err)
		}
	}
}

// TestGuards checks files that start programs although their names are not protected. Commands
// cannot change these files, and edits to them require the user's approval.
func TestGuards(t *testing.T) {
	t.Parallel()
	for _, c := range guarding {
		b := newBox(t)
		for _, f := range c.files {
			name, content, _ := strings.Cut(f, " ")
			b.write(name, content)
		}
		b.links(c.links)
		before := b.tree()
		for _, path := range c.guarded {
			if !InGitFolder(path, Guards(b.work, path)) {
				t.Errorf("%s: an edit of %s does not ask", c.title, path)
			}
			script := `mkdir -p D; echo x > P; echo x >> P; rm -rf P; mv T gone && mv gone T
mkdir s; ln -s "$PWD/s" P; mv s P; ln -sfn evil P; rmdir s; rmdir -p D; chmod 777 P`
			script += "\n" + c.script
			top, _, _ := strings.Cut(path, "/")
			script = strings.NewReplacer("P", path, "D", filepath.Dir(path), "T", top, "$PWD",
				b.work).Replace(script)
			_, out := b.run(script)
			if after := b.tree(); after != before {
				t.Fatalf("%s: with %s, the workspace is\n%s, before\n%s%s", c.title, path, after,
					before, out)
			}
		}
		for _, path := range c.plain {
			if InGitFolder(path, Guards(b.work, path)) {
				t.Errorf("%s: an edit of %s asks", c.title, path)
			}
			b.want("mkdir -p "+filepath.Dir(path)+"; echo new > "+path+"; cat "+path, "new\n")
		}
	}
}

// A link to the whole workspace does not make the workspace read-only.
func TestALinkToTheWholeWorkspace(t *testing.T) {
	b := newBox(t)
	b.links([]string{".claude/skills/self ../.."})
	b.want(`echo new > file; cat file`, "new\n")
}

func TestGitSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config")
	text := "\ufeff# c\n[core]\r\n\tbare = false\r\n hooksPath = a\\\nb # c\n" +
		"[Include \"x\"]path=\"q;\\\"r\"" +
		"\n[a.b]\nk=v;w\n[broken\nx\n = \n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	want := []gitSetting{{"core", "bare", "false"}, {"core", "hookspath", "ab"},
		{"include", "path", `q;"r`}, {"a", "k", "v"}, {"a", "", ""}}
	if got := gitSettings(file); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

//go:build unix

package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Texts that no tool may ever show: the content of a file outside the workspace, and the name of a
// file that no attack mentions.
const (
	loot     = "loot-of-the-test"
	treasure = "unnamed-treasure"
)

// trapped returns a workspace with links, pipes and devices that lead out of it, and a folder
// outside the workspace.
func trapped(t *testing.T) (h *harness, outside string) {
	h = newHarness(t).files("a.txt: a\n", "dir/b.txt: b\n", "dir/deep/c.txt: c\n")
	outside, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	must(t, os.WriteFile(filepath.Join(outside, "loot.txt"), []byte(loot+"\n"), 0o644))
	must(t, os.MkdirAll(filepath.Join(outside, "sub", treasure), 0o755))
	must(t, os.WriteFile(filepath.Join(outside, treasure), []byte(loot), 0o644))
	must(t, os.MkdirAll(h.root+"-evil", 0o755))
	t.Cleanup(func() { os.RemoveAll(h.root + "-evil") })
	must(t, os.WriteFile(h.root+"-evil/loot.txt", []byte(loot), 0o644))
	for name, to := range map[string]string{
		"out": outside, "leak.txt": outside + "/loot.txt", "up": "..", "slash": "/",
		"magic": "/proc/self/root", "cwdlink": "/proc/self/cwd",
		"environ": "/proc/self/environ", "zero": "/dev/zero", "stdin": "/dev/stdin",
		"dangling": outside + "/nowhere", "loop1": "loop2", "loop2": "loop1",
		"chain1": "out", "chain2": "chain1", "winding": "dir/../../" + filepath.Base(outside),
		"dir/deep/out": outside, "fdlink": "/proc/self/fd",
	} {
		must(t, os.Symlink(to, filepath.Join(h.root, name)))
	}
	must(t, syscall.Mkfifo(filepath.Join(h.root, "fifo"), 0o644))
	return h, outside
}

func pathAttacks(root, outside string) []string {
	base, evil := filepath.Base(outside), filepath.Base(root)+"-evil"
	attacks := []string{
		"\x00", "a.txt\x00/../../" + base + "/loot.txt", "..", "../", "../..", "/", "//", "/..",
		"~", "~root", "$HOME", "`id`",
		"../../../../../../../../etc/passwd", "/etc/passwd", "//etc/passwd", "/etc/../etc/passwd",
		"/./etc/passwd", " /etc/passwd", "/etc/passwd ", strings.Repeat("../", 200) + "etc/passwd",
		outside, outside + "/loot.txt", "../" + base, "../" + base + "/loot.txt", "dir/../../" +
			base + "/loot.txt", "a.txt/../../" + base + "/loot.txt", "./../" + base + "/loot.txt",
		"dir/deep/../../../" + base,
		"../" + evil + "/loot.txt", root + "-evil", root + "-evil/loot.txt", root + "/../" + evil +
			"/loot.txt", "../" + filepath.Base(root) + "/out/loot.txt",
		"out", "out/", "out/loot.txt", "out/sub", "out/sub/new.txt", "out/new.txt", "out/.",
		"out/..", "out/../" + base + "/loot.txt", "out//loot.txt", "./out/./loot.txt",
		"dir/../out/loot.txt", "dir/deep/out/loot.txt",
		"leak.txt", "dangling", "dangling/x", "loop1", "loop1/x", "chain1/loot.txt",
		"chain2/loot.txt", "chain2/new.txt", "chain2/sub", "winding/loot.txt", "winding",
		"up", "up/" + base + "/loot.txt", "up/" + evil + "/loot.txt", "up/new.txt",
		"slash/etc/passwd", "slash" + outside + "/loot.txt", "slash" + outside, "magic/etc/passwd",
		"magic" + outside + "/loot.txt", "magic/proc/self/environ",
		"cwdlink", "cwdlink/attack_unix_test.go", "environ", "zero", "stdin", "fdlink", "fdlink/0",
		"fifo", "fifo/x",
		"/dev/zero", "/dev/null", "/dev/tty", "/dev/mem", "/dev/random", "/dev/stdin", "/dev/fd/0",
		"/dev/full",
		"/proc/self/environ", "/proc/self/mem", "/proc/self/root" + outside + "/loot.txt",
		"/proc/self/cwd/attack_unix_test.go", "/proc/1/environ", "/proc/self/fd/0",
		"/proc/self/task/self/root/etc/passwd", "/sys/kernel/uevent_helper",
		"file:///etc/passwd", "file://localhost/etc/passwd", "file:/etc/passwd",
		"FILE:///etc/passwd", "file://" + outside + "/loot.txt", "file://" + root + "/../" + base +
			"/loot.txt", "file://" + root + "/%2e%2e/" + base + "/loot.txt",
		"file://" + root + "/..%2f" + base + "/loot.txt", "file://" + root + "/out/loot.txt",
		"file://" + root + "/%6fut/loot.txt", "file://" + root + "/leak.txt", "file://" + root +
			"/a%00b", "file:///proc/self/environ", "file://host/etc/passwd",
		"untitled:../../etc/passwd", "http://localhost/etc/passwd",
		"vscode-remote://host/etc/passwd", "git:/etc/passwd?x",
		"..\u2044..\u2044etc/passwd", "\u2025/" + base + "/loot.txt", "\uff0e\uff0e/" + base +
			"/loot.txt", "..\u200b/" + base + "/loot.txt", "out\u200d/loot.txt",
		"o\u0075t/loot.txt", "..%2f" + base + "%2floot.txt", "%2e%2e/" + base + "/loot.txt",
		"..\\" + base + "\\loot.txt", "C:\\Windows\\win.ini", "\\\\host\\share\\x", "a.txt:stream",
		strings.Repeat("a/", 2000) + "x", strings.Repeat("x", 5000),
	}
	return attacks
}

// Each file tool is attacked with each path. No tool may read or change anything outside the
// workspace, and none may hang.
func TestEveryFileToolWithstandsPathAttacks(t *testing.T) {
	h, outside := trapped(t)
	before := treeOf(t, outside) + treeOf(t, h.root+"-evil")
	attacks := pathAttacks(h.root, outside)
	tools := map[string]func(path string) (string, args){
		"read": func(p string) (string, args) { return "read", args{"path": p} },
		"write": func(p string) (string, args) {
			return "write",
				args{"path": p, "content": "written\n"}
		},
		"edit": func(p string) (string, args) {
			return "edit", args{"path": p, "old_string": loot, "new_string": "edited"}
		},
		"ls": func(p string) (string, args) { return "ls", args{"path": p} },
		"glob": func(p string) (string, args) {
			return "glob",
				args{"pattern": "**/*", "path": p}
		},
		"glob up": func(p string) (string, args) { return "glob", args{"pattern": p + "/*"} },
		"grep":    func(p string) (string, args) { return "grep", args{"pattern": ".", "path": p} },
		"bash":    func(p string) (string, args) { return "bash", args{"command": "ls", "cwd": p} },
		"patch add": func(p string) (string, args) {
			return "apply_patch", args{"patch": "*** Begin Patch\n*** Add File: " + p +
				"\n+x\n*** End Patch"}
		},
		"patch update": func(p string) (string, args) {
			return "apply_patch", args{"patch": "*** Begin Patch\n*** Update File: " + p +
				"\n@@\n-" + loot + "\n+x\n*** End Patch"}
		},
		"patch delete": func(p string) (string, args) {
			return "apply_patch", args{"patch": "*** Begin Patch\n*** Delete File: " + p +
				"\n*** End Patch"}
		},
		"patch move": func(p string) (string, args) {
			return "apply_patch", args{"patch": "*** Begin Patch\n*** Update File: dir/b.txt\n*** Move to: " + p + "\n@@\n-b\n+x\n*** End Patch"}
		},
		"diff": func(p string) (string, args) {
			return "apply_patch", args{"patch": "--- a/" + p + "\n+++ b/" + p + "\n@@ -1 +1 @@\n-" +
				loot + "\n+x\n"}
		},
	}
	addUntried(t, h, tools)
	tried := 0
	for name, tool := range tools {
		for _, path := range attacks {
			tried++
			which, with := tool(path)
			shown := strings.ReplaceAll(h.run(which, with), fmt.Sprint(with["patch"]), "")
			if which != "edit" && which != "apply_patch" && strings.Contains(shown, loot) ||
				strings.Contains(shown, treasure) || strings.Contains(shown, "root:x:0:0") {
				t.Errorf("%s showed by %.200q:\n%.400s", name, path, shown)
			}
		}
		if after := treeOf(t, outside) + treeOf(t, h.root+"-evil"); after != before {
			t.Fatalf("%s changed files outside:\n%s\nbefore:\n%s", name, after, before)
		}
	}
	if len(attacks) < 100 {
		t.Errorf("only %d attacks", len(attacks))
	}
	t.Logf("%d attacks with each of %d calls of the file tools: %d calls", len(attacks),
		len(tools), tried)
}

// addUntried adds attacks on the tools that the table does not list, one for each of their path
// parameters. A new tool is therefore tested even if it has no row.
func addUntried(t *testing.T, h *harness, tools map[string]func(string) (string, args)) {
	tried := map[string]bool{}
	for _, way := range tools {
		name, _ := way("a.txt")
		tried[name] = true
	}
	for _, tool := range h.tools {
		var schema struct {
			Properties map[string]struct{ Type string }
			Required   []string
		}
		spec := tool.Spec()
		must(t, json.Unmarshal(spec.Schema, &schema))
		for _, param := range []string{"path", "paths", "file", "folder", "cwd"} {
			p, ok := schema.Properties[param]
			if !ok || tried[spec.Name] {
				continue
			}
			tools[spec.Name+" "+param] = func(path string) (string, args) {
				with := args{}
				for _, r := range schema.Required {
					with[r] = "x"
				}
				if with[param] = path; p.Type == "array" {
					with[param] = []string{path}
				}
				return spec.Name, with
			}
		}
	}
}

// treeOf lists a folder together with the contents of its files.
func treeOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			text, rerr := os.ReadFile(path)
			fmt.Fprintf(&b, "%s %q\n", path, text)
			return rerr
		}
		fmt.Fprintln(&b, path)
		return err
	})
	must(t, err)
	return b.String()
}

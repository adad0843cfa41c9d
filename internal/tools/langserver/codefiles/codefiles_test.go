package codefiles

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestCodeThatServersRun checks which of a workspace's files are listed as code that each server
// would run.
func TestCodeThatServersRun(t *testing.T) {
	top := t.TempDir()
	put := func(name, text string) {
		t.Helper()
		file := filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("go.mod", "module m\n")
	put("a/node_modules/typescript/lib/tsserver.js", "x")
	put("a/node_modules/other/build.rs", "x")
	put("a/tsconfig.json", `{"compilerOptions": {}}`)
	put("b/tsconfig.build.json", `{"compilerOptions": {"plugins": [{"name": "p"}]}}`)
	put("c/tsconfig.json", `{"compilerOptions": {"\u0070lugins": [{"name": "p"}]}}`)
	put("Cargo.toml", "[package]\nbuild = \"script.rs\"\n[lib]\nproc-macro = true\n")
	put("sub/Cargo.toml", "[package]\n")
	put("sub/build.rs", "x")
	put("script.rs", "x")
	put(".cargo/config.toml", "x")
	put("sub/.luarc.json", `{"runtime.plugin": "x.lua"}`)
	put(".luarc.json", `{}`)
	put(".clangd", "Index:\n  External:\n    Server: h:1\n")
	put("c/compile_flags.txt", "-MJ\n/home/me/.bashrc\n")
	put("c/build/compile_commands.json", "[]")
	put("build.zig", "x")
	put("r/rust-project.json", "{}")
	put("r/rust-analyzer.toml", "x")
	put("r/Cargo.toml", "package = { name = \"r\", build = 'compile', readme = 'README' }\n")
	put("r/compile", "x")
	put("r/README", "x")
	put("p/.vscode/pnpify/typescript/lib/tsserver.js", "x")
	put(".git/objects/build.rs", "x")
	rust := ".cargo/config.toml ./src Cargo.toml script.rs sub/Cargo.toml sub/build.rs " +
		"r/rust-project.json r/rust-analyzer.toml r/Cargo.toml r/compile"
	ts := "p/.vscode/pnpify/typescript/lib a/node_modules/typescript/lib b/tsconfig.build.json c/tsconfig.json"
	c := ".clangd c/compile_flags.txt c/build/compile_commands.json"
	for command, want := range map[string]string{
		"gopls": "", "/opt/bin/pyright-langserver": "",
		"rust-analyzer": rust, "typescript-language-server": ts, "vtsls": ts,
		"lua-language-server": "sub/.luarc.json", "clangd": c,
		"zls": rust + " " + ts + " sub/.luarc.json build.zig " + c,
	} {
		code := New().Code(top, top, command)
		got, all := code.Names, code.All
		wants := strings.Fields(want)
		slices.Sort(wants)
		slices.Sort(got)
		if !all || !slices.Equal(got, wants) {
			t.Errorf("%s: got %q, %v\nwant %q", command, got, all, wants)
		}
	}
}

// TestALinkedLibraryCounts checks that links to packages are followed, even out of the workspace.
func TestALinkedLibraryCounts(t *testing.T) {
	top := t.TempDir()
	if err := os.Symlink(t.TempDir(), filepath.Join(top, "node_modules")); err != nil {
		t.Skip(err)
	}
	got := New().Code(top, top, "vtsls").Names
	if !slices.Equal(got, []string{"node_modules"}) {
		t.Errorf("got %q", got)
	}
}

// TestCodeAroundTheFile checks code that a server finds from the folder of the file: in installed
// packages, whose other contents are not searched, and above the workspace folder.
func TestCodeAroundTheFile(t *testing.T) {
	up := t.TempDir()
	top := filepath.Join(up, "repo", "sub")
	for _, name := range []string{
		"repo/sub/node_modules/x/node_modules/typescript/lib/tsserver.js",
		"repo/sub/node_modules/x/Cargo.toml", "repo/sub/node_modules/x/build.rs",
		"repo/sub/node_modules/y/build.rs", "repo/sub/main.go",
		"repo/.cargo/config.toml", "repo/.vscode/pnpify/typescript/lib/tsserver.js",
		"node_modules/typescript/lib/tsserver.js", "rust-toolchain",
	} {
		file := filepath.Join(up, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("HOME", t.TempDir())
	for _, x := range []struct{ folder, command, names, pkg string }{
		{".", "vtsls", "", ""},
		{"node_modules/x/src", "vtsls", "node_modules/x/node_modules/typescript/lib",
			"node_modules/x"},
		{"node_modules/x", "rust-analyzer", "node_modules/x/Cargo.toml node_modules/x/build.rs",
			"node_modules/x"},
		{"node_modules/x", "gopls", "", ""},
	} {
		got := New().Code(top, filepath.Join(top, x.folder), x.command)
		if !slices.Equal(got.Names, strings.Fields(x.names)) || got.Package != x.pkg {
			t.Errorf("%s in %s: got %q in %q", x.command, x.folder, got.Names, got.Package)
		}
	}
	for command, want := range map[string][]string{
		"vtsls":         {"repo/.vscode/pnpify/typescript/lib", "node_modules/typescript/lib"},
		"rust-analyzer": {"repo/.cargo/config.toml", "rust-toolchain"},
		"gopls":         nil,
	} {
		got := New().Code(top, top, command)
		var above []string
		for _, name := range got.Above {
			above = append(above, filepath.Join(got.Up, name))
		}
		for i := range want {
			want[i] = filepath.Join(up, want[i])
		}
		if !slices.Equal(above, want) {
			t.Errorf("%s: got %q above the workspace", command, above)
		}
	}
	t.Setenv("HOME", filepath.Join(up, "repo"))
	if got := New().Code(top, top, "vtsls"); got.Up != "" || got.Above != nil {
		t.Errorf("the home folder is examined: %q", got.Above)
	}
}

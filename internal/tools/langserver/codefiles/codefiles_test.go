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
	put(".cargo/config.toml", "x")
	put("sub/.luarc.json", `{"runtime.plugin": "x.lua"}`)
	put(".luarc.json", `{}`)
	put(".clangd", "Index:\n  External:\n    Server: h:1\n")
	put("build.zig", "x")
	put(".git/objects/build.rs", "x")
	rust := ".cargo/config.toml ./src Cargo.toml script.rs sub/Cargo.toml sub/build.rs"
	ts := "a/node_modules/typescript/lib b/tsconfig.build.json c/tsconfig.json"
	for command, want := range map[string]string{
		"gopls": "", "/opt/bin/pyright-langserver": "",
		"rust-analyzer": rust, "typescript-language-server": ts, "vtsls": ts,
		"lua-language-server": "sub/.luarc.json", "clangd": ".clangd",
		"zls": rust + " " + ts + " sub/.luarc.json .clangd build.zig",
	} {
		got, all := New().Code(top, command)
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
	got, _ := New().Code(top, "vtsls")
	if !slices.Equal(got, []string{"node_modules"}) {
		t.Errorf("got %q", got)
	}
}

// Package codefiles finds the files of a workspace that language servers run as code.
//
// Language servers run code from the workspace, such as the TypeScript library in node_modules,
// build scripts of Rust packages, and plugins. The tables below list these files. A server that is
// not in the tables is treated as one that runs all of them. Start at Finder.
package codefiles

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// kind is a kind of code file. It is named after the language servers that run such files.
type kind string

const (
	forTypeScript kind = "typescript"
	forRust       kind = "rust"
	forLua        kind = "lua"
	forC          kind = "c"
	forOthers     kind = "others"
)

// kindsOf maps a server's program to the kinds of files that the server runs. nil means all kinds.
// gopls and pyright only run programs that they find on PATH.
var kindsOf = map[string][]kind{
	"gopls": {}, "pyright-langserver": {}, "pyright": {},
	"typescript-language-server": {forTypeScript}, "vtsls": {forTypeScript},
	"rust-analyzer":       {forRust},
	"lua-language-server": {forLua},
	"clangd":              {forC},
}

// codeFile is a rule for the files with one name. If marker is set, the rule applies only to files
// whose text contains it.
type codeFile struct {
	kind   kind
	marker string
}

// codeFiles lists files that a server runs, and files that refer to code that a server runs.
var codeFiles = map[string]codeFile{
	"Cargo.toml": {kind: forRust}, "Cargo.lock": {kind: forRust}, "build.rs": {kind: forRust},
	"rust-toolchain": {kind: forRust}, "rust-toolchain.toml": {kind: forRust},
	"rust-project.json": {kind: forRust}, ".rust-project.json": {kind: forRust},
	"rust-analyzer.toml": {kind: forRust},
	".pnp.cjs":           {kind: forTypeScript}, ".pnp.js": {kind: forTypeScript},
	".pnp.loader.mjs": {kind: forTypeScript},
	".luarc.json":     {forLua, "plugin"}, ".luarc.jsonc": {forLua, "plugin"},
	// clangd writes the files that compiler options such as -MJ name, wherever they are.
	".clangd": {kind: forC}, "compile_commands.json": {kind: forC},
	"compile_flags.txt": {kind: forC},
}

// otherCode contains patterns of the files that a language server may run if kindsOf does not list
// the server.
var otherCode = strings.Fields(`
	*.cabal *.csproj *.fsproj *.gradle *.gradle.kts *.sbt *.sln *.vbproj .eslintrc* .prettierrc*
	.solargraph.yml CMakeLists.txt Directory.Build.* Gemfile Makefile Package.swift Rakefile
	*.config.cjs *.config.cts *.config.js *.config.mjs *.config.mts *.config.ts build.zig cabal.project
	composer.json deno.json deno.jsonc dune dune-project flake.nix gradlew hie.yaml
	meson.build mix.exs package.json pom.xml pubspec.yaml pyproject.toml shell.nix stack.yaml`)

// maxWalked limits how many files and folders of a workspace are visited.
const maxWalked = 300_000

// found is the name of a file or folder that a server may run.
type found struct {
	name string // slash-separated, below the workspace; a folder means its direct files
	kind kind
}

// Finder finds the code that servers run, and caches the result for a short time. It is safe for
// concurrent use.
type Finder struct {
	mu   sync.Mutex
	seen map[string]walk // by folder
}

type walk struct {
	found []found
	all   bool
	until time.Time
}

// New returns an empty Finder.
func New() *Finder { return &Finder{seen: map[string]walk{}} }

// Code is the code that a server runs for a file.
type Code struct {
	// Names are the names, below the workspace folder, of files that the server runs, and of files
	// that refer to such files.
	Names []string
	// Package is the name of the folder of installed packages that contains the file, or "".
	Package string
	// Up is the outermost folder above the workspace folder that was examined, or "" if there is
	// none, and Above are the names below it. Servers also load settings and libraries from the
	// folders above.
	Up    string
	Above []string
	// All is false if the workspace folder has too many files to find all of Names.
	All bool
}

// Code returns the code that the server with this command runs for the files in a folder. The
// folder is in the workspace folder top or is top.
func (f *Finder) Code(top, folder, command string) Code {
	kinds, known := kindsOf[strings.TrimSuffix(filepath.Base(command), ".exe")]
	if known && len(kinds) == 0 {
		return Code{All: true}
	}
	names := func(w walk, below string) (out []string) {
		for _, x := range w.found {
			if !known || slices.Contains(kinds, x.kind) {
				out = append(out, below+x.name)
			}
		}
		return out
	}
	w := f.walked(top)
	c := Code{Names: names(w, ""), All: w.all}
	for _, c.Package = range packages(top, folder) {
		inner := f.walked(filepath.Join(top, filepath.FromSlash(c.Package)))
		c.Names = append(c.Names, names(inner, c.Package+"/")...)
		c.All = c.All && inner.all
	}
	var above walk
	c.Up, above = lookAbove(top)
	c.Above = names(above, "")
	return c
}

// walked searches a folder. It caches the result for 20 times the duration of the search, so that
// searching takes less than a twentieth of the time.
func (f *Finder) walked(top string) walk {
	f.mu.Lock()
	defer f.mu.Unlock()
	if w, ok := f.seen[top]; ok && time.Now().Before(w.until) {
		return w
	}
	began := time.Now()
	w := lookThrough(top)
	w.until = time.Now().Add(20 * time.Since(began))
	f.seen[top] = w
	return w
}

func lookThrough(top string) walk {
	w, left := walk{all: true}, maxWalked
	_ = filepath.WalkDir(top, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // a server cannot run code from an unreadable folder
		}
		if left--; left < 0 {
			w.all = false
			return fs.SkipAll
		}
		rel, err := filepath.Rel(top, p)
		if err != nil {
			return nil
		}
		return w.look(p, filepath.ToSlash(rel), e)
	})
	return w
}

// look adds the code that one directory entry contributes to the result.
func (w *walk) look(full, name string, e fs.DirEntry) error {
	base := e.Name()
	switch {
	case base == "node_modules":
		w.add(forTypeScript, name, e)
		w.library(full, name, "typescript")
		return skipped(e)
	case name == ".git/objects":
		return fs.SkipDir
	case base == "sdks" && path.Base(path.Dir(name)) == ".yarn",
		base == "pnpify" && path.Base(path.Dir(name)) == ".vscode":
		w.library(full, name, "typescript")
	case strings.HasPrefix(path.Base(path.Dir(name)), ".cargo") &&
		strings.HasPrefix(base, "config"):
		w.found = append(w.found, found{name, forRust})
	case isVenv(name):
		w.found = append(w.found, found{name, forOthers})
	case !e.IsDir():
		w.file(full, name, base)
	}
	return nil
}

func skipped(e fs.DirEntry) error {
	if e.IsDir() {
		return fs.SkipDir
	}
	return nil
}

// add adds a folder if it is a symbolic link, because the link's target can change or be outside
// the workspace.
func (w *walk) add(k kind, name string, e fs.DirEntry) {
	if e.Type()&fs.ModeSymlink != 0 {
		w.found = append(w.found, found{name, k})
	}
}

// library adds the manifest and the code of one package in a folder of packages.
func (w *walk) library(folder, name, pkg string) {
	info, err := os.Lstat(filepath.Join(folder, pkg))
	if err != nil {
		return
	}
	w.add(forTypeScript, path.Join(name, pkg), fs.FileInfoToDirEntry(info))
	for _, sub := range []string{"package.json", "lib"} {
		if _, err := os.Stat(filepath.Join(folder, pkg, sub)); err == nil {
			w.found = append(w.found, found{path.Join(name, pkg, sub), forTypeScript})
		}
	}
}

func isVenv(name string) bool {
	switch path.Base(name) {
	case "python", "python3", "python.exe":
		return strings.HasSuffix(path.Dir(name), "venv/bin") ||
			strings.HasSuffix(path.Dir(name), "venv/Scripts")
	}
	return false
}

var buildScript = lazyregexp.New(`\b(?:build|path)["']?\s*=\s*["']([^"'\n]+)["']`)

// file adds a file if a rule names it.
func (w *walk) file(full, name, base string) {
	rule, ok := codeFiles[base]
	if !ok && strings.HasSuffix(base, ".json") &&
		(strings.HasPrefix(base, "tsconfig") || strings.HasPrefix(base, "jsconfig")) {
		rule, ok = codeFile{forTypeScript, `"plugins"`}, true
	}
	if ok && (rule.marker == "" || mayContain(head(full), rule.marker)) {
		w.found = append(w.found, found{name, rule.kind})
	}
	if base == "Cargo.toml" {
		w.crate(full, path.Dir(name))
	}
	for _, p := range otherCode {
		if match, _ := path.Match(p, base); match {
			w.found = append(w.found, found{name, forOthers})
			break
		}
	}
}

// crate adds the files that run when a Rust package is built. These are the build script that the
// manifest names, and the sources if the package is a procedural macro.
func (w *walk) crate(manifest, dir string) {
	text := head(manifest)
	for _, m := range buildScript().FindAllSubmatch(text, -1) {
		script := path.Join(dir, string(m[1]))
		file := filepath.Join(filepath.Dir(manifest), filepath.FromSlash(string(m[1])))
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() &&
			filepath.IsLocal(script) {
			w.found = append(w.found, found{script, forRust})
		}
	}
	if mayContain(text, "proc-macro") || mayContain(text, "proc_macro") {
		w.found = append(w.found, found{dir + "/src", forRust})
	}
}

// maxHead limits how much of a file is read to find a marker.
const maxHead = 1 << 20

// head returns the first maxHead bytes of a file, or nil if the file is not regular.
func head(file string) []byte {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() { // opening a named pipe would block
		return nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxHead))
	return text
}

// mayContain reports whether the text of a file may contain a word. The word may be written with
// escapes, or be in a part of a long file that was not read.
func mayContain(text []byte, word string) bool {
	return len(text) == maxHead || bytes.Contains(text, []byte(word)) ||
		bytes.Contains(text, []byte(`\u`)) || bytes.Contains(text, []byte(`\U`)) ||
		bytes.Contains(text, []byte(`\x`))
}

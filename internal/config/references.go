package config

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

const (
	// maxReferences is the maximum number of names in the values of a claim.
	maxReferences = 4096
	// maxBound is the maximum number of files that a claim takes from folders.
	maxBound = 2000
)

// boundFolders are the folders in which a workspace stores agents, commands and skills. Their files
// are trusted together with the workspace's settings.
var boundFolders = []string{".agent-lsp", ".agents"}

// manifests are the files that determine which code a program runs.
var manifests = map[string][]string{
	"npm": nodeFiles, "npx": nodeFiles, "pnpm": nodeFiles, "yarn": nodeFiles, "bun": nodeFiles,
	"bunx": nodeFiles, "node": nodeFiles, "pnpx": nodeFiles, "corepack": nodeFiles,
	"make": makeFiles, "gmake": makeFiles,
	"just": {"justfile", "Justfile", ".justfile"}, "task": {"Taskfile.yml", "Taskfile.yaml"},
	"deno": {"deno.json", "deno.jsonc"}, "cargo": {"Cargo.toml", ".cargo/config.toml", "build.rs"},
	"uv": pythonFiles, "uvx": pythonFiles, "poetry": pythonFiles, "pdm": pythonFiles,
	"rake": {"Rakefile"}, "bundle": {"Gemfile"}, "composer": {"composer.json"}, "go": {"go.mod"},
	"pytest": {"conftest.py", "pytest.ini", "pyproject.toml", "setup.cfg", "tox.ini"},
	"tox":    {"tox.ini", "pyproject.toml", "setup.cfg"}, "nox": {"noxfile.py"},
	"invoke": {"tasks.py"}, "inv": {"tasks.py"},
	"eslint": configsOf("eslint"), "prettier": configsOf("prettier"), "jest": configsOf("jest"),
	"vitest": append(configsOf("vitest"), "vite.config.js", "vite.config.ts", "vite.config.mjs"),
	"vite":   configsOf("vite"), "webpack": configsOf("webpack"), "rollup": configsOf("rollup"),
	"mocha": configsOf("mocha"), "gulp": {"gulpfile.js", "gulpfile.mjs"},
	"grunt":  {"Gruntfile.js"},
	"gradle": {"build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"},
	"mvn":    {"pom.xml", ".mvn/maven.config", ".mvn/extensions.xml", ".mvn/jvm.config"},
	"cmake":  {"CMakeLists.txt"}, "ninja": {"build.ninja"}, "meson": {"meson.build"},
	"mix": {"mix.exs"}, "sbt": {"build.sbt"}, "rspec": {".rspec"}, "rubocop": {".rubocop.yml"},
	"pre-commit": {".pre-commit-config.yaml"},
}

// configsOf returns the names of the settings files of a JavaScript tool, which can contain code.
func configsOf(tool string) []string {
	out := []string{"." + tool + "rc"}
	for _, ext := range []string{"js", "cjs", "mjs", "ts", "json", "yml", "yaml"} {
		out = append(out, tool+".config."+ext, "."+tool+"rc."+ext)
	}
	return out
}

var (
	nodeFiles   = []string{"package.json", ".npmrc", ".yarnrc", ".yarnrc.yml"}
	makeFiles   = []string{"Makefile", "makefile", "GNUmakefile"}
	pythonFiles = []string{"pyproject.toml", "uv.toml"}
)

// interpreters run the contents of their argument file, regardless of its name. The shell's "." and
// "source" do the same.
var interpreters = set("sh", "bash", "dash", "zsh", "ksh", "fish", "node", "deno", "bun",
	"python", "python3", "pypy", "pypy3", "ruby", "perl", "php", "lua", "luajit", "pwsh",
	"powershell", "tclsh", "awk", "gawk", "mawk", "nawk", "Rscript", "julia", "groovy", "elixir",
	"tsx", "ts-node", "ts-node-esm", "vite-node", "babel-node", "esno", "jiti", "zx", "bats",
	"runghc", "nu", "env", "exec", ".", "source")

// runners run the files of the folder that follows the word "run".
var runners = set("go", "deno", "bun", "uv", "poetry", "pdm", "pipenv", "rye", "hatch", "dart")

// movers precede the folder in which the rest of a command line runs.
var movers = set("cd", "pushd", "-C", "--cwd", "--dir", "--directory", "--prefix")

// dataExtensions are extensions of files that programs write. Such a file belongs to a claim only
// if it is executable or a program starts it.
var dataExtensions = set(".log", ".out", ".err", ".tmp", ".pid", ".sock", ".lock", ".cache",
	".csv", ".tsv", ".db", ".db3", ".sqlite", ".sqlite3", ".ndjson", ".jsonl", ".parquet", ".prof",
	".cov", ".coverage")

func set(list ...string) map[string]bool {
	out := map[string]bool{}
	for _, s := range list {
		out[s] = true
	}
	return out
}

// references returns the names below the root that the values of a claim may refer to, and for each
// whether it is certainly a program. If it is unclear whether a word is a name, references includes
// it. ok is false if there are too many names.
func references(root string, settings []Claimed) (names map[string]bool, ok bool) {
	names = namesIn(root, settings)
	if len(names) > maxReferences {
		return nil, false
	}
	for _, dir := range boundFolders {
		names[dir] = true
	}
	return names, true
}

func namesIn(root string, settings []Claimed) map[string]bool {
	f := finder{root: root, names: map[string]bool{}}
	for _, s := range settings {
		f.value(s.Value, "")
	}
	return f.names
}

// FilesNamed returns the existing names below the root that values may refer to. A folder without a
// slash in its name is ignored, because the name is more likely a word.
func FilesNamed(root string, values ...any) (names []string) {
	settings := make([]Claimed, len(values))
	for i, v := range values {
		settings[i].Value = v
	}
	for name := range namesIn(root, settings) {
		if info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(name))); err == nil &&
			(!info.IsDir() || strings.Contains(name, "/")) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

type finder struct {
	root  string
	names map[string]bool
}

// value examines all strings in a value. dir is the working directory of the program that the value
// names.
func (f *finder) value(v any, dir string) {
	switch v := v.(type) {
	case string:
		f.text(v, dir)
	case []any:
		f.text(line(v), dir) // "sh", "x.log"
		for _, x := range v {
			f.value(x, dir)
		}
	case map[string]any:
		if cwd, isText := v["cwd"].(string); isText {
			dir = cwd
		}
		if command, isText := v["command"].(string); isText {
			f.add(command, dir, true)
			args, _ := v["args"].([]any)
			f.text(command+" "+line(args), dir)
		}
		for _, x := range v {
			f.value(x, dir)
		}
	}
}

// line joins the strings of a list.
func line(list []any) string {
	var b strings.Builder
	for _, v := range list {
		if s, isText := v.(string); isText {
			b.WriteString(s + " ")
		}
	}
	return b.String()
}

// text adds the words of a string: an argument, a command line or the value of a variable.
func (f *finder) text(s, dir string) {
	f.add(s, dir, false)
	started, before := false, "" // whether the previous word starts the next word as a program
	for word := range strings.FieldsFuncSeq(s, betweenWords) {
		moved := movers[before]
		f.add(word, dir, started || moved)
		if _, rest, more := strings.Cut(word, "/"); more {
			f.add(rest, dir, started || moved) // for example, x in $ROOT/x and ${PWD}/x
		}
		for _, file := range manifests[word] {
			f.add(file, dir, true)
		}
		if !strings.ContainsAny(word, `/\`) {
			// npx and npm scripts start these programs.
			f.add(path.Join("node_modules/.bin", word), dir, true)
			module := strings.ReplaceAll(word, ".", "/") // python -m runs these files
			f.add(module+".py", dir, true)
			f.add(module+"/__main__.py", dir, true)
		}
		started = interpreters[path.Base(word)] || word == "run" && runners[before] ||
			started && strings.HasPrefix(word, "-")
		if before = path.Base(word); moved {
			dir = path.Join(dir, word)
		}
	}
}

func betweenWords(r rune) bool { return strings.ContainsRune(" \t\r\n'\"`;|&<>(){}$=,:", r) }

// add adds a name, resolved against the root and against the working directory.
func (f *finder) add(name, dir string, program bool) {
	if len(f.names) > maxReferences || name == "" {
		return
	}
	for _, base := range []string{"", dir} {
		full := filepath.FromSlash(name)
		if base != "" {
			full = filepath.Join(filepath.FromSlash(base), full)
		}
		rel, err := filepath.Rel(f.root, full)
		if filepath.IsAbs(full) && err == nil && filepath.IsLocal(rel) {
			full = rel
		}
		full = filepath.Clean(strings.TrimLeft(full, `/\`))
		if filepath.IsLocal(full) && (full != "." || program) {
			key := filepath.ToSlash(full)
			f.names[key] = f.names[key] || program
		}
	}
}

// fileDigests computes digests of files and recomputes them only if a file may have changed. It is
// safe for concurrent use.
type fileDigests struct {
	mu   sync.Mutex
	seen map[string]fileDigest
}

func newFileDigests() *fileDigests { return &fileDigests{seen: map[string]fileDigest{}} }

type fileDigest struct {
	stamp  stamp
	digest string
}

// of returns the files that names refer to, directly or in folders, and all names that a change
// could turn into files. ok is false if there are too many, because a file outside the digest could
// change unnoticed.
func (d *fileDigests) of(
	root string, names map[string]bool,
) (files []ClaimedFile, watch []string, ok bool) {
	base, err := os.OpenRoot(root)
	if err != nil {
		return nil, slices.Sorted(maps.Keys(names)), true
	}
	defer base.Close()
	all := expand(base, names)
	if len(all) > maxReferences+maxBound {
		return nil, nil, false
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		watch = append(watch, name)
		if digest := d.digest(base, root, name, all[name]); digest != "" {
			files = append(files, ClaimedFile{Name: name, Digest: digest})
		}
	}
	return files, watch, true
}

// expand adds the files of folders to names: all files of boundFolders, and the direct files of a
// folder whose name contains a slash or that a program runs. Any other name without a slash is more
// likely a word than a folder. It stops when there are too many.
func expand(base *os.Root, names map[string]bool) map[string]bool {
	out := maps.Clone(names)
	for name := range names {
		info, err := base.Stat(filepath.FromSlash(name))
		switch {
		case err != nil || !info.IsDir():
		case slices.Contains(boundFolders, name):
			addAll(base, name, out)
		case strings.Contains(name, "/"), names[name]:
			entries, _ := fs.ReadDir(base.FS(), path.Clean(name)) // refuses "./src"
			for _, e := range entries[:min(len(entries), maxReferences+maxBound+1)] {
				file := path.Join(name, e.Name())
				if _, listed := out[file]; !listed {
					out[file] = false
				}
			}
		}
	}
	return out
}

// addAll adds everything in a folder, including folders behind links, because agents, commands and
// skills are also read through links. If links form a loop, the system refuses a path with too many
// links.
func addAll(base *os.Root, folder string, out map[string]bool) {
	_ = fs.WalkDir(base.FS(), folder, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // only this entry is skipped
		}
		if len(out) > maxReferences+maxBound {
			return fs.SkipAll
		}
		out[p] = true
		if p != folder && e.Type()&fs.ModeSymlink != 0 {
			if info, err := base.Stat(filepath.FromSlash(p)); err == nil && info.IsDir() {
				addAll(base, p, out)
			}
		}
		return nil
	})
}

// digest returns the digest of a file's contents, or of the target of a link that leaves the root.
// It returns "" if there is no such file, or if the file is data that programs write. An empty file
// is treated as missing, because running it has no effect.
func (d *fileDigests) digest(base *os.Root, root, name string, program bool) string {
	native := filepath.FromSlash(name)
	// Opening a named pipe would block.
	f, err := base.OpenFile(native, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return linkDigest(base, native)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return ""
	}
	if !program && info.Mode()&0o111 == 0 && dataExtensions[strings.ToLower(path.Ext(name))] {
		return ""
	}
	key, now := filepath.Join(root, native), stampOf(info)
	d.mu.Lock()
	known, ok := d.seen[key]
	d.mu.Unlock()
	if ok && known.stamp == now && !now.racy() {
		return known.digest
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "unreadable"
	}
	known = fileDigest{now, "sha256:" + hex.EncodeToString(h.Sum(nil))}
	d.mu.Lock()
	d.seen[key] = known
	d.mu.Unlock()
	return known.digest
}

func linkDigest(base *os.Root, name string) string {
	info, err := base.Lstat(name)
	if err != nil {
		return ""
	}
	if info.Mode()&fs.ModeSymlink == 0 {
		return "unreadable"
	}
	target, err := base.Readlink(name)
	if err != nil {
		return "unreadable"
	}
	sum := sha256.Sum256([]byte("link to " + target))
	return "sha256:" + hex.EncodeToString(sum[:])
}

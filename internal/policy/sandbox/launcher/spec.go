package launcher

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/agent-lsp/agent-lsp/internal/realpath"
)

// The hidden first arguments that make this binary the launcher. With runArg, the command follows.
// With prepareArg, the launcher receives its command later.
const (
	runArg     = "__sandbox"
	prepareArg = "__sandbox-prepare"
)

// Start is a command for an existing sandbox.
type Start struct {
	Argv []string `json:"argv"`
	Env  []string `json:"env"`
	Dir  string   `json:"dir"` // Spec.Dir takes precedence
}

// The exit codes of a launcher whose command did not run, as shells and env use them.
const (
	exitFailed     = 125 // the sandbox could not be created
	exitNotRunning = 126 // the program exists but cannot be executed
	exitNotFound   = 127
)

// Spec describes what a command may see and change. All paths are absolute.
type Spec struct {
	Roots []string `json:"roots,omitempty"` // workspace folders, visible at their own paths
	// Write reports whether the command may change the roots, except protected files.
	Write bool `json:"write,omitempty"`
	// Readable lists additional files and folders that must stay visible.
	Readable []string `json:"readable,omitempty"`
	// Secrets lists secret files that stay readable. Those in the home are also in Readable.
	Secrets []string `json:"secrets,omitempty"`
	// Hidden lists files and folders that become empty: agent-lsp's own data, such as the stored
	// keys.
	Hidden []string `json:"hidden,omitempty"`
	// Settings lists files and folders of the user's own settings of agent-lsp, which can start
	// programs. In the roots, they are protected like Hidden.
	Settings []string `json:"settings,omitempty"`
	// Home is the user's home, which is empty and private except for Readable and Caches.
	Home string `json:"home,omitempty"`
	// HomeName is another path of the home that must work, such as a link, or "" if there is none.
	HomeName string `json:"homeName,omitempty"`
	// Caches lists shared package caches. They are readable, and writes are stored in a private
	// layer.
	Caches []string `json:"caches,omitempty"`
	// Layer is an existing folder for the private layers and the private home. If it is "", they
	// are deleted when the command ends.
	Layer string `json:"layer,omitempty"`
	// Lock is a lock file in an existing folder. It is created if it is missing. While a sandbox
	// changes the workspace or masks its secret files, the user's other sandboxes with the same
	// lock wait. "" means that there are no other sandboxes.
	Lock string `json:"lock,omitempty"`
	// Tmp is an existing folder that becomes /tmp. "" means an empty folder in memory.
	Tmp string `json:"tmp,omitempty"`
	// Proxy is the Unix socket of the daemon's proxy, or "" if there is no network.
	Proxy string `json:"proxy,omitempty"`
	// Dir is the command's working folder. "" means the folder in which the launcher is started.
	Dir string `json:"dir,omitempty"`
}

// Args returns the command line that starts argv in the sandbox. exe is this program's binary.
func (s Spec) Args(exe string, argv []string) ([]string, error) {
	if len(argv) == 0 {
		return nil, fmt.Errorf("sandboxing a command: it is empty")
	}
	prefix, err := s.Prefix(exe)
	return append(prefix, argv...), err
}

// Prefix returns the part of Args before the command.
func (s Spec) Prefix(exe string) ([]string, error) {
	for _, list := range [][]string{s.Roots, s.Readable, s.Secrets, s.Caches, s.Hidden, s.Settings,
		nonEmpty(s.Home, s.HomeName, s.Layer, s.Lock, s.Tmp, s.Proxy, s.Dir)} {
		for _, p := range list {
			if !filepath.IsAbs(p) {
				return nil, fmt.Errorf("sandboxing a command: %q is not an absolute path", p)
			}
		}
	}
	if slices.Contains(s.Roots, "/") {
		return nil, fmt.Errorf("sandboxing a command: the whole file system cannot be a workspace")
	}
	b, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encoding the sandbox: %w", err)
	}
	return []string{exe, runArg, string(b), "--"}, nil
}

func nonEmpty(paths ...string) []string {
	var out []string
	for _, p := range paths {
		if p != "" {
			out = append(out, p)
		}
	}
	return out
}

// homeReadable are the files and folders of a home that commands may read: toolchains, and the git
// settings that contain no secret. Everything else in the home is hidden.
var homeReadable = []string{
	".asdf",
	".bun/bin",
	".cargo/bin",
	".cargo/config.toml",
	".cargo/env",
	".config/git/attributes",
	".config/git/config",
	".config/git/ignore",
	".deno/bin",
	".dotnet",
	".gitconfig",
	".fnm",
	".ghcup",
	".local/bin",
	".local/lib",
	".local/pipx/venvs",
	".local/share/fnm",
	".local/share/mise",
	".local/share/pipx/venvs",
	".local/share/pnpm",
	".local/share/uv/python",
	".local/share/uv/tools",
	".nodenv",
	".npm-global",
	".nvm",
	".opam",
	".pyenv",
	".rbenv",
	".rustup",
	".sdkman/candidates",
	".volta",
	"go/bin", "sdk",
}

// besideBin are folders next to a bin folder with files that the programs in bin need.
var besideBin = []string{"conf", "include", "jmods", "lib", "lib64", "libexec"}

// HomeReadable lists what a command may read in a home: the documented list, and the folders of
// PATH inside the home, with their libraries. It skips missing paths. home must be a path without
// links.
func HomeReadable(home, path string) []string {
	candidates := joined(home, homeReadable)
	for _, dir := range filepath.SplitList(path) {
		real, err := realpath.Eval(dir)
		if err != nil || !filepath.IsAbs(dir) || real == home || !Below(real, home) {
			continue
		}
		candidates = append(candidates, real)
		switch prefix := filepath.Dir(real); {
		case prefix == home:
		case filepath.Base(real) == "bin":
			candidates = append(candidates, joined(prefix, besideBin)...)
		case filepath.Base(real) == ".bin": // node_modules/.bin has links to the packages
			candidates = append(candidates, prefix)
		}
	}
	return existing(candidates)
}

func joined(dir string, names []string) []string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, filepath.Join(dir, n))
	}
	return out
}

func existing(paths []string) []string {
	var out []string
	for _, p := range paths {
		if _, err := os.Stat(p); err == nil {
			out = append(out, p)
		}
	}
	return out
}

// Below reports whether a cleaned path is dir or is inside it.
func Below(path, dir string) bool {
	return path == dir || dir == "/" ||
		len(path) > len(dir) && path[:len(dir)] == dir && path[len(dir)] == '/'
}

// RemoveLayer removes a folder of private layers, including folders of the overlay that their owner
// cannot open.
func RemoveLayer(dir string) error {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(path, 0o700) // make the folder accessible before the walk opens it
		}
		return nil
	})
	return os.RemoveAll(dir)
}

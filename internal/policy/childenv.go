package policy

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/realpath"
)

// secretWords mark the names of secret variables. Child processes inherit such a variable only if
// the user's settings pass it (docs/use/permissions.md).
var secretWords = []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "AUTH", "CREDENTIAL"}

// The variables that children inherit (docs/use/permissions.md). Other variables are inherited only
// if the user's settings pass them.
var (
	// forAll are the variables that every command inherits, in addition to PATH and names that
	// start with LC_.
	forAll = words{list: "LANG TERM TZ"}
	// ofUser are the variables that a process inherits only if it may do more than read. Such a
	// process also inherits names that start with XDG_.
	ofUser = words{list: "HOME USER SHELL"}
	// ofToolchains are the variables that name the folders of toolchains, packages and caches.
	ofToolchains = words{list: `ANDROID_HOME ANDROID_NDK_HOME ANDROID_SDK_ROOT ASDF_DATA_DIR ASDF_DIR
BUN_INSTALL BUNDLE_PATH CABAL_DIR CARGO_HOME CARGO_TARGET_DIR COMPOSER_HOME CONDA_DEFAULT_ENV
CONDA_EXE CONDA_PREFIX COREPACK_HOME CUDA_HOME DENO_DIR DENO_INSTALL DOTNET_ROOT EMSDK
FLUTTER_ROOT FNM_DIR FNM_MULTISHELL_PATH GEM_HOME GEM_PATH GHCUP_INSTALL_BASE_PREFIX GOBIN
GOCACHE GOMODCACHE GOPATH GOROOT GOTOOLCHAIN GRADLE_HOME GRADLE_USER_HOME HOMEBREW_CELLAR
HOMEBREW_PREFIX JAVA_HOME JDK_HOME JULIA_DEPOT_PATH KOTLIN_HOME M2_HOME MAVEN_HOME MISE_DATA_DIR
NIX_PATH NIX_PROFILES NODE_PATH NUGET_PACKAGES NVM_BIN NVM_DIR OPAMROOT OPAM_SWITCH_PREFIX
PIPX_BIN_DIR PIPX_HOME PIP_CACHE_DIR PKG_CONFIG_PATH PNPM_HOME POETRY_HOME PUB_CACHE PYENV_ROOT
PYENV_VERSION PYTHONHOME PYTHONUSERBASE RBENV_ROOT RUSTUP_HOME RUSTUP_TOOLCHAIN R_HOME
R_LIBS_USER SCALA_HOME SDKMAN_DIR STACK_ROOT UV_CACHE_DIR UV_PYTHON_INSTALL_DIR UV_TOOL_DIR
VCPKG_ROOT VIRTUAL_ENV VOLTA_HOME YARN_CACHE_FOLDER npm_config_cache npm_config_prefix`}
	// ofWindows are variables that most programs need to start on Windows. Some contain folders.
	ofWindows = words{list: `APPDATA COMMONPROGRAMFILES COMSPEC HOMEDRIVE HOMEPATH LOCALAPPDATA
NUMBER_OF_PROCESSORS OS PATHEXT PROCESSOR_ARCHITECTURE PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86)
PROGRAMW6432 PSMODULEPATH SYSTEMDRIVE SYSTEMROOT TEMP TMP USERNAME USERPROFILE WINDIR`}
)

// Environment builds the environments of child processes from the daemon's own environment.
type Environment struct {
	Own   []string // the daemon's environment
	Pass  []string // names that the user's settings pass, without further checks
	Roots []string // workspace folders; programs in them are not found by name alone
}

// Child returns the environment of commands that do more than read, and of MCP servers, hooks and
// language servers.
func (e Environment) Child() []string {
	return e.filter(func(name string) bool {
		return forAll.has(name) || ofUser.has(name) || ofToolchains.has(name) ||
			strings.HasPrefix(name, "LC_") || strings.HasPrefix(name, "XDG_")
	})
}

// Reading returns the environment of commands that only read. home and tmp are scratch folders.
func (e Environment) Reading(home, tmp string) []string {
	out := e.filter(
		func(name string) bool { return forAll.has(name) || strings.HasPrefix(name, "LC_") },
	)
	for name, dir := range map[string]string{"HOME": home, "TMPDIR": tmp} {
		if !slices.Contains(e.Pass, name) && dir != "" {
			out = append(out, name+"="+dir)
		}
	}
	slices.Sort(out)
	return out
}

// All returns the daemon's own environment, in which PATH contains only the entries that children
// inherit.
func (e Environment) All() []string {
	out := slices.Clone(e.Own)
	for i, kv := range out {
		if name, value, _ := strings.Cut(kv, "="); canonical(name) == "PATH" {
			out[i] = name + "=" + e.searchPath(value)
		}
	}
	return out
}

// filter returns the inherited and the passed variables. If a name occurs more than once, the last
// value is used.
func (e Environment) filter(inherited func(name string) bool) []string {
	out := []string{}
	for i, kv := range e.Own {
		name, value, ok := strings.Cut(kv, "=")
		upper := canonical(name)
		switch {
		case !ok || name == "":
			continue
		case slices.Contains(e.Pass, name):
		case upper == "PATH":
			kv = name + "=" + e.searchPath(value)
		case !inherited(upper) && (runtime.GOOS != "windows" || !ofWindows.has(upper)) ||
			namesSecret(name):
			continue
		}
		// This check is last, because it compares the name with all others and few names get here.
		if !slices.ContainsFunc(e.Own[i+1:], named(name)) {
			out = append(out, kv)
		}
	}
	return out
}

// canonical returns a name as it is spelled in the lists. On Windows, case does not matter.
func canonical(name string) string {
	if runtime.GOOS == "windows" {
		return strings.ToUpper(name)
	}
	return name
}

func named(name string) func(kv string) bool {
	return func(kv string) bool { return strings.HasPrefix(kv, name+"=") }
}

func namesSecret(name string) bool {
	upper := strings.ToUpper(name)
	return slices.ContainsFunc(
		secretWords,
		func(w string) bool { return strings.Contains(upper, w) },
	)
}

// searchPath returns the absolute entries of a PATH outside the roots, each once. Other entries
// would find programs in the workspace or in the folder that a command happens to run in. If a root
// is the root of the file system, every program is in it, so its entries stay. searchPath runs for
// each command and stores nothing, because an entry may become a link into a root at any time.
func (e Environment) searchPath(path string) string {
	var roots []string
	for _, root := range e.Roots {
		if names := spellings(root); filepath.Dir(names[len(names)-1]) != names[len(names)-1] {
			roots = append(roots, names...)
		}
	}
	dirs := filepath.SplitList(path)
	kept := make([]string, 0, len(dirs))
	for _, dir := range dirs {
		inRoot := func(name string) bool { return insideAny(name, roots) }
		if filepath.IsAbs(dir) && !slices.Contains(kept, dir) &&
			!slices.ContainsFunc(spellings(dir), inRoot) {
			kept = append(kept, dir)
		}
	}
	if len(kept) == 0 && runtime.GOOS != "windows" {
		return lastPath
	}
	return strings.Join(kept, string(filepath.ListSeparator))
}

// lastPath is used if no entry of a PATH remains. With an empty PATH, a shell would run programs of
// its current folder.
const lastPath = "/usr/bin:/bin"

// CleanPath removes the entries that children do not inherit from the PATH of this process, which
// finds the shell and bubblewrap there.
func (e Environment) CleanPath() {
	path := os.Getenv("PATH")
	if kept := e.searchPath(path); kept != path {
		_ = os.Setenv("PATH", kept) // fails only for an invalid name or value
	}
}

// spellings returns the path of a folder and, if links lead to another path, that path.
func spellings(dir string) []string {
	clean := filepath.Clean(dir)
	resolved, _ := realpath.Eval(dir)
	if resolved == "" || resolved == clean { // "" if the folder does not exist
		return []string{clean}
	}
	return []string{clean, resolved}
}

// insideAny reports whether a folder is one of the given folders or is inside one of them.
func insideAny(dir string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool {
		rel, err := filepath.Rel(folder, dir)
		return err == nil && filepath.IsLocal(rel)
	})
}

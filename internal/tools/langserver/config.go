package langserver

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Config describes one language server that can be started.
type Config struct {
	Name      string
	Command   string
	Args      []string
	Env       []string          // the complete environment of the server
	Offline   map[string]string // variables that keep the server off the network
	Languages map[string]string // language id by file name extension, including the dot
	// RootMarkers are the names of files that mark a root. The first one found determines the root.
	RootMarkers           []string
	InitializationOptions json.RawMessage
	Settings              json.RawMessage // answer to workspace/configuration
	Disabled              bool
	Asked                 bool // the user's settings name the server, so an edit may start it
}

// Builtin lists the servers that are used if they are found on PATH.
func Builtin() []Config {
	ts := map[string]string{".ts": "typescript", ".tsx": "typescriptreact", ".mts": "typescript",
		".cts": "typescript",
		".js":  "javascript", ".jsx": "javascriptreact", ".mjs": "javascript", ".cjs": "javascript"}
	c := map[string]string{".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".cxx": "cpp",
		".hh": "cpp", ".hpp": "cpp", ".m": "objective-c"}
	return []Config{
		// Without a delay, gopls publishes diagnostics of the edited file and of the broken files
		// in one burst.
		{Name: "gopls", Command: "gopls", Languages: map[string]string{".go": "go"},
			RootMarkers: []string{"go.work", "go.mod"},
			// A repository could otherwise name modules to download. GONOPROXY is set because its
			// default is the value of GOPRIVATE.
			Offline:               map[string]string{"GOPROXY": "off", "GONOPROXY": "none"},
			InitializationOptions: json.RawMessage(`{"diagnosticsDelay":"0s"}`)},
		{Name: "typescript-language-server", Command: "typescript-language-server",
			Args: []string{"--stdio"}, Languages: ts,
			RootMarkers: []string{"tsconfig.json", "jsconfig.json", "package.json"},
			// The server would otherwise download the types of packages that a repository names.
			InitializationOptions: json.RawMessage(`{"disableAutomaticTypingAcquisition":true}`)},
		{Name: "pyright", Command: "pyright-langserver", Args: []string{"--stdio"},
			Languages: map[string]string{".py": "python", ".pyi": "python"},
			RootMarkers: []string{"pyrightconfig.json", "pyproject.toml", "setup.py",
				"requirements.txt"}},
		{Name: "rust-analyzer", Command: "rust-analyzer",
			Languages: map[string]string{".rs": "rust"}, RootMarkers: []string{"Cargo.toml"},
			Offline: map[string]string{"CARGO_NET_OFFLINE": "true"}},
		{Name: "clangd", Command: "clangd", Languages: c,
			RootMarkers: []string{"compile_commands.json", "compile_flags.txt", ".clangd"}},
		{Name: "lua-language-server", Command: "lua-language-server",
			Languages:   map[string]string{".lua": "lua"},
			RootMarkers: []string{".luarc.json", ".luarc.jsonc"}},
	}
}

// LanguageOf returns the language id that the built-in table contains for an extension, or "" if
// there is none.
func LanguageOf(ext string) string {
	for _, c := range Builtin() {
		if id := c.Languages[ext]; id != "" {
			return id
		}
	}
	return ""
}

// same reports whether two configurations start the same server.
func (c *Config) same(o *Config) bool {
	return c.Command == o.Command && slices.Equal(c.Args, o.Args) && slices.Equal(c.Env, o.Env) &&
		c.Disabled == o.Disabled &&
		string(c.InitializationOptions) == string(o.InitializationOptions) &&
		string(c.Settings) == string(o.Settings)
}

// sectionOf finds a section of settings. If the settings do not contain a section with a name
// without dots, sectionOf treats all of the settings as that section.
func sectionOf(settings json.RawMessage, section string) json.RawMessage {
	at, found := any(nested(settings)), true
	for part := range strings.SplitSeq(section, ".") {
		m, _ := at.(map[string]any)
		if at, found = m[part]; !found {
			break
		}
	}
	whole := section == "" || !found && !strings.Contains(section, ".")
	if whole && len(settings) > 0 {
		return settings
	}
	b, _ := json.Marshal(at) // nil, encoded as null, if the section was not found
	return b
}

// nested converts settings to a tree of sections. As in an editor's settings, a dotted key at the
// top level names nested sections. Keys at deeper levels are names that may contain dots.
func nested(settings json.RawMessage) map[string]any {
	var flat map[string]any
	d := json.NewDecoder(bytes.NewReader(settings))
	d.UseNumber()
	_ = d.Decode(&flat)
	tree := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(flat)) { // sections come before their settings
		nest(tree, strings.Split(key, "."), flat[key])
	}
	return tree
}

func nest(tree map[string]any, path []string, value any) {
	for ; len(path) > 1; path = path[1:] {
		if _, taken := tree[path[0]]; !taken {
			tree[path[0]] = map[string]any{}
		}
		next, ok := tree[path[0]].(map[string]any)
		if !ok {
			return // the setting is a value instead of a section
		}
		tree = next
	}
	tree[path[0]] = value
}

// rootFor returns the folder in which a server for path works. This is the nearest folder, from
// path's folder up to top, that contains a root marker. Markers that are listed earlier take
// precedence. If there is no marker, rootFor returns top.
func (c *Config) rootFor(path, top string) string {
	for _, marker := range c.RootMarkers {
		for dir := filepath.Dir(path); within(top, dir); dir = filepath.Dir(dir) {
			if exists(filepath.Join(dir, marker)) {
				return dir
			}
			if dir == top || dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return top
}

func within(top, dir string) bool {
	rel, err := filepath.Rel(top, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func onPath(command string, env []string) bool { return Program(command, env) != "" }

// Program returns the path of a command, or "" if there is none. Like the child process, it looks
// in the PATH of env.
func Program(command string, env []string) string {
	if strings.ContainsAny(command, `/\`) {
		if exists(command) {
			return command
		}
		return ""
	}
	for _, dir := range filepath.SplitList(pathIn(env)) {
		for _, ext := range executableExtensions() {
			file := filepath.Join(dir, command+ext)
			if fi, err := os.Stat(file); err == nil && fi.Mode().IsRegular() &&
				(runtime.GOOS == "windows" || fi.Mode()&0o111 != 0) {
				return file
			}
		}
	}
	return ""
}

func executableExtensions() []string {
	if runtime.GOOS == "windows" {
		return []string{".exe", ".cmd", ".bat", ""}
	}
	return []string{""}
}

func pathIn(env []string) string {
	for _, kv := range slices.Backward(env) {
		if name, v, ok := strings.Cut(kv, "="); ok &&
			(name == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(name, "PATH")) {
			return v
		}
	}
	return ""
}

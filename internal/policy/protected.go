package policy

import (
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox/launcher"
)

// settingsNames are the names of files that often contain secrets in addition to settings. Reading
// these files requires approval, but commands in the sandbox can read them in the workspace,
// because package managers need them.
var settingsNames = words{list: ".envrc .npmrc"}

// secretFolders contain keys, regardless of the file names.
var secretFolders = []string{".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", "gcloud"}

// historyFolders contain the programs that version control systems other than git start.
var historyFolders = words{list: ".hg .svn"}

// Secret reports whether the file at a path usually contains secrets, so that reading it requires
// approval.
func Secret(path string) bool { return protectedRead(path) != "" }

// SecretNames returns a function that reports whether a file in a folder usually contains secrets.
// For many files of one folder, it is cheaper than Secret.
func SecretNames(folder string) func(name string) bool {
	folder = filepath.ToSlash(folder)
	if Secret(folder + "/x") {
		return func(string) bool { return true }
	}
	switch launcher.Fold(path.Base(folder)) {
	case ".cargo", ".config", "agent-lsp":
		return func(name string) bool { return Secret(folder + "/" + name) }
	}
	return func(name string) bool { return secretName(launcher.Fold(name)) }
}

// secretName reports whether a file with this name in lower case usually contains secrets, whatever
// its folder is.
func secretName(name string) bool { return settingsNames.has(name) || launcher.Secret(name) }

// protectedRead returns the reason why reading a file requires approval, or "" if it does not. It
// ignores case, because some file systems do.
func protectedRead(path string) string {
	parts := strings.Split(launcher.Fold(filepath.ToSlash(path)), "/")
	name := parts[len(parts)-1]
	if len(parts) > 3 && parts[1] == "proc" && slices.ContainsFunc(parts[3:], ofProcess) {
		return "it shows the environment, the memory or the files of a process"
	}
	if secretName(name) {
		return name + " usually contains secrets"
	}
	for i, p := range parts[:len(parts)-1] {
		if next := parts[i+1]; p == ".config" && next == "gh" ||
			p == ".cargo" && strings.HasPrefix(next, "credentials") ||
			p == "agent-lsp" && next == "keys.json" {
			return p + "/" + next + " usually contains secrets"
		}
		for _, f := range secretFolders {
			if p == f {
				return f + " usually contains secrets"
			}
		}
	}
	return ""
}

// processFiles are files of /proc/PID that reveal the data of a process or lead to its files.
var processFiles = words{list: "environ mem maps smaps fd fdinfo map_files cwd root auxv"}

func ofProcess(name string) bool { return processFiles.has(name) }

// namesSecretFile returns the secret file that an argument names, or "". The argument may be the
// path itself, the value of an option or of dd, or a file in a revision of git (HEAD:.env).
func namesSecretFile(text string) string {
	value := text[strings.IndexByte(text, '=')+1:]
	stored := text[strings.LastIndexByte(text, ':')+1:]
	for _, path := range []string{text, value, strings.TrimPrefix(text, "@"), stored} {
		if Secret(path) {
			return path
		}
	}
	return ""
}

// protectedEdit returns the reason why an edit requires approval, or "" if it does not. When it
// looks for files that start programs, it ignores the names of the roots and of the folders above
// them.
func (s Settings) protectedEdit(path string) string {
	if why := protectedRead(path); why != "" {
		return why
	}
	if s.Own.has(path) {
		return "it belongs to agent-lsp's own settings or data"
	}
	if s.guarded(path) {
		return "git or a link with a protected name uses it, so it can start programs"
	}
	parts := strings.Split(launcher.Fold(filepath.ToSlash(s.inRoot(path))), "/")
	for i, name := range parts {
		switch {
		case !launcher.StartsPrograms(strings.Join(parts[:i+1], "/")) && !historyFolders.has(name):
		case name == ".agent-lsp.json":
			return name + " changes what the agent may do"
		default:
			return name + " can contain settings that start programs"
		}
	}
	return ""
}

// guarded reports whether a file in a root can start programs although its name is not protected.
func (s Settings) guarded(path string) bool {
	return slices.ContainsFunc(s.Roots, func(root string) bool {
		rel, err := filepath.Rel(root, path)
		if err != nil || !filepath.IsLocal(rel) {
			return false
		}
		rel = filepath.ToSlash(rel)
		return launcher.InGitFolder(rel, launcher.Guards(resolved(root), rel))
	})
}

// inRoot returns the path relative to the innermost root that contains it, or the path itself if no
// root does.
func (s Settings) inRoot(path string) string {
	rel := path
	for _, root := range s.Roots {
		if r, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(r) &&
			len(r) < len(rel) {
			rel = r
		}
	}
	return rel
}

func unescapeURI(s string) string {
	if u, err := url.PathUnescape(s); err == nil {
		return u
	}
	return s
}

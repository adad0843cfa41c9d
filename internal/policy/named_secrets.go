package policy

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox/launcher"
)

// maxMatches bounds the files that are examined for one glob.
const maxMatches = 1000

// secretFile is a secret file that a command names.
type secretFile struct {
	word string // the spelling in the command
	path string // resolved path; "" if the file does not exist or is not a regular file
	link bool   // the word leads to the file through a link or a glob
}

// secretsNamed lists the secret files that a command names by their path, by a link or by a glob.
// It does not examine searches of whole folders, because the sandbox hides secret files from such
// searches.
func secretsNamed(sub *tool.Subject, c Classification) []secretFile {
	n := naming{folders: []string{sub.Cwd}}
	for _, p := range c.Parts {
		if len(p.Words) == 0 || p.Words[0] == ">" {
			continue
		}
		if name := commandName(p.Words[0]); name == "cd" && len(p.Words) == 2 && !p.Dynamic[1] {
			n.folders = []string{sub.Cwd, absolute(n.folders[len(n.folders)-1], p.Words[1])}
		} else if !namesOnly.has(name) {
			n.words(p)
		}
	}
	for _, in := range c.Inputs {
		n.word(in, false)
	}
	return n.found
}

// naming collects the secret files of a command. folders are the folders where it may run: its
// start folder, and the folder that its last cd enters.
type naming struct {
	folders []string
	found   []secretFile
}

func (n *naming) words(p Part) {
	for i, w := range p.Words[1:] {
		if !p.Dynamic[i+1] {
			n.word(w, false)
		} else if !strings.ContainsAny(w, "$`(") {
			for _, dir := range n.folders {
				for _, match := range matches(dir, w) {
					n.word(match, true)
				}
			}
		}
	}
}

// word treats a word as a path, as the value of an option, as curl's @file and as a file in a git
// revision, and adds the secret files that it finds.
func (n *naming) word(word string, glob bool) {
	value := word[strings.IndexByte(word, '=')+1:]
	stored := word[strings.LastIndexByte(word, ':')+1:]
	names := []string{word, value, strings.TrimPrefix(word, "@"), stored}
	for _, path := range slices.Compact(names) {
		exists := false
		for _, dir := range n.folders {
			f, ok := secretAt(dir, path)
			exists = exists || ok
			if ok && listedSecret(f.path) {
				f.word, f.link = word, f.link || glob
				n.found = append(n.found, f)
			}
		}
		last := absolute(n.folders[len(n.folders)-1], path)
		if !exists && listedSecret(last) {
			n.found = append(n.found, secretFile{word: word})
		}
	}
}

// secretAt resolves a path in a folder. It reports whether the path leads to a regular file.
func secretAt(dir, word string) (secretFile, bool) {
	path := absolute(dir, word)
	if strings.Contains(word, "..") && !strings.HasPrefix(word, "~/") {
		path = unclean(dir, word) // the kernel follows a link before a ".."
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return secretFile{}, false
	}
	if folder, err := filepath.EvalSymlinks(dir); err == nil {
		dir = folder
	}
	fi, err := os.Stat(real)
	ok := err == nil && fi.Mode().IsRegular()
	return secretFile{path: real, link: real != absolute(dir, word)}, ok
}

// homeSecrets are folders and files of the home directory that contain secrets
// (docs/use/permissions.md).
var homeSecrets = []string{
	".ssh", ".gnupg", ".aws", ".kube", ".docker/config.json", ".config/gh", ".npmrc", ".pypirc",
	".cargo/credentials", ".cargo/credentials.toml",
}

// listedSecret reports whether the sandbox hides the file at an absolute path as a secret file. It
// excludes installed packages, which contain keys for their tests but no secrets of the user.
func listedSecret(path string) bool {
	slashed := filepath.ToSlash(path)
	if launcher.Secret(slashed) {
		return !strings.Contains(slashed, "/node_modules/") &&
			!strings.Contains(slashed, "/site-packages/")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return false
	}
	if real, err := filepath.EvalSymlinks(home); err == nil {
		home = real
	}
	return slices.ContainsFunc(homeSecrets, func(s string) bool {
		return isBelow(path, filepath.Join(home, filepath.FromSlash(s)))
	})
}

// matches returns the files that match a glob.
func matches(cwd, pattern string) []string {
	pattern = absolute(cwd, pattern)
	list, err := filepath.Glob(pattern)
	if err != nil {
		return nil
	}
	return list[:min(len(list), maxMatches)]
}

// absolute resolves a word of a shell script against the folder that the command runs in.
func absolute(cwd, word string) string {
	if rest, ok := strings.CutPrefix(word, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, rest)
		}
	}
	if !filepath.IsAbs(word) {
		return filepath.Join(cwd, word)
	}
	return filepath.Clean(word)
}

// spelledOut reports whether rules name every secret file of a command by its own path. A rule with
// a * does not name a secret file, and neither does a link, because its target can change.
func spelledOut(rules []Rule, script string, c Classification, secrets []secretFile) bool {
	for _, f := range secrets {
		if f.link {
			return false
		}
		if exactRule(rules, script) >= 0 {
			continue
		}
		if !slices.ContainsFunc(c.Parts, func(p Part) bool {
			i := coveringRule(rules, p)
			return i >= 0 && slices.Contains(p.Words, f.word) &&
				slices.Contains(rules[i].tokens, token{text: f.word})
		}) {
			return false
		}
	}
	return true
}

// whySecret returns the reason for the question. The reason names every secret file.
func whySecret(secrets []secretFile) string {
	var names []string
	for _, f := range secrets {
		name := f.word
		if f.link && f.path != "" {
			name += " (" + f.path + ")"
		}
		names = appendNew(names, name)
	}
	return "it names " + strings.Join(names, ", ") +
		", which can contain secrets and which it can read if you allow it"
}

func pathsOf(secrets []secretFile) []string {
	var out []string
	for _, f := range secrets {
		if f.path != "" {
			out = appendNew(out, f.path)
		}
	}
	return out
}

package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox/launcher"
)

// maxFolders bounds the number of folders that a command may be in after several cd commands.
const maxFolders = 8

// named reports whether rules name everything that a command does. It is used if no sandbox
// enforces the policy. Every program then needs a rule or an entry in shortList, and a path that a
// rule's * matches must be inside the roots. named reads file information from disk.
func (s Settings) named(rules []Rule, sub *tool.Subject, c Classification) bool {
	if exactRule(rules, sub.Command) >= 0 {
		return true
	}
	in := reach{folders: []string{sub.Cwd}, own: s.Own, roots: unmoved(s.Roots)}
	for _, p := range c.Parts {
		if i := coveringRule(rules, p); i >= 0 {
			if !in.covers(&rules[i], p) {
				return false
			}
		} else if !in.enters(p) && !in.shortListed(p) {
			return false
		}
	}
	return !slices.ContainsFunc(c.Inputs, func(file string) bool {
		return file != os.DevNull && !in.harmless(file)
	})
}

// reach contains the folders in which the parts of a command may run, and the roots that they may
// access.
type reach struct {
	folders []string
	roots   []string
	own     OwnFiles
}

// enters adds the folder that a cd command enters to the possible folders. It returns false if the
// part is not a simple cd command or if the folder is outside the roots.
func (in *reach) enters(p Part) bool {
	if len(p.Words) != 2 || p.Words[0] != "cd" || p.Dynamic[1] || len(p.Assigns) > 0 ||
		strings.HasPrefix(p.Words[1], "-") || len(in.folders) > maxFolders {
		return false
	}
	for _, dir := range slices.Clone(in.folders) {
		to, ok := in.inside(dir, p.Words[1])
		if !ok {
			return false
		}
		in.folders = append(in.folders, to)
	}
	return true
}

func (in *reach) shortListed(p Part) bool {
	if len(p.Assigns) > 0 || slices.Contains(p.Dynamic, true) {
		return false
	}
	var text strings.Builder
	for _, w := range p.Words {
		// A word that begins with ~ could be a path in the home folder.
		if strings.HasPrefix(w, "~") || strings.Contains(w, "'") {
			return false
		}
		text.WriteString("'" + w + "' ")
	}
	return !slices.ContainsFunc(in.folders, func(dir string) bool {
		return !shortListed(text.String(), dir, in.roots)
	})
}

// covers checks the words of a command that a rule does not spell out. It reports whether these
// words contain no expansion and only harmless paths.
func (in *reach) covers(r *Rule, p Part) bool {
	for i, w := range p.Words {
		if slices.Contains(r.tokens, token{text: w}) {
			continue
		}
		if p.Dynamic[i] || !in.harmless(w) {
			return false
		}
	}
	return true
}

// harmless reports whether every path that a word may stand for is inside the roots and not
// protected (see inside).
func (in *reach) harmless(word string) bool {
	for _, dir := range in.folders {
		for _, path := range pathsIn(word) {
			if _, ok := in.inside(dir, path); !ok {
				return false
			}
		}
	}
	return true
}

// pathsIn lists the possible paths in a word: the complete word, the text after "=" and, in an
// option, the text from the first "/", ".." or "~" on.
func pathsIn(word string) []string {
	out := []string{word}
	if _, value, ok := strings.Cut(word, "="); ok {
		out = append(out, value)
	}
	if strings.HasPrefix(word, "-") {
		for _, mark := range []string{"/", "..", "~"} {
			if i := strings.Index(word, mark); i > 0 {
				out = append(out, word[i:])
			}
		}
	}
	return out
}

// inside resolves a path below a folder and reports whether it is in the roots and not protected.
// It refuses a path in which a ".." follows a link, because programs disagree about where it leads.
// The kernel goes to the parent of the link's target, and the shell's cd to the folder with the
// link.
func (in *reach) inside(dir, path string) (string, bool) {
	if strings.HasPrefix(path, "~") {
		return "", false
	}
	path = unclean(dir, path)
	real := resolved(path)
	if strings.Contains(path, "..") && resolved(filepath.Clean(path)) != real {
		return "", false
	}
	path = real
	for _, root := range in.roots {
		rel, err := filepath.Rel(root, path)
		if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			continue
		}
		rel = filepath.ToSlash(rel)
		return path, !launcher.StartsPrograms(rel) && !Secret(path) && !in.own.has(path) &&
			!launcher.InGitFolder(rel, launcher.Guards(root, rel))
	}
	return "", false
}

// unclean returns the path of a word in a folder as the kernel gets it. It does not remove "..",
// which would change the path's meaning after a link.
func unclean(dir, word string) string {
	if filepath.IsAbs(word) {
		return word
	}
	return dir + string(filepath.Separator) + word
}

// maxLinks bounds the links in a path, as the kernel does.
const maxLinks = 40

// resolved resolves the links in an absolute path as the kernel does. It treats a missing name like
// a folder, because the command may create the folder.
func resolved(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	at, rest := fromTop(path)
	for links := 0; len(rest) > 0; {
		next := filepath.Join(at, rest[0])
		rest = rest[1:]
		to, err := os.Readlink(next)
		if err != nil || links == maxLinks {
			at = next
			continue
		}
		links++
		top, names := fromTop(to)
		if filepath.IsAbs(to) {
			at = top
		}
		rest = append(names, rest...)
	}
	return at
}

// fromTop splits a path into the top of its volume and its names.
func fromTop(path string) (top string, names []string) {
	volume := filepath.VolumeName(path)
	return volume + string(filepath.Separator),
		strings.Split(filepath.ToSlash(path[len(volume):]), "/")
}

// interpreters run the script that their arguments or their input name.
var interpreters = words{list: ". source sh bash dash ash ksh mksh zsh fish python python2 python3 node " +
	"deno bun ruby perl php lua luajit awk gawk mawk nawk tclsh Rscript osascript pwsh powershell"}

// runFiles are the files in the roots that a command runs.
type runFiles struct {
	in     reach
	cwd    string
	hashes map[string]string // by path; a hash is "" if the file cannot be read
}

// add adds the file that a word names, if it is in the roots, and reports whether it is.
func (f *runFiles) add(word string, missing bool) bool {
	path, _ := f.in.inside(f.cwd, word)
	if path == "" {
		return false
	}
	hash := hashOf(path)
	if hash == "" && !missing {
		return false
	}
	if f.hashes == nil {
		f.hashes = map[string]string{}
	}
	f.hashes[path] = hash
	return true
}

// directFiles returns the hashes of the files in the roots that a command runs by path. If scripts
// is true, it also returns those that an interpreter runs. The keys are the paths. The hash is ""
// if a file cannot be read. ok is false if the command changes its folder before it runs a file,
// because it is then unknown which file runs.
func (s Settings) directFiles(
	sub *tool.Subject,
	c Classification,
	scripts bool,
) (files map[string]string, ok bool) {
	run, moved, input := runFiles{cwd: sub.Cwd}, c.Elsewhere, false
	for _, r := range s.Roots {
		run.in.roots = append(run.in.roots, resolved(r))
	}
	for _, p := range c.Parts {
		if len(p.Words) == 0 || p.Dynamic[0] {
			continue
		}
		switch name := p.Words[0]; {
		case name == "cd" || name == "pushd" || name == "popd":
			moved = true
		case scripts && interpreters.has(commandName(name)):
			if moved && len(p.Words) > 1 {
				return nil, false
			}
			found := false
			for _, w := range p.Words[1:] {
				found = run.add(w, false) || found
			}
			input = input || !found
		case name == ">" || name == ">>" || !strings.Contains(name, "/"):
		case moved:
			return nil, false
		default:
			run.add(name, true)
		}
	}
	if input {
		run.addAll(c)
	}
	return run.hashes, true
}

// addAll adds every file that a command names, because an interpreter may read any of them from its
// input.
func (f *runFiles) addAll(c Classification) {
	for _, p := range c.Parts {
		for _, w := range p.Words {
			f.add(w, false)
		}
	}
	for _, w := range c.Inputs {
		f.add(w, false)
	}
}

func hashOf(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if fi, err := f.Stat(); err != nil || !fi.Mode().IsRegular() {
		return ""
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

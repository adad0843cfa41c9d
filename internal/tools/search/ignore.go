package search

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/agent-lsp/agent-lsp/internal/globs"
)

// maxIgnoreFile is the maximum size of an ignore file. Larger files are not used.
const maxIgnoreFile = 1 << 20

// The ignore files, highest priority first. Among files of the same name, a rule in a deeper folder
// has priority.
const (
	agentIgnore = ".agentignore"
	dotIgnore   = ".ignore"
	gitIgnore   = ".gitignore"
)

type verdict int

const (
	undecided verdict = iota
	ignored
	wanted // a negated rule includes the file, whatever files with lower priority say
)

// rules are the lines of one ignore file. They apply to paths below base.
type rules struct {
	base string // absolute path, slash-separated, no final slash
	list []rule
}

type rule struct {
	kind ruleKind
	// text is the name if kind is ruleName, the text after the star if kind is ruleSuffix, and
	// otherwise a pattern in doublestar's syntax.
	text    string
	negate  bool
	dirOnly bool
}

type ruleKind uint8

const (
	ruleName   ruleKind = iota // plain name, matched at any depth
	ruleSuffix                 // *.ext, matched at any depth
	ruleGlob                   // glob that matches the last element, at any depth
	rulePath                   // glob that matches the path from base
)

func parseRules(base, text string) *rules {
	rs := &rules{base: base}
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		if r, ok := parseRule(strings.TrimRight(line, "\r\n")); ok {
			rs.list = append(rs.list, r)
		}
	}
	if len(rs.list) == 0 {
		return nil
	}
	return rs
}

func parseRule(line string) (r rule, ok bool) {
	for strings.HasSuffix(line, " ") && !strings.HasSuffix(line, `\ `) {
		line = line[:len(line)-1]
	}
	if line == "" || line[0] == '#' || len(line) > maxGlobLen {
		return r, false
	}
	if line[0] == '!' {
		r.negate, line = true, line[1:]
	}
	if strings.HasSuffix(line, "/") {
		r.dirOnly, line = true, strings.TrimRight(line, "/")
	}
	if line == "" {
		return r, false
	}
	switch {
	case strings.Contains(line, "/"):
		r.kind, r.text = rulePath, ignorePattern(strings.TrimPrefix(line, "/"))
	case !strings.ContainsAny(line, `*?[\`):
		r.kind, r.text = ruleName, line
	case line[0] == '*' && !strings.ContainsAny(line[1:], `*?[\`):
		r.kind, r.text = ruleSuffix, line[1:]
	default:
		r.kind, r.text = ruleGlob, ignorePattern(line)
	}
	if r.kind >= ruleGlob && !doublestar.ValidatePattern(r.text) {
		return r, false // git treats the line as a pattern that matches nothing
	}
	return r, true
}

// ignorePattern converts a pattern of an ignore file to doublestar's syntax. In ignore files,
// braces are not a group, and a ** at the end matches the content of the folder but not the folder
// itself.
func ignorePattern(line string) string {
	line = braces.Replace(globs.CloseSets(line))
	if strings.HasSuffix(line, "/**") {
		line += "/*"
	}
	return line
}

var braces = strings.NewReplacer(`\\`, `\\`, `\{`, `\{`, `\}`, `\}`, "{", `\{`, "}", `\}`)

func (r *rule) match(rel, name string) bool {
	switch r.kind {
	case ruleName:
		return r.text == name
	case ruleSuffix:
		return strings.HasSuffix(name, r.text)
	case ruleGlob:
		return doublestar.MatchUnvalidated(r.text, name)
	default:
		return doublestar.MatchUnvalidated(r.text, rel)
	}
}

// decide applies the rules to the file abs, whose last element is name. The last matching rule
// decides.
func (rs *rules) decide(abs, name string, dir bool) verdict {
	if rs == nil || len(abs) <= len(rs.base)+1 {
		return undecided
	}
	rel := abs[len(rs.base)+1:]
	for i := len(rs.list) - 1; i >= 0; i-- {
		r := &rs.list[i]
		if r.dirOnly && !dir || !r.match(rel, name) {
			continue
		}
		if r.negate {
			return wanted
		}
		return ignored
	}
	return undecided
}

// ignores are the ignore files that apply in a folder: its own and those of its parents.
type ignores struct {
	parent          *ignores
	agent, dot, git *rules
	exclude         *rules // .git/info/exclude, at a repository's root
	global          *rules
	repo            bool // the folder is a repository's root; git rules of its parents end here
}

// inRepo reports whether the folder is in a repository. .gitignore applies only there.
func (ig *ignores) inRepo() bool {
	for ; ig != nil; ig = ig.parent {
		if ig.repo {
			return true
		}
	}
	return false
}

// decide returns the verdict of the rules on the file abs. It is wanted if a rule re-includes the
// file, even if the file is hidden.
func (ig *ignores) decide(abs, name string, dir bool) verdict {
	if ig == nil {
		return undecided
	}
	if v := ig.chain(abs, name, dir, func(i *ignores) *rules { return i.agent }); v != undecided {
		return v
	}
	if v := ig.chain(abs, name, dir, func(i *ignores) *rules { return i.dot }); v != undecided {
		return v
	}
	return ig.byGit(abs, name, dir)
}

func (ig *ignores) chain(abs, name string, dir bool, pick func(*ignores) *rules) verdict {
	for ; ig != nil; ig = ig.parent {
		if v := pick(ig).decide(abs, name, dir); v != undecided {
			return v
		}
	}
	return undecided
}

func (ig *ignores) byGit(abs, name string, dir bool) verdict {
	if !ig.inRepo() {
		return undecided
	}
	for ; ig != nil; ig = ig.parent {
		if v := ig.git.decide(abs, name, dir); v != undecided {
			return v
		}
		if !ig.repo {
			continue
		}
		if v := ig.exclude.decide(abs, name, dir); v != undecided {
			return v
		}
		return ig.global.decide(abs, name, dir)
	}
	return undecided
}

// enter returns the ignore files that apply in the folder dir. has reports whether dir contains a
// file with the given name.
func (ig *ignores) enter(dir, global string, has func(name string) bool) *ignores {
	repo := has(".git")
	if !repo && !has(gitIgnore) && !has(dotIgnore) && !has(agentIgnore) {
		return ig
	}
	next := &ignores{parent: ig, repo: repo}
	if has(agentIgnore) {
		next.agent = readRules(dir, dir+"/"+agentIgnore)
	}
	if has(dotIgnore) {
		next.dot = readRules(dir, dir+"/"+dotIgnore)
	}
	if has(gitIgnore) {
		next.git = readRules(dir, dir+"/"+gitIgnore)
	}
	if repo {
		next.exclude = readRules(dir, dir+"/.git/info/exclude")
		if global != "" {
			next.global = readRules(dir, global)
		}
	}
	return next
}

func readRules(base, file string) *rules {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIgnoreFile {
		return nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	return parseRules(base, string(text))
}

// parentIgnores loads the ignore files of the folders above dir, beginning at the root of the file
// system.
func parentIgnores(dir, global string) *ignores {
	var above []string
	for d := filepath.ToSlash(filepath.Dir(filepath.FromSlash(dir))); ; {
		above = append(above, d)
		up := filepath.ToSlash(filepath.Dir(filepath.FromSlash(d)))
		if up == d {
			break
		}
		d = up
	}
	var ig *ignores
	for i := len(above) - 1; i >= 0; i-- {
		d := strings.TrimSuffix(above[i], "/")
		ig = ig.enter(d, global, func(name string) bool {
			_, err := os.Lstat(d + "/" + name)
			return err == nil
		})
	}
	return ig
}

// GlobalIgnore returns the default path of the user's own git ignore file, which need not exist. It
// returns "" if the home folder is not known.
func GlobalIgnore() string {
	if dir := os.Getenv("XDG_CONFIG_HOME"); dir != "" {
		return filepath.Join(dir, "git", "ignore")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".config", "git", "ignore")
}

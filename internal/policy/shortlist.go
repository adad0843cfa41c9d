package policy

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// shortProgram describes the arguments allowed for one program in shortList. An argument that
// neither expression matches and that does not begin with "-" is the path of a file.
type shortProgram struct {
	options  string // expression for a whole option
	numbered string // expression for an option whose value is the next argument, a number
	pattern  bool   // the first other argument is a pattern, not a path
	folders  bool   // a path may be a folder
	operand  bool   // a path is required; the default is to search the current folder
	none     bool   // no path is accepted
}

// shortList lists all programs that run without a rule and without approval if no sandbox enforces
// the policy, except in the profile trust. It does not use Classify. Keep it short enough to read
// in a minute.
var shortList = map[string]shortProgram{
	"pwd":  {options: `-[LP]`, none: true},
	"ls":   {options: `-[1aAdFhilrRsStU]+|--color=never`, folders: true},
	"cat":  {options: `-[AbeEnstTuv]+`},
	"head": {options: `-[qv]+|-\d+|-[nc][-+]?\d+`, numbered: `-[nc]`},
	"tail": {options: `-[qv]+|-\d+|-[nc][-+]?\d+`, numbered: `-[nc]`},
	"wc":   {options: `-[clmwL]+`},
	"stat": {options: `-[Lft]+`, folders: true},
	"file": {options: `-[bhiL]+|--brief|--mime-type`},
	"grep": {options: `-[cEFhHiIlnoPqsvwx]+|-[ABCm]\d+|--color=never`, numbered: `-[ABCm]`,
		pattern: true},
	"rg": {options: `-[cFHiIlnNoqsSvwx]+|-[ABCm]\d+|--color=never`, numbered: `-[ABCm]`,
		pattern: true, operand: true},
}

var number = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[-+]?\d+$`) })

// ShortListed reports whether a command of a session is on the short list, so that it runs without
// approval if no sandbox enforces the policy.
func (e *Engine) ShortListed(session, script, cwd string) bool {
	return shortListed(script, cwd, e.Settings(session).Roots)
}

// shortListed reports whether a script consists only of programs in shortList, joined by "|", "&&",
// "||" and ";", with allowed options, and reads only files that are inside the roots and not
// secret. cwd is the folder in which the script runs. shortListed reads file information from disk.
func shortListed(script, cwd string, roots []string) bool {
	if !filepath.IsAbs(cwd) || unreadable(script) != "" {
		return false
	}
	f, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil || len(f.Stmts) == 0 {
		return false
	}
	in := shortPlace{cwd: cwd, roots: unmoved(roots)}
	return in.accepts(cwd, true) && in.stmts(f.Stmts)
}

type shortPlace struct {
	cwd   string
	roots []string
}

func (in shortPlace) stmts(list []*syntax.Stmt) bool {
	return !slices.ContainsFunc(list, func(s *syntax.Stmt) bool { return !in.stmt(s) })
}

func (in shortPlace) stmt(s *syntax.Stmt) bool {
	if len(s.Redirs) > 0 || s.Background || s.Coprocess || s.Disown || s.Negated {
		return false
	}
	switch c := s.Cmd.(type) {
	case *syntax.BinaryCmd:
		return c.Op != syntax.PipeAll && in.stmt(c.X) && in.stmt(c.Y)
	case *syntax.CallExpr:
		words := make([]string, len(c.Args))
		for i, w := range c.Args {
			text, ok := literalWord(w)
			if !ok {
				return false
			}
			words[i] = text
		}
		return len(c.Assigns) == 0 && len(words) > 0 && in.call(words)
	}
	return false
}

// literalWord returns the text of a word without expansions.
func literalWord(w *syntax.Word) (string, bool) {
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if strings.ContainsAny(p.Value, "\\*?[]{}~$`") {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.SglQuoted:
			if p.Dollar {
				return "", false
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, in := range p.Parts {
				lit, ok := in.(*syntax.Lit)
				if !ok || p.Dollar || strings.ContainsAny(lit.Value, "\\$`!") {
					return "", false
				}
				b.WriteString(lit.Value)
			}
		default:
			return "", false
		}
	}
	return b.String(), true
}

func (in shortPlace) call(words []string) bool {
	p, ok := shortList[words[0]]
	if !ok {
		return false
	}
	args, pattern, operands := words[1:], p.pattern, 0
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case p.numbered != "" && whole(p.numbered, a):
			if i++; i == len(args) || !number().MatchString(args[i]) {
				return false
			}
		case strings.HasPrefix(a, "-"):
			if !whole(p.options, a) {
				return false
			}
		case pattern:
			pattern = false
		default:
			if operands++; p.none || !in.accepts(a, p.folders) {
				return false
			}
		}
	}
	return !p.operand || operands > 0
}

func whole(expression, text string) bool {
	return regexp.MustCompile(`^(?:` + expression + `)$`).MatchString(text)
}

// accepts reports whether a path names a file that is inside the roots and not secret. If folder is
// true, the path may also name a folder. A file with several hard links is refused, because another
// of its names may be the name of a secret file.
func (in shortPlace) accepts(path string, folder bool) bool {
	path = unclean(in.cwd, path)
	real, err := filepath.EvalSymlinks(path)
	if err != nil || Secret(path) || Secret(real) ||
		!slices.ContainsFunc(in.roots, func(r string) bool { return isBelow(real, r) }) {
		return false
	}
	st, err := os.Lstat(real)
	if err != nil {
		return false
	}
	return st.Mode().IsRegular() && hardLinks(st) == 1 || folder && st.IsDir()
}

// isBelow reports whether a cleaned path is root or is inside it.
func isBelow(path, root string) bool {
	rel, err := filepath.Rel(root, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// arg is one argument, as far as it is known before the script runs.
type arg struct {
	text    string // the argument without quotes; expansions stay as written
	dynamic bool   // expands to something unknown
	many    bool   // may expand to several words, or none
	fixed   bool   // expands to one word, or to file names, with text as the prefix
}

// mayBeFlag reports whether the argument could expand to an option.
func (a arg) mayBeFlag() bool { return a.dynamic && !a.fixed }

// word evaluates a word as far as possible, and walks the commands inside it.
func (w *walker) word(word *syntax.Word) arg {
	if word == nil {
		return arg{}
	}
	if len(word.Parts) == 1 { // most words are plain
		if l, ok := word.Parts[0].(*syntax.Lit); ok && !strings.ContainsAny(l.Value, "\\*?[{") {
			return arg{text: l.Value, fixed: l.Value != "" && l.Value[0] != '-'}
		}
	}
	b := &wordReader{w: w}
	for _, p := range word.Parts {
		b.part(p, false)
	}
	text := b.text.String()
	if b.braces && (strings.Contains(text, ",") || strings.Contains(text, "..")) {
		b.dynamic, b.splits = true, true
	}
	if b.bracket && strings.Contains(text, "]") && text != "[]" {
		b.dynamic = true
	}
	begins := text != "" && b.firstStatic && text[0] != '-' &&
		!strings.ContainsAny(text[:1], "*?[{")
	return arg{text: text, dynamic: b.dynamic, many: b.splits, fixed: begins && !b.splits}
}

// wordReader builds the text of a word.
type wordReader struct {
	w           *walker
	text        strings.Builder
	dynamic     bool
	splits      bool // may become several words, or none
	braces      bool // contains an unquoted {
	bracket     bool // contains an unquoted [
	firstStatic bool // its first byte is known
}

func (b *wordReader) part(p syntax.WordPart, quoted bool) {
	if b.text.Len() == 0 {
		switch p.(type) {
		case *syntax.Lit, *syntax.SglQuoted:
			b.firstStatic = true
		}
	}
	switch p := p.(type) {
	case *syntax.Lit:
		b.literal(p.Value, quoted)
	case *syntax.SglQuoted:
		if p.Dollar {
			b.w.opaque("it uses $'…', which shells read differently")
		}
		b.text.WriteString(p.Value)
	case *syntax.DblQuoted:
		if p.Dollar {
			b.w.opaque(`it uses $"…", which shells read differently`)
		}
		for _, in := range p.Parts {
			b.part(in, true)
		}
	case *syntax.ParamExp:
		b.expand(p, !quoted || manyWords(p))
		b.w.param(p)
	case *syntax.CmdSubst:
		b.expand(p, !quoted)
		if p.TempFile || p.ReplyVar {
			b.w.opaque("it uses a construct that agent-lsp does not analyze")
		}
		b.w.stmts(p.Stmts)
	case *syntax.ProcSubst:
		b.expand(p, false)
		b.w.stmts(p.Stmts)
	case *syntax.ArithmExp:
		b.expand(p, !quoted)
		b.w.arithm(p.X)
	default: // extended globs and what later versions of the parser add
		b.expand(p, true)
		b.w.opaque("it uses a construct that shells read differently")
		b.w.inside(p)
	}
}

// literal removes backslashes as the shell does, and detects globs and braces.
func (b *wordReader) literal(s string, quoted bool) {
	if !strings.ContainsAny(s, "\\*?[{") {
		b.text.WriteString(s)
		return
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\\' && i+1 < len(s) {
			next := s[i+1]
			switch {
			case next == '\n':
				i++
				continue
			case !quoted || strings.IndexByte("$`\"\\", next) >= 0:
				b.text.WriteByte(next)
				i++
				continue
			}
		}
		if !quoted {
			switch c {
			case '*', '?':
				b.dynamic = true // a glob expands to names that begin like the text before it
			case '[':
				b.bracket = true
			case '{':
				b.braces = true
			}
		}
		b.text.WriteByte(c)
	}
}

func (b *wordReader) expand(n syntax.Node, splits bool) {
	b.dynamic = true
	b.splits = b.splits || splits
	b.text.WriteString(b.w.source(n))
}

// manyWords reports whether an expansion produces several words although it is quoted, as "$@" and
// "${a[@]}" do.
func manyWords(p *syntax.ParamExp) bool {
	if p.Param != nil && (p.Param.Value == "@" || p.Param.Value == "*") {
		return true
	}
	return p.Index != nil || p.Excl || p.Names != 0
}

// param walks ${…}. Some forms assign, evaluate or run the content of the variable.
func (w *walker) param(p *syntax.ParamExp) {
	if p.Excl || p.Names != 0 || p.NestedParam != nil || p.Flags != nil || len(p.Modifiers) > 0 {
		w.opaque("it uses an indirect variable expansion such as ${!name}, which can run commands")
	}
	if p.Index != nil && !isAllIndex(p.Index) {
		w.arithm(p.Index)
	}
	if p.Slice != nil {
		w.arithm(p.Slice.Offset)
		w.arithm(p.Slice.Length)
	}
	if p.Repl != nil {
		w.word(p.Repl.Orig)
		w.word(p.Repl.With)
	}
	if p.Exp != nil {
		w.expansion(p)
	}
}

func (w *walker) expansion(p *syntax.ParamExp) {
	switch p.Exp.Op {
	case syntax.OtherParamOps:
		w.opaque("it expands a variable with an @ operator, which can run commands")
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		if p.Param != nil {
			w.setsVariable(p.Param.Value)
		}
	}
	w.word(p.Exp.Word)
}

func isAllIndex(x syntax.ArithmExpr) bool {
	word, ok := x.(*syntax.Word)
	return ok && (word.Lit() == "@" || word.Lit() == "*")
}

// harmlessUpper are variables that only affect appearance or the target of a build.
var harmlessUpper = map[string]bool{
	"LANG": true, "LANGUAGE": true, "TZ": true, "NO_COLOR": true, "FORCE_COLOR": true,
	"CLICOLOR": true, "CLICOLOR_FORCE": true,
	"COLUMNS": true, "LINES": true, "TERM": true, "CI": true, "VERBOSE": true, "GOOS": true,
	"GOARCH": true, "CGO_ENABLED": true,
	"NODE_ENV": true, "RUST_BACKTRACE": true, "RUST_LOG": true, "PYTHONUNBUFFERED": true,
	"PYTHONDONTWRITEBYTECODE": true,
}

// harmlessVariable reports whether setting a variable is known not to make a program run other code.
// Lower-case names belong to the script, with a few exceptions. All other names are harmless only if
// they are listed.
func harmlessVariable(name string) bool {
	if harmlessUpper[name] || strings.HasPrefix(name, "LC_") {
		return true
	}
	if name == "" || name == "_" || strings.HasSuffix(name, "_proxy") {
		return false
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		if c != '_' && (c < 'a' || c > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return true
}

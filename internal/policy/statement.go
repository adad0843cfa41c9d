package policy

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// This file walks the statements of a script. word.go handles words and command.go handles
// commands.

func (w *walker) stmts(list []*syntax.Stmt) {
	for _, s := range list {
		w.stmt(s)
	}
}

func (w *walker) stmt(s *syntax.Stmt) {
	if s == nil {
		return
	}
	for _, r := range s.Redirs {
		w.redirect(r)
	}
	if s.Coprocess || s.Disown {
		w.opaque("it uses syntax that shells read differently")
	}
	if s.Cmd != nil {
		w.cmd(s.Cmd)
	}
}

func (w *walker) cmd(c syntax.Command) {
	switch c := c.(type) {
	case *syntax.CallExpr:
		w.call(c)
	case *syntax.BinaryCmd:
		w.stmt(c.X)
		w.stmt(c.Y)
	case *syntax.Block:
		w.stmts(c.Stmts)
	case *syntax.Subshell:
		w.stmts(c.Stmts)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			w.stmts(c.Cond)
			w.stmts(c.Then)
		}
	case *syntax.WhileClause:
		w.stmts(c.Cond)
		w.stmts(c.Do)
	case *syntax.ForClause:
		w.loop(c.Loop)
		w.stmts(c.Do)
	case *syntax.CaseClause:
		w.word(c.Word)
		for _, item := range c.Items {
			for _, p := range item.Patterns {
				w.word(p)
			}
			w.stmts(item.Stmts)
		}
	case *syntax.TimeClause:
		w.stmt(c.Stmt)
	case *syntax.TestClause:
		w.test(c.X)
	case *syntax.FuncDecl:
		w.opaque("it defines a function")
		w.stmt(c.Body)
	case *syntax.DeclClause:
		w.declare(c)
	case *syntax.ArithmCmd:
		w.arithm(c.X)
	case *syntax.LetClause:
		w.opaque("it evaluates text as arithmetic, which can run commands")
		w.inside(c)
	default: // coproc, test declarations, and statements that later versions of the parser add
		w.opaque("it uses a construct that agent-lsp does not analyze")
		w.inside(c)
	}
}

// inside finds the commands in a node that is itself opaque, for the deny rules.
func (w *walker) inside(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			w.stmt(n)
			return false
		}
		return true
	})
}

func (w *walker) loop(l syntax.Loop) {
	switch l := l.(type) {
	case *syntax.WordIter:
		w.setsVariable(l.Name.Value)
		for _, item := range l.Items {
			w.word(item)
		}
	default:
		w.opaque("it evaluates text as arithmetic, which can run commands")
		w.inside(l)
	}
}

// test processes [[ ]]. Its arithmetic comparisons evaluate variables, and so can run commands.
func (w *walker) test(x syntax.TestExpr) {
	switch x := x.(type) {
	case *syntax.Word:
		w.word(x)
	case *syntax.ParenTest:
		w.test(x.X)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			w.opaque("it evaluates a variable's name, which can run commands")
		}
		w.test(x.X)
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			w.numeric(x.X)
			w.numeric(x.Y)
		}
		w.test(x.X)
		w.test(x.Y)
	default:
		w.opaque("it uses a test that agent-lsp does not analyze")
	}
}

func (w *walker) numeric(x syntax.TestExpr) {
	if word, ok := x.(*syntax.Word); !ok || !isNumber(word.Lit()) {
		w.opaque("it evaluates text as arithmetic, which can run commands")
	}
}

// arithm accepts only plain numbers as harmless. The shell also evaluates the value of a variable,
// and an index in it may contain $(command).
func (w *walker) arithm(x syntax.ArithmExpr) {
	if x != nil && !literalArithm(x) {
		w.opaque("it evaluates text as arithmetic, which can run commands")
		w.inside(x)
	}
}

func literalArithm(x syntax.ArithmExpr) bool {
	switch x := x.(type) {
	case *syntax.Word:
		return isNumber(x.Lit())
	case *syntax.ParenArithm:
		return literalArithm(x.X)
	case *syntax.UnaryArithm:
		return x.Op != syntax.Inc && x.Op != syntax.Dec && literalArithm(x.X)
	case *syntax.BinaryArithm:
		return literalArithm(x.X) && literalArithm(x.Y)
	}
	return false
}

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// declare processes export, declare, local, readonly and typeset.
func (w *walker) declare(d *syntax.DeclClause) {
	p := Part{Words: []string{d.Variant.Value}, Dynamic: []bool{false}, Class: Mutates,
		Reason: d.Variant.Value + " sets variables"}
	harmless := true
	for _, a := range d.Args {
		text, ok := w.assign(a)
		p.Words, p.Dynamic = append(p.Words, text), append(p.Dynamic, !ok)
		harmless = harmless && ok
	}
	if harmless && len(d.Args) > 0 &&
		(d.Variant.Value == "export" || d.Variant.Value == "local" ||
			d.Variant.Value == "readonly") {
		p.Class, p.Reason = ReadOnly, ""
	}
	w.add(p)
}

// assign walks an assignment, and reports whether it can change nothing except the variable.
func (w *walker) assign(a *syntax.Assign) (text string, harmless bool) {
	if a.Name == nil { // this is a flag or an expansion in a declaration
		if a.Value != nil {
			return w.word(a.Value).text, false
		}
		return "", false
	}
	harmless = harmlessVariable(a.Name.Value)
	if runText.has(a.Name.Value) {
		w.opaque("it sets " + a.Name.Value + ", whose value the shell runs")
	}
	text = a.Name.Value + "="
	if a.Index != nil {
		w.arithm(a.Index)
	}
	if a.Value != nil {
		text += w.word(a.Value).text
	}
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			w.arithm(e.Index)
			if e.Value != nil {
				w.word(e.Value)
			}
		}
	}
	return text, harmless
}

// runText are the variables whose values shells run as commands.
var runText = words{list: "BASH_ENV ENV PROMPT_COMMAND PS0 PS1 PS2 PS4"}

// setsVariable records that a variable gets a value that is not known to be harmless.
func (w *walker) setsVariable(name string) {
	if !harmlessVariable(name) {
		w.opaque("it sets " + name + ", which can change what programs do")
	}
}

func (w *walker) redirect(r *syntax.Redirect) {
	if r.Hdoc != nil {
		w.word(r.Hdoc)
	}
	if r.N != nil && !isNumber(r.N.Value) {
		w.setsVariable(strings.Trim(r.N.Value, "{}"))
	}
	if r.Word == nil {
		return
	}
	target := w.word(r.Word)
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return
	case syntax.RdrIn:
		w.readFrom(target)
		return
	case syntax.DplOut, syntax.DplIn:
		if !target.dynamic && (isNumber(strings.TrimSuffix(target.text, "-")) ||
			target.text == "-") {
			return
		}
	}
	if !target.dynamic && harmlessTarget(target.text) {
		return
	}
	p := Part{Words: []string{r.Op.String(), target.text}, Dynamic: []bool{false, target.dynamic},
		Class: Mutates, Reason: "it writes to " + target.text}
	if w.add(p); dangerousTarget(target.text) {
		w.worsen(Dangerous, "it writes to "+target.text)
	}
}

// readFrom processes the source of an input redirection. Bash opens network connections for two
// kinds of names.
func (w *walker) readFrom(a arg) {
	w.inputs = append(w.inputs, a.text)
	if a.dynamic {
		w.worsen(Mutates, "it reads from a file that is not known beforehand")
		w.dark = true
	} else if Secret(a.text) {
		w.worsen(Mutates, "it reads "+a.text+", which can contain secrets")
	} else if strings.HasPrefix(a.text, "/dev/tcp/") || strings.HasPrefix(a.text, "/dev/udp/") {
		w.opaque("it opens a network connection")
	}
}

func harmlessTarget(path string) bool {
	switch path {
	case "/dev/null", "/dev/stdout", "/dev/stderr", "/dev/fd/1", "/dev/fd/2":
		return true
	}
	return false
}

func dangerousTarget(path string) bool {
	for _, p := range []string{"/dev/", "/etc/", "/boot/", "/usr/", "/bin/", "/sbin/", "/sys/",
		"/proc/", "~/.ssh", "~/.bash", "~/.profile", "~/.zsh"} {
		if strings.HasPrefix(path, p) {
			return true
		}
	}
	return false
}

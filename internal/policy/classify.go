package policy

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"github.com/agent-lsp/agent-lsp/internal/visible"
)

// Class is the most harmful effect that running a command can have.
type Class int

// The classes, from the least to the most harmful.
const (
	ReadOnly Class = iota
	Mutates
	Dangerous
)

func (c Class) String() string { return [...]string{"read_only", "mutates", "dangerous"}[c] }

// The limits of the parser. A script that exceeds one of them is opaque.
const (
	maxScriptBytes = 64 << 10
	maxNesting     = 100 // nested brackets and substitutions, counted before the parser runs
	maxUnfolding   = 6   // nested scripts, such as sh -c inside eval
	bytesPerPart   = 24  // estimated bytes of script per part, to allocate the list of parts once
	maxWrapping    = 32  // nested wrappers, such as nice nohup env
	maxWords       = 2048
	maxParts       = 256
	maxForms       = 128 // other interpretations of one command
)

// Classification contains what is known about a script before it runs.
type Classification struct {
	Class   Class
	Reasons []string // why the script is not read-only; empty if it is read-only
	Parts   []Part   // every simple command in the script, with wrappers unfolded
	// Opaque reports that part of what the script runs is unknown. Among allow rules, only one for
	// the exact script then applies.
	Opaque bool
	Inputs []string // files that input redirections read
	// Elsewhere reports that an option of a wrapper makes a command run in another folder.
	Elsewhere bool
}

// Part is one simple command of a script.
type Part struct {
	Words   []string   // the program and its arguments; expansions stay as written
	Dynamic []bool     // which words contain expansions
	Assigns []string   // assignments before the program that could change its effect
	Forms   [][]string // other interpretations, which only deny and ask rules use
	Wrapper bool       // the part only starts other parts, so it needs no rule
	Class   Class
	Reason  string
}

// Classify parses a shell script without running anything. It uses bash's syntax. A script is
// opaque if Classify cannot parse it, or if other shells interpret a construct in it differently.
func Classify(script string) Classification {
	w := &walker{parts: make([]Part, 0, 4+min(len(script), maxScriptBytes)/bytesPerPart)}
	w.script(script)
	return w.result()
}

// walker walks a script and collects its parts.
type walker struct {
	parts   []Part
	reasons []string
	class   Class
	dark    bool
	depth   int    // nesting depth of scripts
	wrapped int    // nesting depth of commands
	words   int    // words of all commands; nested words are counted again
	src     string // text of the script that is being walked
	movedTo bool   // the script contains a cd
	git     bool
	inputs  []string

	elsewhere bool // see Classification.Elsewhere
}

func (w *walker) result() Classification {
	if w.movedTo && w.git {
		w.opaque("git in another folder uses that folder's settings, which can start programs")
	}
	return Classification{
		Class: w.class, Reasons: w.reasons, Parts: w.parts, Opaque: w.dark, Inputs: w.inputs,
		Elsewhere: w.elsewhere,
	}
}

// worsen raises the class and records each reason once.
func (w *walker) worsen(c Class, reason string) {
	w.class = max(w.class, c)
	for _, r := range w.reasons {
		if r == reason {
			return
		}
	}
	w.reasons = append(w.reasons, reason)
}

// opaque records that the effect of some part of the script cannot be determined.
func (w *walker) opaque(reason string) {
	w.dark = true
	w.worsen(Mutates, reason)
}

var parsers = sync.Pool{
	New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) },
}

// script parses one script: the command itself, or the argument of sh -c, eval or trap.
func (w *walker) script(text string) {
	if why := unreadable(text); why != "" {
		w.opaque(why)
		return
	}
	if w.depth++; w.depth > maxUnfolding {
		w.opaque("it nests shells too deeply to analyze")
		return
	}
	outer := w.src
	w.src = text
	defer func() { w.depth--; w.src = outer }()
	p := parsers.Get().(*syntax.Parser)
	f, err := p.Parse(strings.NewReader(text), "")
	parsers.Put(p)
	if err != nil {
		w.opaque("it cannot be parsed as a shell command: " + err.Error())
		return
	}
	w.stmts(f.Stmts)
}

// unreadable returns the reason why a script is refused without parsing, or "" if it may be parsed.
func unreadable(text string) string {
	if len(text) > maxScriptBytes {
		return "it is too long to analyze"
	}
	open := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c >= utf8.RuneSelf:
			return unreadableRunes(text)
		case c < ' ' && c != '\n' && c != '\t', c == 0x7f:
			return "it contains a control character"
		case c == '(' || c == '{':
			open++
		case (c == ')' || c == '}') && open > 0:
			open--
		}
		if open > maxNesting {
			return "it is nested too deeply to analyze"
		}
	}
	return ""
}

// unreadableRunes is the slow path of unreadable, for scripts that are not ASCII. It also refuses
// invisible characters.
func unreadableRunes(text string) string {
	if !utf8.ValidString(text) {
		return "it is not valid UTF-8"
	}
	open := 0
	for _, r := range text {
		switch {
		case unicode.IsControl(r) && r != '\n' && r != '\t':
			return "it contains a control character"
		case r != '\n' && r != '\t' && visible.Hidden(r):
			return "it contains an invisible character"
		case r == '(' || r == '{':
			open++
		case (r == ')' || r == '}') && open > 0:
			open--
		}
		if open > maxNesting {
			return "it is nested too deeply to analyze"
		}
	}
	return ""
}

// source returns a node's source text.
func (w *walker) source(n syntax.Node) string {
	from, to := n.Pos().Offset(), n.End().Offset()
	if !n.Pos().IsValid() || to > uint(len(w.src)) || from > to {
		return "$…"
	}
	return w.src[from:to]
}

// tooLarge counts the words of a command and reports whether the script exceeds the limit of words
// or parts. A script that is too large is opaque.
func (w *walker) tooLarge(words int) bool {
	if w.words += words; w.words > maxWords || len(w.parts) >= maxParts {
		w.opaque("it has too many words to analyze")
		return true
	}
	return false
}

// add appends a part.
func (w *walker) add(p Part) {
	w.parts = append(w.parts, p)
	if p.Class > ReadOnly {
		w.worsen(p.Class, p.Reason)
	}
}

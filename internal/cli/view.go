package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/agent-lsp/agent-lsp/internal/app"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// view writes the progress of a turn, in color if the output is a terminal.
//
// A title begins each step. The model's output is unchanged. Calls, questions and results are
// indented by two columns. A line from the view itself ends with a colon only if further lines
// belong to it.
type view struct {
	mu    sync.Mutex
	out   io.Writer
	color bool
	kind  string   // kind of the text that is streaming; "" at the start of a line
	begun bool     // whether the streamed line has begun and not ended
	held  []string // notes that are shown at the end of the streamed line
}

func newView(out io.Writer, env []string) *view {
	return &view{out: out, color: isTerminal(out) && app.Lookup(env, "NO_COLOR") == ""}
}

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	if s, ok := stream.(screen); ok {
		stream = s.out
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// The colors of the view.
const (
	bold   = "1"
	dim    = "2"
	red    = "31"
	green  = "32"
	yellow = "33"
	cyan   = "36"
)

func (v *view) paint(code, s string) string {
	if !v.color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// line ends the streamed line and prints another one.
func (v *view) line(s string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.endStream()
	fmt.Fprintln(v.out, s)
}

func (v *view) endStream() {
	if v.kind != "" {
		fmt.Fprintln(v.out)
		v.kind, v.begun = "", false
	}
	v.release()
}

// release prints the held lines.
func (v *view) release() {
	for _, s := range v.held {
		fmt.Fprintln(v.out, s)
	}
	v.held = nil
}

// endLine ends the streamed line.
func (v *view) endLine() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.endStream()
}

func (v *view) title(s string) { v.line("\n" + v.paint(bold, s)) }
func (v *view) note(s string)  { v.line("  " + v.paint(dim, s)) }

// aside shows a note that is unrelated to the current output. The note waits until the streamed
// line has ended.
func (v *view) aside(s string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.held = append(v.held, "  "+v.paint(dim, s))
	switch {
	case v.begun:
	case v.kind == "toolOutput":
		v.endStream()
	default:
		v.release()
	}
}

// delta shows a piece of the model's or a tool's output.
func (v *view) delta(kind, text string) {
	if kind == "toolInput" {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.kind != kind {
		v.endStream()
		v.kind = kind
		if kind == "toolOutput" {
			fmt.Fprint(v.out, "    ")
		}
	}
	if kind == "toolOutput" {
		text = v.paint(dim, strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n    "))
		if text != "" {
			text += "\n"
			v.kind = ""
		}
		fmt.Fprint(v.out, text)
		return
	}
	v.stream(text)
}

// stream prints a piece of text. After the end of a line it prints the held notes.
func (v *view) stream(text string) {
	line := strings.LastIndexByte(text, '\n') + 1
	fmt.Fprint(v.out, v.said(text[:line]))
	if line > 0 {
		v.begun = false
		v.release()
	}
	fmt.Fprint(v.out, v.said(text[line:]))
	v.begun = v.begun || line < len(text)
}

// said formats a piece of the model's output. Thoughts are dim.
func (v *view) said(text string) string {
	if v.kind == "reasoning" {
		return v.paint(dim, text)
	}
	return text
}

// call shows that a call has started.
func (v *view) call(label string) { v.line("  " + v.paint(cyan, "● ") + label) }

// callEnd shows how a call ended. It names the call, because several calls may run at the same
// time. o is the outcome of a call that proposed changes, and nil for other calls.
func (v *view) callEnd(label string, it wire.Item, o *outcome) {
	mark := v.paint(green, "✓")
	if it.IsError || it.Status != "completed" || o != nil && o.none() {
		mark = v.paint(red, "✗")
	}
	s := "  " + mark + " " + label
	if it.Status != "completed" && o == nil {
		s += " " + it.Status
	}
	switch {
	case o != nil:
		s += v.paint(dim, " → "+o.String())
	case it.IsError && it.Result != nil:
		s += v.paint(dim, " → "+firstLine(strings.TrimPrefix(*it.Result, label+": ")))
	}
	v.line(s)
}

func firstLine(s string) string {
	line, rest, _ := strings.Cut(s, "\n")
	if rest != "" {
		line += " …"
	}
	return line
}

// diff shows a unified diff.
func (v *view) diff(title, diff string) {
	v.line("  " + v.paint(bold, title))
	for _, l := range strings.Split(strings.TrimSuffix(diff, "\n"), "\n") {
		v.diffLine(l)
	}
}

func (v *view) diffLine(l string) {
	code := ""
	switch {
	case strings.HasPrefix(l, "+++"), strings.HasPrefix(l, "---"):
		code = bold
	case strings.HasPrefix(l, "+"):
		code = green
	case strings.HasPrefix(l, "-"):
		code = red
	case strings.HasPrefix(l, "@@"):
		code = cyan
	}
	if code != "" {
		l = v.paint(code, l)
	}
	v.line("    " + l)
}

// hunk shows the old and new lines of one hunk.
func (v *view) hunk(n int, old, text string) {
	v.line(fmt.Sprintf("  hunk %d", n))
	for _, side := range []struct{ sign, text string }{{"-", old}, {"+", text}} {
		if side.text == "" {
			continue
		}
		for _, l := range strings.Split(strings.TrimSuffix(side.text, "\n"), "\n") {
			v.diffLine(side.sign + l)
		}
	}
}

func (v *view) question(s string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.endStream()
	fmt.Fprint(v.out, "  "+v.paint(yellow, s)+" ")
}

// answered shows an answer that the program gave automatically.
func (v *view) answered(s string) { v.line(s + v.paint(dim, "  (automatic: no terminal)")) }

// output shows the output of a program.
func (v *view) output(s string) {
	for _, l := range strings.Split(strings.TrimRight(s, "\n"), "\n") {
		switch {
		case strings.HasPrefix(l, "FAIL"):
			l = v.paint(red, l)
		case strings.HasPrefix(l, "ok"):
			l = v.paint(green, l)
		}
		v.line("    " + l)
	}
}

func (v *view) verdict(ok bool) {
	if ok {
		v.line("  " + v.paint(green, "passes"))
	} else {
		v.line("  " + v.paint(red, "fails"))
	}
}

package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/visible"
)

// desk reads the user's answers from a terminal. A question ends with a line, at the end of the
// input, or when its context is canceled by an interrupt or because the daemon withdraws the
// question. A desk is used by one goroutine at a time.
type desk struct {
	in      *bufio.Reader
	flush   func() // discards what the user has typed; nil if the input is not a terminal
	lines   chan typed
	reading bool // a read has not been received from lines yet
}

// typed is the result of one read. ok is false at the end of the input.
type typed struct {
	line string
	ok   bool
}

func newDesk(r io.Reader) *desk {
	d := &desk{in: bufio.NewReader(r), lines: make(chan typed, 1)}
	if f, ok := r.(*os.File); ok && isTerminal(f) {
		d.flush = func() { flushInput(f) }
	}
	return d
}

// discard discards what the user typed before a question, so that it does not answer the question
// by accident.
func (d *desk) discard() {
	if d.flush == nil {
		return
	}
	d.flush()
	select {
	case <-d.lines: // a line that was typed after an earlier question was canceled
		d.reading = false
	default:
	}
	if !d.reading {
		_, _ = d.in.Discard(d.in.Buffered())
	}
}

// read returns the next line. ok is false if the input or ctx ends first. A read from a terminal
// cannot be canceled, so after ctx ends, the read continues for the next question.
func (d *desk) read(ctx context.Context) (line string, ok bool) {
	if !d.reading {
		d.reading = true
		go func() {
			line, err := d.in.ReadString('\n')
			d.lines <- typed{strings.TrimSpace(line), line != "" || err == nil}
		}()
	}
	select {
	case t := <-d.lines:
		d.reading = false
		return t.line, t.ok
	case <-ctx.Done():
		return "", false
	}
}

// ask prints a question and returns the answer. If no user can be asked, the sample answers with
// the argument byItself. Outside the sample there is no answer, which is treated as a refusal.
func (d *demo) ask(ctx context.Context, question, byItself string) (answer string, answered bool) {
	if ctx.Err() != nil {
		return "", false
	}
	if d.desk != nil {
		d.desk.discard()
	}
	d.view.question(question)
	if d.desk == nil {
		if !d.sample {
			byItself = ""
		}
		d.view.answered(byItself)
		return byItself, d.sample
	}
	if answer, answered = d.desk.read(ctx); !answered {
		d.view.line("")
	}
	return answer, answered
}

// answerWords are the words that the keys abbreviate. They distinguish "stop" from "session" and
// "abort" from "always".
var answerWords = []string{"yes", "session", "always", "no", "hunk by hunk"}

// choose asks until the answer is one of keys or the beginning of the word that a key abbreviates.
// If there is no answer, it returns "n".
func (d *demo) choose(ctx context.Context, question, keys, byItself string) string {
	for {
		answer, answered := d.ask(ctx, question, byItself)
		answer = strings.ToLower(answer)
		for _, word := range answerWords {
			if answer != "" && strings.HasPrefix(word, answer) && strings.Contains(keys, word[:1]) {
				return word[:1]
			}
		}
		if !answered || d.desk == nil {
			return "n"
		}
	}
}

func (d *demo) comment(ctx context.Context, def string) string {
	answer, _ := d.ask(ctx, "reason for the model (Enter to skip)", def)
	return answer
}

// permissionKeys maps keys to the kinds of options, in the order in which the options are offered.
var permissionKeys = []struct{ key, kind, label string }{
	{"y", "allow_once", "[y]es"}, {"s", "allow_session", "for this [s]ession"},
	{"a", "allow_always", "[a]lways"}, {"n", "reject_once", "[n]o"},
}

// permit asks the user for a permission.
func (d *demo) permit(ctx context.Context,
	p wire.RequestPermissionParams) wire.RequestPermissionResult {
	d.view.note(strings.TrimSpace(p.Title + reasonOf(p)))
	if p.Preview != "" {
		for line := range strings.Lines(p.Preview) {
			d.view.line(visible.Text(strings.TrimSuffix(line, "\n")))
		}
	}
	keys, choices := "", []string(nil)
	byKey := map[string]string{}
	for _, k := range permissionKeys {
		for _, o := range p.Options {
			if o.Kind != k.kind || byKey[k.key] != "" {
				continue
			}
			keys, byKey[k.key] = keys+k.key, o.OptionID
			choice := k.label
			if o.Pattern != "" && (k.key == "a" || k.key == "s" && !hasAlways(p.Options)) {
				choice += " " + visible.Text(o.Pattern)
			}
			choices = append(choices, choice)
		}
	}
	if byKey["n"] == "" {
		choices = append(choices, "[n]o")
	}
	byItself := "y"
	if p.Sandbox == "outside" {
		byItself = "n" // only the user may let a command leave the sandbox
	}
	key := d.choose(ctx, "allow? "+strings.Join(choices, ", "), keys+"n", byItself)
	if id := byKey[key]; id != "" {
		res := wire.RequestPermissionResult{OptionID: id}
		if key == "n" && d.desk != nil && ctx.Err() == nil {
			res.Feedback = d.comment(ctx, "")
		}
		return res
	}
	return wire.RequestPermissionResult{Cancelled: true}
}

// hasAlways reports whether one of the options is permanent. permit shows the pattern with that
// option or, without one, with the option for the session.
func hasAlways(options []wire.PermissionOption) bool {
	return slices.ContainsFunc(options, func(o wire.PermissionOption) bool {
		return o.Kind == "allow_always"
	})
}

func reasonOf(p wire.RequestPermissionParams) string {
	if p.Reason == "" {
		return ""
	}
	return " (" + p.Reason + ")"
}

// put asks the model's question. The user may type an answer, choose an option by its number, or
// choose several options separated by commas if the question allows it.
func (d *demo) put(ctx context.Context, p wire.AskParams) wire.AskResult {
	for i, o := range p.Options {
		d.view.note(strings.TrimRight(fmt.Sprintf("%d. %s  %s", i+1, o.Label, o.Description), " "))
	}
	text, _ := d.ask(ctx, p.Question, "")
	if text == "" {
		return wire.AskResult{Declined: true}
	}
	var chosen []string
	for _, part := range strings.Split(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(part))
		if err != nil || n < 1 || n > len(p.Options) || len(chosen) > 0 && !p.Multi {
			return wire.AskResult{Answer: text}
		}
		chosen = append(chosen, p.Options[n-1].Label)
	}
	return wire.AskResult{Answer: strings.Join(chosen, ", ")}
}

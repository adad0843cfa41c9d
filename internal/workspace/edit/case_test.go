package edit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/workspace/edit/patch"
	"github.com/rogpeppe/go-internal/txtar"
)

// editCase is one case from testdata/edit: a text, the model's edit, and the correct outcome.
// testdata/edit/README.md describes the format.
type editCase struct {
	name  string
	parts map[string]string
}

// marks replaces visible symbols in the case files with the invisible bytes that they stand for.
var marks = strings.NewReplacer("␍", "\r", "␠", " ", "␉", "\t", "⍽", "\u00a0", "␤", "\u2028")

func unmark(s string, keepLast bool) string {
	s = marks.Replace(s)
	if body, ok := strings.CutSuffix(s, "∎\n"); ok {
		return body
	}
	if body, ok := strings.CutSuffix(s, "↵\n"); ok {
		return body + "\n"
	}
	if !keepLast {
		return strings.TrimSuffix(s, "\n")
	}
	return s
}

func loadCases(t testing.TB) []editCase {
	files, err := filepath.Glob("../../../testdata/edit/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("finding testdata/edit: %v, %d files", err, len(files))
	}
	var out []editCase
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		group := strings.TrimSuffix(filepath.Base(f), ".txtar")
		for _, part := range txtar.Parse(data).Files {
			i := strings.LastIndexByte(part.Name, '/')
			name := group + "/" + part.Name[:i]
			if len(out) == 0 || out[len(out)-1].name != name {
				out = append(out, editCase{name: name, parts: map[string]string{}})
			}
			out[len(out)-1].parts[part.Name[i+1:]] = string(part.Data)
		}
	}
	return out
}

func (c editCase) base() []byte { return []byte(unmark(c.parts["base"], true)) }

// replaces returns the search-and-replace edits of a case: old and new, old2 and new2, and so on.
func (c editCase) replaces(t testing.TB) ([]Replace, Options) {
	var out []Replace
	for i := 1; ; i++ {
		n := ""
		if i > 1 {
			n = fmt.Sprint(i)
		}
		old, ok := c.parts["old"+n]
		if !ok {
			break
		}
		out = append(out, Replace{Old: unmark(old, false), New: unmark(c.parts["new"+n], false)})
	}
	var opt Options
	for _, l := range strings.Split(strings.TrimSpace(c.parts["with"]), "\n") {
		word, arg, _ := strings.Cut(l, " ")
		n, _ := strconv.Atoi(arg)
		for i := range out {
			switch word {
			case "all":
				out[i].ReplaceAll = true
			case "count":
				out[i].ExpectedCount = n
			case "near":
				out[i].NearLine = n
			}
		}
		switch word {
		case "path":
			opt.Path = arg
		case "disk":
			opt.Elsewhere = append(opt.Elsewhere,
				Elsewhere{Name: "the version on disk", Data: []byte(unmark(c.parts["disk"], true))})
		case "", "all", "count", "near":
		default:
			t.Errorf("%s: unknown option %q", c.name, l)
		}
	}
	return out, opt
}

func (c editCase) run(t testing.TB) (*Plan, error) {
	edits, opt := c.replaces(t)
	text, isPatch := c.parts["patch"]
	if !isPatch {
		return Match(c.base(), edits, opt)
	}
	files, err := patch.Parse(marks.Replace(text))
	if err != nil {
		return nil, err
	}
	if len(files) != 1 {
		t.Fatalf("%d files in the patch, want 1", len(files))
	}
	return MatchPatch(c.base(), files[0], opt)
}

// refusal returns the reason why a call was refused, or nil for any other error. For a text that is
// not a patch, the kind is KindPatch.
func refusal(err error) (me *MatchError) {
	var pe *patch.Error
	if errors.As(err, &pe) {
		return &MatchError{Kind: KindPatch, Edit: -1, Msg: pe.Msg}
	}
	errors.As(err, &me)
	return me
}

// check runs one case. The first line of "then" is the expected outcome. Lines of "says" must occur
// in the message or the notes.
func (c editCase) check(t *testing.T) {
	base := c.base()
	plan, err := c.run(t)
	then := strings.Split(strings.TrimSpace(c.parts["then"]), "\n")
	word, arg, _ := strings.Cut(then[0], " ")
	var said string
	switch word {
	case "apply":
		if err != nil {
			t.Fatalf("refused: %v", err)
		}
		want := unmark(c.parts["want"], true)
		if got := string(plan.Apply(base)); got != want {
			t.Errorf("result:\n%s\nwant:\n%s", visibleLines(got), visibleLines(want))
		}
		if got := plan.MaxTier().String(); got != arg {
			t.Errorf("tier %s, want %s", got, arg)
		}
		said = strings.Join(plan.Notes, "\n") + plan.Summary(base)
		checkOutside(t, base, plan)
	case "noop":
		if err != nil || !plan.NoOp || len(plan.Spans) > 0 {
			t.Fatalf("plan %+v, error %v; want a no-op", plan, err)
		}
		said = strings.Join(plan.Notes, "\n")
	case "refuse":
		me := refusal(err)
		if me == nil {
			t.Fatalf("plan %+v, error %v; want a *MatchError", plan, err)
		}
		kind, lines, _ := strings.Cut(arg, " ")
		if string(me.Kind) != kind {
			t.Errorf("kind %s, want %s\n%v", me.Kind, kind, err)
		}
		if lines != "" && fmt.Sprint(me.Places) != "["+lines+"]" {
			t.Errorf("places %v, want %s", me.Places, lines)
		}
		said = err.Error()
	default:
		t.Fatalf("no outcome in %q", c.parts["then"])
	}
	for _, l := range then[1:] {
		if want := marks.Replace(strings.TrimPrefix(l, "says ")); !strings.Contains(said, want) {
			t.Errorf("%q is missing from:\n%s", want, said)
		}
	}
}

// failer contains the methods that testing.T and rapid.T have in common.
type failer interface {
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// checkOutside checks that all bytes outside the spans are unchanged.
func checkOutside(t failer, base []byte, p *Plan) {
	got := p.Apply(base)
	at, shift := 0, 0
	for _, s := range p.Spans {
		if s.Start < at || s.End < s.Start || s.End > len(base) {
			t.Fatalf("span %d-%d out of order", s.Start, s.End)
		}
		if !slices.Equal(base[at:s.Start], got[at+shift:s.Start+shift]) {
			t.Errorf("bytes before %d changed", s.Start)
		}
		at, shift = s.End, shift+len(s.New)-(s.End-s.Start)
	}
	if !slices.Equal(base[at:], got[at+shift:]) {
		t.Errorf("bytes after %d changed", at)
	}
}

func visibleLines(s string) string {
	return strings.NewReplacer("\r", "␍", "\t", "→", " ", "·", "\n", "⏎\n").Replace(s)
}

func TestCases(t *testing.T) {
	cases := loadCases(t)
	if len(cases) < 120 {
		t.Errorf("%d cases, want at least 120", len(cases))
	}
	for _, c := range cases {
		t.Run(c.name, c.check)
	}
}

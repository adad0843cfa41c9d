package edit

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/workspace/edit/edittest"
	"github.com/agent-lsp/agent-lsp/internal/workspace/edit/patch"
)

// suiteTime limits the time of each suite of random intents. Intents that remain after that time
// are skipped.
const suiteTime = 20 * time.Second

// planOf processes a call in the same way as the tools.
func planOf(base []byte, path string, c edittest.Call) (*Plan, error) {
	opt := Options{Path: path}
	switch {
	case c.Content != nil:
		return Whole(base, []byte(*c.Content), opt)
	case c.Patch == "":
		var edits []Replace
		for _, p := range c.Pairs {
			edits = append(edits, Replace{Old: p.Old, New: p.New})
		}
		return Match(base, edits, opt)
	}
	files, err := patch.Parse(c.Patch)
	if c.Path != "" {
		files, err = patch.ParseFor(c.Path, c.Patch)
	}
	if err != nil {
		return nil, err
	}
	if len(files) != 1 || files[0].Path != path {
		return nil, fmt.Errorf("the patch is for %+v", files)
	}
	return MatchPatch(base, files[0], opt)
}

// outcome is the result of a call: the call was applied as intended, was refused, or caused a
// problem such as an unintended change.
type outcome struct {
	applied bool
	tier    string
	refusal string
	problem string
}

func outcomeOf(in edittest.Intent, n edittest.Noise, c edittest.Call) outcome {
	plan, err := planOf(in.Base(), in.Path, c)
	if err != nil {
		switch me := refusal(err); {
		case me == nil || me.Kind == "":
			return outcome{problem: "the error is " + err.Error()}
		case !saysWhatToDo(err.Error()):
			return outcome{problem: "the refusal does not say what to do: " + err.Error()}
		}
		return outcome{refusal: err.Error()}
	}
	got := plan.Apply(in.Base())
	if bytes.Equal(got, in.Want()) && !(n.Doomed() && !plan.NoOp) {
		return outcome{applied: true, tier: plan.MaxTier().String()}
	}
	if notes := strings.Join(plan.Notes, " "); strings.Contains(notes, "nothing to change") &&
		(plan.NoOp || in.WantWithout(got)) {
		return outcome{refusal: notes} // the message says where the new text already is
	}
	return outcome{
		problem: fmt.Sprintf(
			"the result is\n%s\nnot\n%s\nnotes: %s",
			visibleLines(string(got)),
			visibleLines(string(in.Want())),
			plan.Notes,
		),
	}
}

// saysWhatToDo reports whether a message describes what the model can do next.
func saysWhatToDo(msg string) bool {
	for _, w := range []string{
		"Send", "send", "Read", "read it", "Use longer", "use longer", "Add ", "add ",
		"Put the path", "join them", "name ", "Include", "update it", "Close", "End both",
		"Begin both", "Repeat", "must be sent",
	} {
		if strings.Contains(msg, w) {
			return true
		}
	}
	return false
}

func shownCall(in edittest.Intent, n edittest.Noise, c edittest.Call) string {
	text := c.Patch
	for _, p := range c.Pairs {
		text += fmt.Sprintf("old:\n%s\nnew:\n%s\n", visibleLines(p.Old), visibleLines(p.New))
	}
	if c.Content != nil {
		text += *c.Content
	}
	return fmt.Sprintf(
		"format %s, noise %+v\nfile:\n%s\nchanges: %+v\ncall:\n%s",
		c.Format,
		n,
		visibleLines(string(in.Base())),
		in.Changes,
		text,
	)
}

// drawCall draws an intent and a call that expresses it. ok is false if the drawn noise cannot be
// applied.
func drawCall(
	choose edittest.Choose,
) (in edittest.Intent, n edittest.Noise, c edittest.Call, ok bool) {
	n = edittest.RandomNoise(choose)
	in = n.Fit(edittest.Random(choose))
	f := edittest.Format(choose(int(edittest.Formats)))
	if len(in.Changes) == 0 || bytes.Equal(in.Base(), in.Want()) {
		return in, n, c, false
	}
	c, ok = edittest.Write(in, f, n, choose)
	return in, n, c, ok && !c.Hidden
}

// TestIntents checks that, with any format and noise, either the file is as intended or the call is
// refused with a message that says what to do.
func TestIntents(t *testing.T) {
	count := uint64(20_000)
	if os.Getenv("AGENT_LSP_FULL") != "" {
		count = 400_000
	}
	end := time.Now().Add(suiteTime)
	var all, applied [edittest.Formats]int
	for seed := range count {
		if time.Now().After(end) {
			t.Logf("stopped at %d of %d", seed, count)
			break
		}
		in, n, c, ok := drawCall(rand.New(rand.NewPCG(seed, 34)).IntN)
		if !ok {
			continue
		}
		o := outcomeOf(in, n, c)
		if o.problem != "" {
			t.Errorf("seed %d: %s\n%s", seed, o.problem, shownCall(in, n, c))
		}
		if n.Doomed() {
			continue
		}
		all[c.Format]++
		if o.applied {
			applied[c.Format]++
		}
	}
	for f := range edittest.Formats {
		t.Logf("%s: %d of %d applied", f, applied[f], all[f])
		// The limit is low because the files have few distinct words, which makes many search texts
		// ambiguous.
		if applied[f]*100 < all[f]*90 {
			t.Errorf("%s: only %d of %d calls were applied", f, applied[f], all[f])
		}
	}
}

// FuzzIntent derives the intent, the format and the noise from the input.
func FuzzIntent(f *testing.F) {
	for seed := range uint64(64) {
		r := rand.New(rand.NewPCG(seed, 1))
		data := make([]byte, 160)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		choose := func(n int) int {
			if len(data) == 0 {
				return 0
			}
			c := int(data[0]) % n
			data = data[1:]
			return c
		}
		in, n, c, ok := drawCall(choose)
		if !ok {
			return
		}
		if o := outcomeOf(in, n, c); o.problem != "" {
			t.Fatalf("%s\n%s", o.problem, shownCall(in, n, c))
		}
	})
}

// TestTable checks that at least 97 of 100 calls for realistic files are applied at the tier for
// their noise, and that no call has an unintended result.
func TestTable(t *testing.T) {
	for _, eol := range []string{"\n", "\r\n"} {
		cases := edittest.Table(eol)
		perFormat := map[edittest.Format]int{}
		apply, applied := 0, 0
		for _, c := range cases {
			perFormat[c.Call.Format]++
			o := outcomeOf(c.Intent, c.Noise, c.Call)
			switch {
			case o.problem != "":
				t.Errorf("%s: %s\n%s", c.Name, o.problem, shownCall(c.Intent, c.Noise, c.Call))
			case o.applied && c.Tier != "" && o.tier != c.Tier:
				t.Errorf(
					"%s: applied at tier %s, not %s\n%s",
					c.Name,
					o.tier,
					c.Tier,
					shownCall(c.Intent, c.Noise, c.Call),
				)
			}
			if c.Noise.Doomed() {
				continue
			}
			if apply++; o.applied {
				applied++
			} else {
				t.Logf("%s: %s\n%s", c.Name, o.refusal, shownCall(c.Intent, c.Noise, c.Call))
			}
		}
		t.Logf("%d cases, %d of %d applied", len(cases), applied, apply)
		if len(cases) < 300 || len(perFormat) != int(edittest.Formats) {
			t.Errorf(
				"%d cases for %d formats, want at least 300 for %d",
				len(cases),
				len(perFormat),
				edittest.Formats,
			)
		}
		if applied*100 < apply*97 {
			t.Errorf("%d of %d calls were applied, fewer than 97 of 100", applied, apply)
		}
	}
}

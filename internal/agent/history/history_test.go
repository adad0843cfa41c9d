package history

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// maker creates messages with consecutive IDs.
type maker struct{ n int }

func (k *maker) msg(role message.Role, text string) *message.Message {
	k.n++
	m := message.NewText(role, text)
	m.ID = fmt.Sprint("m", k.n)
	return m
}

// round returns an assistant message with one call per element of metas, followed by the results,
// each of size bytes.
func (k *maker) round(text string, metas []resultMeta, size int) []*message.Message {
	a := k.msg(message.RoleAssistant, text)
	out := []*message.Message{a}
	for _, meta := range metas {
		k.n++
		id := fmt.Sprint("call", k.n)
		a.Content = append(a.Content, message.Block{Type: message.ToolUse,
			Call: &message.ToolCall{ID: id, Name: "read", Args: json.RawMessage(`{"path":"x"}`)}})
		r := k.msg(message.RoleTool, strings.Repeat("0123456789abcde\n", size/16))
		r.CallID, r.Name = id, "read"
		if raw, err := json.Marshal(meta); err == nil {
			r.Meta = map[string]json.RawMessage{metaKey: raw}
		}
		out = append(out, r)
	}
	return out
}

func file(key, sha string) resultMeta { return resultMeta{Kind: "file", Key: key, SHA256: sha} }

// talk returns n turns, each consisting of a prompt, a round of reads and an answer.
func talk(k *maker, n, size int) []*message.Message {
	var msgs []*message.Message
	for i := range n {
		msgs = append(msgs, k.msg(message.RoleUser, fmt.Sprintf("question %d", i)))
		msgs = append(msgs, k.round("looking",
			[]resultMeta{file(fmt.Sprint("/f", i), fmt.Sprint(i)), file("/same", "s")}, size)...)
		a := k.msg(message.RoleAssistant, fmt.Sprintf("answer %d", i))
		a.Stop = message.StopEnd
		msgs = append(msgs, a)
	}
	return msgs
}

func fit(t *testing.T, in Input, names ...string) Result {
	t.Helper()
	ladder, err := Ladder(names...)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	in.NewID = func(p string) string { n++; return fmt.Sprint(p, "x", n) }
	res, err := Fit(t.Context(), in, ladder)
	if oe := (*OverflowError)(nil); err != nil && !errors.As(err, &oe) {
		t.Fatal(err)
	}
	if !Paired(res.Messages) {
		t.Error("the result is not paired")
	}
	return res
}

func all(msgs []*message.Message) string {
	var b strings.Builder
	for _, m := range msgs {
		fmt.Fprintf(&b, "%s: %s\n", m.Role, m.TextContent())
	}
	return b.String()
}

// TestReducers checks each reducer alone: its effect, that it stops at the target, and that it does
// not modify its input.
func TestReducers(t *testing.T) {
	for _, tc := range []struct {
		name string
		want []string // texts that the result must contain
		not  []string // texts that the result must not contain
	}{
		{Dedupe, []string{"[Earlier file read: /same; a later result shows it]"},
			[]string{"Earlier file read: /f1;"}},
		{Mask, []string{"[PREVIOUS RESULT: read, 4800 chars, 301 lines]"}, nil},
		{Truncate, []string{"chars omitted"}, nil},
		{TurnSummaries, []string{"- User asked: question 0. Used tools: read (2x). Read files: /f0, /same. Response: answer 0"}, []string{"user: question 0"}},
		{Summary, []string{"<context-summary>\nthe gist\n<read-files>\n/f0\n"},
			[]string{"user: question 0"}},
		{Importance, []string{"earlier messages in this conversation were omitted",
			"user: question 0", "user: question 19"}, nil},
		{DropTurns, []string{"earlier messages in this conversation were omitted"},
			[]string{"user: question 0"}},
		{Emergency, []string{"chars omitted"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			msgs := talk(&maker{}, 20, 4800)
			before := all(msgs)
			total := Total(msgs)
			in := Input{Messages: msgs, Target: total * 8 / 10, Limit: total, Recent: 6000,
				Summarize: func(context.Context, SummaryRequest) (string,
					error) {
					return "the gist", nil
				}}
			res := fit(t, in, tc.name, tc.name)
			got := all(res.Messages)
			if res.After >= res.Before || res.After > in.Target && tc.name != Dedupe {
				t.Errorf("from %d to %d, target %d", res.Before, res.After, in.Target)
			}
			if tc.name != Summary && res.After < in.Target*8/10 {
				t.Errorf("from %d to %d: far below the target %d", res.Before, res.After, in.Target)
			}
			for _, w := range tc.want {
				if !strings.Contains(got, w) {
					t.Errorf("no %q in\n%.3000s", w, got)
				}
			}
			for _, w := range tc.not {
				if strings.Contains(got, w) {
					t.Errorf("%q is still in the result", w)
				}
			}
			if all(msgs) != before {
				t.Error("the input was modified")
			}
			if !strings.Contains(got, "user: question 19") {
				t.Error("the last user message is missing")
			}
		})
	}
}

// Every strategy except none reduces the history to the target. An unknown strategy is an error.
func TestStrategies(t *testing.T) {
	for name := range Strategies {
		msgs := talk(&maker{}, 40, 6000)
		in := Input{Messages: msgs, Target: Total(msgs) / 5}
		if name == strategyImportance {
			in.Target = Total(msgs) / 3
		}
		res := fit(t, in, name)
		if name == StrategyNone {
			if res.After != res.Before {
				t.Error("none reduced")
			}
			continue
		}
		if res.After > in.Target {
			t.Errorf("%s: %d tokens, target %d, by %s", name, res.After, in.Target, res.Strategy)
		}
	}
	if _, err := Ladder("nonsense"); err == nil {
		t.Error("an unknown name was accepted")
	}
}

// TestReducersOfStrategies checks the reducers of each strategy and their order.
func TestReducersOfStrategies(t *testing.T) {
	for name, want := range map[string]string{
		StrategyNone:          "",
		StrategySlidingWindow: "drop_turns emergency",
		strategyImportance:    "dedupe mask truncate importance emergency",
		StrategyHybrid:        "dedupe mask truncate turn_summaries importance emergency",
		StrategyAdaptive:      "dedupe mask truncate turn_summaries summary drop_turns emergency",
	} {
		ladder, err := Ladder(name)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, r := range ladder {
			names = append(names, r.Name())
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// A later summary is based on the previous one and replaces it. It lists the files that tools
// named, but not those that only the model's summary names.
func TestSummaryIsUpdated(t *testing.T) {
	k := &maker{}
	msgs := talk(k, 10, 4800)
	var prompts []string
	in := Input{Target: 4000, Recent: 3000, Messages: msgs,
		Summarize: func(_ context.Context, r SummaryRequest) (string, error) {
			prompts = append(prompts, r.Prompt)
			return "<summary>notes " + fmt.Sprint(len(prompts)) +
				"</summary><modified-files>/etc/passwd</modified-files>", nil
		}}
	first := fit(t, in, Summary, Summary)
	in.Messages = append(first.Messages, talk(k, 10, 4800)...)
	second := fit(t, in, Summary, Summary)
	got := all(second.Messages)
	if len(prompts) != 2 || !strings.Contains(prompts[1], "<notes>\nnotes 1\n</notes>") {
		t.Fatalf("%d prompts", len(prompts))
	}
	if strings.Count(got, "<context-summary>") != 1 || !strings.Contains(got, "notes 2") ||
		strings.Contains(got, "/etc/passwd") {
		t.Errorf("%.2000s", got)
	}
	for _, f := range []string{"/f0", "/f7", "/same"} {
		if !strings.Contains(got, f) {
			t.Errorf("file %s is not listed", f)
		}
	}
	if strings.Contains(prompts[0], strings.Repeat("x", 600)) {
		t.Error("whole results are in the transcript")
	}
}

// A single huge turn is also summarized, but the user's messages in it stay unchanged.
func TestSplitTurn(t *testing.T) {
	k := &maker{}
	msgs := []*message.Message{k.msg(message.RoleUser, "the one request")}
	for i := range 50 {
		msgs = append(msgs, k.round("step", []resultMeta{file(fmt.Sprint("/f", i), "x")}, 4800)...)
	}
	in := Input{Messages: msgs, Target: 8000,
		Summarize: func(context.Context, SummaryRequest) (string, error) { return "gist", nil }}
	res := fit(t, in, Summary, Summary)
	if res.After > in.Target || !strings.Contains(all(res.Messages), "user: the one request") {
		t.Errorf("%d tokens: %.500s", res.After, all(res.Messages))
	}
}

// If the call for a summary fails, panics or overflows the window, or if the summary is empty or
// too long, the next reducers are used.
func TestSummaryThatFails(t *testing.T) {
	for name, f := range map[string]Summarizer{
		"fails": func(context.Context, SummaryRequest) (string, error) {
			return "",
				errors.New("no")
		},
		"overflows": func(context.Context, SummaryRequest) (string, error) {
			return "",
				ErrTooLong
		},
		"is empty": func(context.Context, SummaryRequest) (string,
			error) {
			return " <summary></summary> ", nil
		},
		"panics": func(context.Context, SummaryRequest) (string, error) { panic("boom") },
		"is long": func(context.Context, SummaryRequest) (string,
			error) {
			return strings.Repeat("long ", 1e6), nil
		},
	} {
		msgs := talk(&maker{}, 20, 4800)
		res := fit(t, Input{Messages: msgs, Target: 3000, Summarize: f}, Summary, DropTurns,
			Emergency)
		if res.After > 3000 || strings.Contains(res.Strategy, Summary) || name != "is long" &&
			len(res.Problems) != 1 {
			t.Errorf("%s: %d tokens by %s, problems %v", name, res.After, res.Strategy,
				res.Problems)
		}
	}
}

func TestSummaryRetriesWithLess(t *testing.T) {
	tries := 0
	msgs := talk(&maker{}, 20, 4800)
	res := fit(t, Input{Messages: msgs, Target: 5000,
		Summarize: func(context.Context, SummaryRequest) (string, error) {
			if tries++; tries < 3 {
				return "", ErrTooLong
			}
			return "gist", nil
		}}, Summary, Summary)
	if tries != 3 || res.Strategy != Summary {
		t.Error(tries, res.Strategy, res.Problems)
	}
}

// For any history and limit, either the result fits or the error reports that it does not. Pairs of
// calls and results, pinned messages and the last user message remain. The input is not modified.
// If the target was reached, a second pass changes nothing.
func TestAnyHistoryFitsOrSaysSo(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 2))
	lists := slices.Collect(func(yield func(string) bool) {
		for n := range Strategies {
			if !yield(n) {
				return
			}
		}
	})
	slices.Sort(lists)
	for run := range 400 {
		msgs := randomHistory(rnd)
		before := all(msgs)
		total := Total(msgs)
		in := Input{Messages: msgs, Target: 200 + rnd.IntN(total+1)}
		in.Limit = in.Target + rnd.IntN(total/2+1)
		in.Pins = randomPins(rnd, msgs)
		if rnd.IntN(2) == 0 {
			in.Summarize = func(context.Context, SummaryRequest) (string, error) {
				if rnd.IntN(3) == 0 {
					return "", errors.New("no")
				}
				return strings.Repeat("gist ", rnd.IntN(50)), nil
			}
		}
		name := lists[rnd.IntN(len(lists))]
		ladder, err := Ladder(name)
		if err != nil {
			t.Fatal(err)
		}
		res, err := Fit(t.Context(), in, ladder)
		fail := func(format string, args ...any) {
			t.Fatalf("seed %d run %d %s target %d limit %d: %s", seed, run, name, in.Target,
				in.Limit, fmt.Sprintf(format, args...))
		}
		if oe := (*OverflowError)(nil); res.After > in.Limit != errors.As(err, &oe) {
			fail("%d tokens, error %v", res.After, err)
		}
		if Total(res.Messages) != res.After || res.After > res.Before {
			fail("tokens: %d counted, %d said, %d before", Total(res.Messages), res.After,
				res.Before)
		}
		if !Paired(res.Messages) || !in.keepsAll(res.Messages) || all(msgs) != before {
			fail("a rule is broken")
		}
		for _, p := range res.Problems {
			if errors.Is(p, errBroken) {
				fail("%v", p)
			}
		}
		lastUser(t, msgs, res.Messages)
		if res.After <= in.Target {
			again, _ := Fit(t.Context(), Input{Messages: res.Messages, Target: in.Target,
				Pins: in.Pins}, ladder)
			if !slices.Equal(again.Messages, res.Messages) {
				fail("not stable")
			}
		}
	}
}

// lastUser checks that the last user message is unchanged.
func lastUser(t *testing.T, msgs, out []*message.Message) {
	t.Helper()
	for _, m := range slices.Backward(msgs) {
		if isPrompt(m) {
			if !slices.Contains(out, m) {
				t.Fatalf("the last user message %q was not kept unchanged", m.TextContent())
			}
			return
		}
	}
}

// randomPins returns the pin state of some user messages: true for pinned, false for unpinned.
func randomPins(rnd *rand.Rand, msgs []*message.Message) map[string]bool {
	pins := map[string]bool{}
	for _, m := range msgs {
		if isPrompt(m) && rnd.IntN(5) == 0 {
			pins[m.ID] = rnd.IntN(2) == 0
		}
	}
	return pins
}

func randomHistory(rnd *rand.Rand) []*message.Message {
	k := &maker{}
	var msgs []*message.Message
	for range 1 + rnd.IntN(60) {
		switch rnd.IntN(6) {
		case 0, 1:
			msgs = append(msgs, k.msg(message.RoleUser, strings.Repeat("say 中 ", rnd.IntN(300))))
		case 2:
			m := k.msg(message.RoleUser, "pinned")
			m.Meta = map[string]json.RawMessage{PinnedKey: json.RawMessage("true")}
			if rnd.IntN(4) > 0 {
				m.Meta, m.Hidden = nil, true
			}
			msgs = append(msgs, m)
		case 3:
			m := k.msg(message.RoleAssistant, strings.Repeat("talk ", rnd.IntN(1000)))
			m.Stop = message.StopEnd
			msgs = append(msgs, m)
		default:
			var metas []resultMeta
			for range rnd.IntN(5) {
				metas = append(metas, file(fmt.Sprint("/f", rnd.IntN(5)), fmt.Sprint(rnd.IntN(3))))
			}
			msgs = append(msgs, k.round("do", metas, rnd.IntN(12000))...)
		}
	}
	return msgs
}

// Pair turns any history that a store or a transformer may return into a paired one, and does not
// change a history that is already paired.
func TestPair(t *testing.T) {
	rnd := rand.New(rand.NewPCG(7, 7))
	for range 300 {
		msgs := randomHistory(rnd)
		if !slices.Equal(Pair(msgs, nil), msgs) {
			t.Fatal("a paired history was changed")
		}
		broken := slices.Clone(msgs)
		rnd.Shuffle(len(broken), func(i, j int) {
			if rnd.IntN(3) == 0 {
				broken[i], broken[j] = broken[j], broken[i]
			}
		})
		broken = broken[:len(broken)-rnd.IntN(len(broken))]
		if got := Pair(broken, nil); !Paired(got) {
			t.Fatalf("not paired:\n%s", all(got))
		}
	}
}

// The token estimate counts ASCII, accented and CJK text differently, and adds a fixed number of
// tokens for an image.
func TestTokens(t *testing.T) {
	for s, want := range map[string]int{"": 0, "abcd": 1, "abcde": 2, "中文字": 3, "ééé": 2,
		strings.Repeat("x", 4000): 1000} {
		if got := Text(s); got != want {
			t.Errorf("Text(%.10q) = %d, want %d", s, got, want)
		}
	}
	img := message.NewText(message.RoleUser, "")
	img.Content = append(img.Content, message.Block{Type: message.Image, Data: make([]byte, 1<<20)})
	if n := Tokens(img); n != tokensMessage+tokensImage {
		t.Error("image", n)
	}
}

func TestMeter(t *testing.T) {
	k := &maker{}
	var c Meter
	c.SetOverhead(1000)
	add := func(role message.Role, n int) *message.Message {
		m := k.msg(role, strings.Repeat("abcd", n))
		c.Add(m)
		return m
	}
	add(message.RoleUser, 1000)
	if got := c.Used(); got != 2000+tokensMessage {
		t.Error("first estimate", got)
	}
	reply := add(message.RoleAssistant, 100)
	c.Counted(4000, 100, Tokens(reply)) // the provider counts twice as many tokens
	if got := c.Used(); got != 4100 {
		t.Error("after the count", got)
	}
	add(message.RoleUser, 1000)
	if got := c.Used(); got < 6000 || got > 6200 {
		t.Error("trailing estimate, calibrated", got)
	}
	c.Refused(5000)
	if got := c.Used(); got < 4900 {
		t.Error("after a refusal", got)
	}
}

func BenchmarkFit(b *testing.B) {
	msgs := talk(&maker{}, 200, 3200) // 1,000 messages
	ladder, err := Ladder(StrategyHybrid)
	if err != nil {
		b.Fatal(err)
	}
	for _, share := range []int{100, 30} {
		b.Run(fmt.Sprintf("target=%d%%", share), func(b *testing.B) {
			for range b.N {
				in := Input{Messages: msgs, Target: Total(msgs) * share / 100}
				if _, err := Fit(context.Background(), in, ladder); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

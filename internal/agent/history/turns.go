package history

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/clip"
)

// Thresholds of the reducers that work on whole turns.
const (
	// Messages in the last target/recentShare tokens are recent, within the bounds below.
	recentShare    = 3
	recentMin      = 2000
	recentMax      = 20000
	summaryAsked   = 300 // runes of the prompt in a turn's summary
	summaryAnswer  = 250 // runes of the answer in a turn's summary
	summaryFiles   = 3   // number of files that a summary names; other files are only counted
	importanceHead = 3   // units at the beginning that importance keeps
	importanceTail = 24  // messages at the end that importance keeps
)

// recentBudget returns the number of tokens of recent messages that are left unchanged.
func (in *Input) recentBudget() int {
	if in.Recent > 0 {
		return in.Recent
	}
	return min(max(in.Target/recentShare, min(recentMin, in.Target/2)), recentMax)
}

// turnSummaries replaces old, complete turns with short summaries, oldest first. The summaries are
// derived from the turns by rules, without a model.
type turnSummaries struct{}

func (turnSummaries) Name() string { return TurnSummaries }

func (turnSummaries) Reduce(_ context.Context, in *Input) ([]*message.Message, error) {
	us := in.units(in.Messages)
	recent := recentFrom(us, in.recentBudget())
	total := Total(in.Messages)
	gone := map[int]string{} // maps the first unit of a turn to the turn's summary
	drop := make([]bool, len(us))
	for _, t := range turnsOf(us) {
		if t.to > recent || total <= in.Target {
			break
		}
		text, tokens := summarizeTurn(in.Messages, us[t.from:t.to])
		if text == "" || tokens <= Text(text)+tokensMessage {
			continue
		}
		gone[t.from] = text
		for i := t.from; i < t.to; i++ {
			drop[i] = !us[i].keep
		}
		total -= tokens - Text(text)
	}
	if len(gone) == 0 {
		return in.Messages, nil
	}
	return withSummaries(in, us, drop, gone), nil
}

// withSummaries rebuilds the messages. Summaries of adjacent turns become one message.
func withSummaries(in *Input, us []unit, drop []bool, gone map[int]string) []*message.Message {
	var out []*message.Message
	var lines []string
	flush := func() {
		if len(lines) > 0 {
			out = append(out, in.hidden("Summary of the earlier turns in this conversation:\n"+
				strings.Join(lines, "\n")))
			lines = nil
		}
	}
	for i, u := range us {
		if text, ok := gone[i]; ok {
			lines = append(lines, "- "+text)
		}
		if !drop[i] {
			flush()
			out = append(out, in.Messages[u.from:u.to]...)
		}
	}
	flush()
	return out
}

// summarizeTurn describes what happened in a turn. It returns "" if the turn is incomplete, was
// aborted or ended with an error.
func summarizeTurn(msgs []*message.Message, us []unit) (text string, tokens int) {
	all := msgs[us[0].from:us[len(us)-1].to]
	last := all[len(all)-1]
	if !us[0].user || last.Role != message.RoleAssistant || len(last.ToolCalls()) > 0 ||
		last.Stop == message.StopAborted || last.Stop == message.StopError {
		return "", 0
	}
	for _, u := range us {
		if !u.keep {
			tokens += u.tokens
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "User asked: %s.", brief(all[0].TextContent(), summaryAsked))
	if s := toolsUsed(all); s != "" {
		fmt.Fprintf(&b, " Used tools: %s.", s)
	}
	read, changed := filesOf(all)
	writeFiles(&b, " Read files", read)
	writeFiles(&b, " Modified files", changed)
	if n := errorsIn(all); n > 0 {
		fmt.Fprintf(&b, " Encountered %d error(s).", n)
	}
	fmt.Fprintf(&b, " Response: %s", brief(last.TextContent(), summaryAnswer))
	return b.String(), tokens
}

func brief(s string, n int) string {
	return clip.Runes(strings.Join(strings.Fields(s), " "), n)
}

func toolsUsed(msgs []*message.Message) string {
	counts := map[string]int{}
	var names []string
	for _, m := range msgs {
		for _, c := range m.ToolCalls() {
			if counts[c.Name]++; counts[c.Name] == 1 {
				names = append(names, c.Name)
			}
		}
	}
	for i, n := range names {
		if counts[n] > 1 {
			names[i] = fmt.Sprintf("%s (%dx)", n, counts[n])
		}
	}
	return strings.Join(names, ", ")
}

// filesOf returns the files that were read but not changed, and the files that were changed,
// according to the tools' metadata and the summaries in msgs.
func filesOf(msgs []*message.Message) (read, changed []string) {
	r, c := map[string]bool{}, map[string]bool{}
	for _, m := range msgs {
		if meta := metaOf(m); meta.Key != "" && meta.Kind == "file" {
			if meta.Changed {
				c[meta.Key] = true
			} else {
				r[meta.Key] = true
			}
		}
		var s summaryMeta
		if raw, ok := m.Meta[summaryKey]; ok && json.Unmarshal(raw, &s) == nil {
			for _, f := range s.Read {
				r[f] = true
			}
			for _, f := range s.Changed {
				c[f] = true
			}
		}
	}
	for f := range c {
		delete(r, f)
		changed = append(changed, f)
	}
	for f := range r {
		read = append(read, f)
	}
	slices.Sort(read)
	slices.Sort(changed)
	return read, changed
}

func writeFiles(b *strings.Builder, what string, files []string) {
	switch n := len(files); {
	case n > summaryFiles:
		fmt.Fprintf(b, "%s: %s and %d more.", what, strings.Join(files[:summaryFiles], ", "),
			n-summaryFiles)
	case n > 0:
		fmt.Fprintf(b, "%s: %s.", what, strings.Join(files, ", "))
	}
}

func errorsIn(msgs []*message.Message) (n int) {
	for _, m := range msgs {
		if m.Role == message.RoleTool && m.IsError {
			n++
		}
	}
	return n
}

// dropTurns drops the oldest turns, then the oldest units of the running turn. It adds a note that
// messages were omitted.
type dropTurns struct{}

func (dropTurns) Name() string { return DropTurns }

func (dropTurns) Reduce(_ context.Context, in *Input) ([]*message.Message, error) {
	us := in.units(in.Messages)
	recent := recentFrom(us, in.recentBudget())
	drop := make([]bool, len(us))
	total := Total(in.Messages)
	turns := turnsOf(us)
	for n, t := range turns {
		if total <= in.Target {
			break
		}
		for i := t.from; i < min(t.to, recent); i++ {
			if !us[i].keep && (n < len(turns)-1 || total > in.Target) {
				drop[i] = true
				total -= us[i].tokens
			}
		}
	}
	return dropUnits(in, us, drop), nil
}

const droppedNote = "[%d earlier messages in this conversation were omitted to save space.]"

// dropUnits rebuilds the messages without the dropped units. It inserts a note in place of the
// first dropped unit.
func dropUnits(in *Input, us []unit, drop []bool) []*message.Message {
	n, first := 0, -1
	for i, u := range us {
		if drop[i] {
			if n += u.to - u.from; first < 0 {
				first = i
			}
		}
	}
	if n == 0 {
		return in.Messages
	}
	out := make([]*message.Message, 0, len(in.Messages)-n+1)
	for i, u := range us {
		if i == first {
			out = append(out, in.hidden(fmt.Sprintf(droppedNote, n)))
		}
		if !drop[i] {
			out = append(out, in.Messages[u.from:u.to]...)
		}
	}
	return out
}

// importance drops the least important units: first old calls with their results, then other old
// messages. Failures and the user's messages are kept longer.
type importance struct{}

func (importance) Name() string { return Importance }

func (importance) Reduce(_ context.Context, in *Input) ([]*message.Message, error) {
	us := in.units(in.Messages)
	order := make([]int, 0, len(us))
	for i, u := range us {
		if i >= importanceHead && u.to <= len(in.Messages)-importanceTail && !u.keep {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(score(in.Messages, us[a]), score(in.Messages, us[b]))
	})
	drop := make([]bool, len(us))
	total := Total(in.Messages)
	for _, i := range order {
		if total <= in.Target {
			break
		}
		drop[i] = true
		total -= us[i].tokens
	}
	return dropUnits(in, us, drop), nil
}

// score rates the importance of a unit from 0 to 1. Among units with the same score, older ones are
// dropped first.
func score(msgs []*message.Message, u unit) float64 {
	s := 0.5
	switch m := msgs[u.from]; {
	case u.user:
		s = 0.6
	case m.Hidden:
		s = 0.7
	case u.to-u.from > 1:
		s = 0.3
		if errorsIn(msgs[u.from:u.to]) > 0 {
			s = 0.8
		}
	}
	return s + 0.1*float64(u.from)/float64(len(msgs)) // newer units score a little more
}

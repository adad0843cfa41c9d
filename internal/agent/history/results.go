package history

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// Thresholds of the reducers that shorten tool results.
const (
	keepReads    = 5    // number of distinct reads of one file to keep
	keepOutputs  = 10   // number of distinct outputs of one command to keep
	maskBytes    = 3000 // size above which a result that the model has used is masked
	maskKeep     = 5    // number of newest results that are never masked
	trimRunes    = 4000 // length above which a result is cut
	trimHead     = 1200
	trimTail     = 800
	trimKeep     = 4    // number of newest results that are never cut
	argBytes     = 2000 // size above which the arguments of an old call are cut
	markerTokens = 24   // size of a marker; smaller texts are not worth replacing
)

// edit tracks the progress of a reducer that replaces single messages, oldest first.
type edit struct {
	msgs   []*message.Message
	total  int
	target int
	copied bool
}

func newEdit(in *Input) *edit {
	return &edit{msgs: in.Messages, total: Total(in.Messages), target: in.Target}
}

func (e *edit) done() bool { return e.total <= e.target }

// replace replaces message i with a smaller one.
func (e *edit) replace(i int, m *message.Message) {
	saved := Tokens(e.msgs[i]) - Tokens(m)
	if saved <= 0 {
		return
	}
	if !e.copied {
		e.msgs, e.copied = slices.Clone(e.msgs), true
	}
	e.msgs[i] = m
	e.total -= saved
}

// resultsOf returns the indexes of tool results, oldest first.
func resultsOf(msgs []*message.Message) []int {
	var is []int
	for i, m := range msgs {
		if m.Role == message.RoleTool {
			is = append(is, i)
		}
	}
	return is
}

// dedupe replaces results that a later result repeats or supersedes, according to the tools' own
// metadata. A result is superseded if the same file has since been read, or the same command run,
// many times.
type dedupe struct{}

func (dedupe) Name() string { return Dedupe }

func (dedupe) Reduce(_ context.Context, in *Input) ([]*message.Message, error) {
	e := newEdit(in)
	same := map[resultMeta]bool{}
	versions := map[string]int{}
	var old []int
	for _, i := range slices.Backward(resultsOf(in.Messages)) {
		meta := metaOf(in.Messages[i])
		if meta.Key == "" || Tokens(in.Messages[i]) <= markerTokens {
			continue
		}
		id := resultMeta{Kind: meta.Kind, Key: meta.Key, SHA256: meta.SHA256}
		keep := keepReads
		if meta.Kind == "command" {
			keep = keepOutputs
		}
		if same[id] && meta.SHA256 != "" || versions[meta.Kind+meta.Key] >= keep {
			old = append(old, i)
			continue
		}
		same[id] = true
		versions[meta.Kind+meta.Key]++
	}
	for _, i := range slices.Backward(old) {
		if e.done() {
			break
		}
		meta := metaOf(in.Messages[i])
		what := "Earlier result"
		switch meta.Kind {
		case "file":
			what = "Earlier file read"
		case "command":
			what = "Earlier command output"
		}
		e.replace(i, withText(in.Messages[i],
			fmt.Sprintf("[%s: %s; a later result shows it]", what, meta.Key)))
	}
	return e.msgs, nil
}

// mask replaces old results that are large or contain more than text, if the model has already
// responded to them. The replacement is one line that identifies the result.
type mask struct{}

func (mask) Name() string { return Mask }

func (mask) Reduce(_ context.Context, in *Input) ([]*message.Message, error) {
	e := newEdit(in)
	last := lastAssistant(in.Messages)
	results := resultsOf(in.Messages)
	for _, i := range results[:max(0, len(results)-maskKeep)] {
		m := in.Messages[i]
		text := m.TextContent()
		if e.done() || i > last {
			break
		}
		if len(text) <= maskBytes && len(m.Content) < 2 {
			continue
		}
		where := ""
		if meta := metaOf(m); meta.Spill != "" {
			where = "; the full text is in " + meta.Spill
		}
		e.replace(i, withText(m, fmt.Sprintf("[PREVIOUS RESULT: %s, %d chars, %d lines%s]",
			m.Name, utf8.RuneCountInString(text), 1+strings.Count(text, "\n"), where)))
	}
	return e.msgs, nil
}

func lastAssistant(msgs []*message.Message) int {
	for i, m := range slices.Backward(msgs) {
		if m.Role == message.RoleAssistant {
			return i
		}
	}
	return -1
}

// truncate shortens large old results, and large arguments of old calls, to their beginning and
// end. The complete text of a result is written to a file if possible.
type truncate struct{}

func (truncate) Name() string { return Truncate }

func (truncate) Reduce(_ context.Context, in *Input) ([]*message.Message, error) {
	e := newEdit(in)
	results := resultsOf(in.Messages)
	for _, i := range results[:max(0, len(results)-trimKeep)] {
		if e.done() {
			return e.msgs, nil
		}
		if m := in.Messages[i]; utf8.RuneCountInString(m.TextContent()) > trimRunes {
			e.replace(i, cutResult(in, m, trimHead, trimTail))
		}
	}
	for i, m := range in.Messages[:max(0, lastAssistant(in.Messages))] {
		if e.done() {
			break
		}
		if c := cutArgs(m); c != nil {
			e.replace(i, c)
		}
	}
	return e.msgs, nil
}

func cutResult(in *Input, m *message.Message, head, tail int) *message.Message {
	text := m.TextContent()
	where := metaOf(m).Spill
	if where == "" && in.Spill != nil {
		if path, err := in.Spill(m.Name+"-"+m.CallID, text); err == nil {
			where = path
		}
	}
	return withText(m, headTail(text, head, tail, where))
}

// headTail shortens text to its beginning (head runes) and its end (tail runes), with a note about
// the omitted part between them.
func headTail(text string, head, tail int, where string) string {
	r := []rune(text)
	if len(r) <= head+tail {
		return text
	}
	if where != "" {
		where = "; the full text is in " + where
	}
	return fmt.Sprintf("%s\n[... %d chars omitted%s ...]\n%s", string(r[:head]), len(r)-head-tail,
		where, string(r[len(r)-tail:]))
}

package history

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// Reducers run in the order of their cost, regardless of the order in which they are listed. A
// reducer that is not listed does not run.
func TestCheapestFirst(t *testing.T) {
	ladder, err := Ladder(Emergency, Summary, Dedupe, Mask)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range ladder {
		names = append(names, r.Name())
	}
	if !slices.Equal(names, []string{Dedupe, Mask, Summary, Emergency}) {
		t.Error(names)
	}
	for name, list := range Strategies {
		if !slices.IsSortedFunc(list, func(a, b string) int {
			return slices.Index(byCost,
				a) - slices.Index(byCost, b)
		}) {
			t.Errorf("%s: %v", name, list)
		}
	}
}

// Dedupe recognizes repeated results by the metadata that tools attach to them, whatever the tools
// are called. It keeps the newest keepOutputs outputs of a command, the newest keepReads versions
// of a file, and only one copy of identical results.
func TestDedupeByMetadata(t *testing.T) {
	for _, tc := range []struct {
		name string
		meta func(i int) resultMeta
		left int
	}{
		{"outputs of a command", func(i int) resultMeta {
			return resultMeta{Kind: "command",
				Key: "make", SHA256: string(rune('a' + i))}
		}, keepOutputs},
		{"the same output", func(int) resultMeta {
			return resultMeta{Kind: "command", Key: "make",
				SHA256: "s"}
		}, 1},
		{"versions of a file", func(i int) resultMeta { return file("/f", string(rune('a'+i))) },
			keepReads},
		{"the same version", func(int) resultMeta { return file("/f", "s") }, 1},
		{"of other tools", func(int) resultMeta { return resultMeta{} }, 20},
	} {
		k := &maker{}
		msgs := []*message.Message{k.msg(message.RoleUser, "go")}
		for i := range 20 {
			msgs = append(msgs, k.round("", []resultMeta{tc.meta(i)}, 1600)...)
			msgs[len(msgs)-1].Name = "any_tool"
		}
		res := fit(t, Input{Messages: msgs, Target: 1, Limit: 1 << 20}, Dedupe, Dedupe)
		whole := 0
		for _, m := range res.Messages {
			if m.Role == message.RoleTool && !strings.HasPrefix(m.TextContent(), "[Earlier ") {
				whole++
			}
		}
		if whole != tc.left {
			t.Errorf("%s: %d results are left, want %d", tc.name, whole, tc.left)
		}
	}
}

// A truncated result names the file that contains the whole text. If such a file already exists,
// the text is not written again.
func TestTruncateNamesTheFile(t *testing.T) {
	k := &maker{}
	msgs := []*message.Message{k.msg(message.RoleUser, "go")}
	msgs = append(msgs, k.round("", []resultMeta{{Spill: "/there"}, {}}, 8000)...)
	for range trimKeep {
		msgs = append(msgs, k.round("", []resultMeta{{}}, 8000)...)
	}
	var kept []string
	in := Input{Messages: msgs, Target: 1, Limit: 1 << 20,
		Spill: func(name, text string) (string, error) {
			kept = append(kept, text)
			return "/here/" + name, nil
		}}
	res := fit(t, in, Truncate, Truncate)
	first, second := res.Messages[2].TextContent(), res.Messages[3].TextContent()
	if !strings.Contains(first, "/there") ||
		!strings.Contains(second, "/here/read-"+res.Messages[3].CallID) {
		t.Errorf("%.2500s\n%.2500s", first, second)
	}
	if len(kept) != 1 || kept[0] != msgs[3].TextContent() {
		t.Errorf("%d files were written", len(kept))
	}
	for _, part := range []string{kept[0][:trimHead], kept[0][len(kept[0])-trimTail:]} {
		if !strings.Contains(second, part) {
			t.Errorf("head or tail is missing: %.2500s", second)
		}
	}
}

// Only a turn that ended with an answer is reduced to a one-line summary. A turn that was aborted,
// has failed or is still running stays complete.
func TestOnlyCleanTurnsBecomeALine(t *testing.T) {
	for stop, clean := range map[message.StopReason]bool{
		message.StopEnd: true, message.StopAborted: false, message.StopError: false,
		message.StopToolUse: false,
	} {
		k := &maker{}
		msgs := talk(k, 1, 4800)
		last := msgs[len(msgs)-1]
		if last.Stop = stop; stop == message.StopToolUse { // the turn ends with a tool result
			msgs = msgs[:len(msgs)-1]
		}
		msgs = append(msgs, talk(k, 3, 4800)...)
		res := fit(t, Input{Messages: msgs, Target: 1, Limit: 1 << 20, Recent: 3000}, TurnSummaries,
			TurnSummaries)
		if kept := slices.Contains(res.Messages, msgs[0]); kept == clean {
			t.Errorf("%s: the turn's first message remains: %v", stop, kept)
		}
	}
}

// The prompt for a summary specifies its contents and level of detail, and includes the user's
// instructions.
func TestSummaryForm(t *testing.T) {
	var asked SummaryRequest
	in := Input{Messages: talk(&maker{}, 20, 4800), Target: 5000, Instructions: "keep the numbers",
		Summarize: func(_ context.Context, r SummaryRequest) (string, error) {
			asked = r
			return "gist", nil
		}}
	fit(t, in, Summary, Summary)
	for _, want := range []string{
		"## Goal", "## Constraints & Preferences", "## Progress", "### Done", "### In Progress",
		"### Blocked", "## Key Decisions", "## Next Steps", "## Critical Context",
		"oldest third", "middle third", "newest third", "keep the numbers", "[User] question 0",
		"[Assistant tool calls] read(",
	} {
		if !strings.Contains(asked.Prompt, want) {
			t.Errorf("the prompt lacks %q", want)
		}
	}
	if asked.MaxTokens <= 0 || asked.MaxTokens > summaryMaxTokens {
		t.Errorf("at most %d tokens", asked.MaxTokens)
	}
}

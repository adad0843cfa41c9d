package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/agent/toolcall"
)

// Limits of the recall tool.
const (
	recallLimit   = 8    // default number of passages
	recallMax     = 30   // maximum number of passages
	recallContext = 700  // maximum size of a passage in bytes
	recallWhole   = 8000 // maximum size in bytes of a message that is requested by its number
)

// recallName is the name of the tool with which a model looks up text that a reduction has removed
// from its view. A reduction does not load a deferred recall tool, because that would change the
// tools that the provider has cached.
const recallName = "recall"

// recallNote is inserted where something was omitted. It informs the model that the tool recall can
// find the omitted part. If recall is deferred, recallLoad is appended.
const (
	recallNote = "[The omitted part is still in this session's history. Use the recall tool to find it.]"
	recallLoad = " [Load recall first.]"
)

type recallArgs struct {
	Query  string `json:"query"`
	Number int    `json:"number"`
	Limit  int    `json:"limit"`
}

const recallSchema = `{"type":"object","properties":{` +
	`"query":{"type":"string","description":"words that the passage contains, in any order and case"},` +
	`"number":{"type":"integer","description":"show the complete message with this number"},` +
	`"limit":{"type":"integer","description":"how many passages, 8 by default"}},` +
	`"additionalProperties":false}`

// RecallTool returns the tool recall. It searches the stored history of the calling session for
// details that a summary has lost. Compaction does not change the stored history.
func RecallTool() tool.Tool { return recallTool{} }

type recallTool struct{}

func (recallTool) Spec() tool.Spec {
	return tool.Spec{
		Name: recallName, Label: "Recall", Effect: tool.ReadOnly, Source: "builtin",
		Schema: json.RawMessage(recallSchema),
		Description: "Search this conversation's history, including messages and tool results that were summarized or omitted. " +
			"Use query to find passages, newest first, each with its message number. Use number to read a complete message.",
	}
}

func (recallTool) Prepare(_ context.Context, call *tool.Call) (*tool.Prepared, error) {
	var a recallArgs
	if err := call.Decode(&a); err != nil {
		return nil, err
	}
	return &tool.Prepared{Run: func(_ context.Context, call *tool.Call) (*tool.Result, error) {
		return a.recall(call)
	}}, nil
}

// recall runs a call of the tool.
func (a recallArgs) recall(call *tool.Call) (*tool.Result, error) {
	if call.History == nil {
		return nil, fmt.Errorf("this session has no history")
	}
	msgs := call.History()
	switch {
	case a.Number > 0 && a.Number <= len(msgs):
		return &tool.Result{Text: toolcall.HeadTail(recallText(msgs[a.Number-1]), recallWhole,
			"")}, nil
	case a.Number != 0:
		return nil, fmt.Errorf("there is no message %d; the history has %d", a.Number, len(msgs))
	case strings.TrimSpace(a.Query) == "":
		return nil, fmt.Errorf("give a query or a number")
	}
	if a.Limit <= 0 {
		a.Limit = recallLimit
	}
	found := FindInHistory(msgs, a.Query, min(a.Limit, recallMax))
	return &tool.Result{Text: cmp.Or(found,
		"No message of this conversation contains all of these words.")}, nil
}

// FindInHistory returns at most limit passages from a session's messages that contain all words of
// the query, newest first, each with the message's number. It returns "" if there is none.
func FindInHistory(msgs []*message.Message, query string, limit int) string {
	words := strings.Fields(strings.ToLower(query))
	var b strings.Builder
	found := 0
	for i := len(msgs) - 1; i >= 0 && found < limit; i-- {
		if asksRecall(msgs[i]) {
			continue
		}
		text := recallText(msgs[i])
		if at := matchAll(text, words); at >= 0 {
			found++
			fmt.Fprintf(&b, "[%d] %s: %s\n\n", i+1, msgs[i].Role, passage(text, at))
		}
	}
	return strings.TrimSpace(b.String())
}

// asksRecall reports whether a message is a call of the tool recall or the result of one.
func asksRecall(m *message.Message) bool {
	if m.Role == message.RoleTool {
		return m.Name == recallName
	}
	return slices.ContainsFunc(m.ToolCalls(),
		func(c *message.ToolCall) bool { return c.Name == recallName })
}

// matchAll returns the offset in text around which a passage should be shown. This is where the
// words occur together as in the query, or otherwise where the rarest word occurs. It returns -1 if
// a word is missing.
func matchAll(text string, words []string) int {
	lower := strings.ToLower(text)
	at, rarest := -1, 0
	for _, w := range words {
		n := strings.Count(lower, w)
		if n == 0 {
			return -1
		}
		if at < 0 || n < rarest {
			at, rarest = strings.Index(lower, w), n
		}
	}
	if phrase := strings.Index(lower, strings.Join(words, " ")); phrase >= 0 {
		at = phrase
	}
	return min(at, len(text)) // the lower-case text may be longer than the original
}

// passage returns the part of text around an offset.
func passage(text string, at int) string {
	from := max(0, at-recallContext/3)
	to := min(len(text), from+recallContext)
	s := strings.ToValidUTF8(text[from:to], "")
	if from > 0 {
		s = "…" + s
	}
	if to < len(text) {
		s += "…"
	}
	return s
}

func recallText(m *message.Message) string {
	text := m.TextContent()
	for _, c := range m.ToolCalls() {
		text += fmt.Sprintf("\n%s(%s)", c.Name, c.Args)
	}
	return strings.TrimSpace(text)
}

package script

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// This file implements Anthropic's Messages API (POST /v1/messages) as its documentation describes
// it. A strict script refuses requests that the service refuses (see messagesRequest.check).

// messagesRequest is a request of the Messages API.
type messagesRequest struct {
	Model     string        `json:"model"`
	MaxTokens int           `json:"max_tokens"`
	Stream    bool          `json:"stream"`
	System    []wireBlock   `json:"system"`
	Messages  []wireTurn    `json:"messages"`
	Tools     []messageTool `json:"tools"`
	Choice    struct {
		Type string `json:"type"`
	} `json:"tool_choice"`
	Thinking struct {
		Type   string `json:"type"`
		Budget int    `json:"budget_tokens"`
	} `json:"thinking"`
	Temperature *float64 `json:"temperature"`
	TopK        *float64 `json:"top_k"`

	paused bool // whether the previous reply was paused, so the request may end with it
}

type wireTurn struct {
	Role    string      `json:"role"`
	Content []wireBlock `json:"content"`
}

// wireBlock is a content block with its original JSON.
type wireBlock struct {
	raw       json.RawMessage
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	CallID    string          `json:"tool_use_id"`
	ToolName  string          `json:"tool_name"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	Data      string          `json:"data"`
	Cache     json.RawMessage `json:"cache_control"`
	Source    struct {
		Type  string `json:"type"`
		Media string `json:"media_type"`
	} `json:"source"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *wireBlock) UnmarshalJSON(raw []byte) error {
	type plain wireBlock
	if err := json.Unmarshal(raw, (*plain)(b)); err != nil {
		return err
	}
	b.raw = append(json.RawMessage(nil), raw...)
	return nil
}

type messageTool struct {
	raw    json.RawMessage
	Name   string          `json:"name"`
	Schema json.RawMessage `json:"input_schema"`
	Cache  json.RawMessage `json:"cache_control"`
	Defer  bool            `json:"defer_loading"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (t *messageTool) UnmarshalJSON(raw []byte) error {
	type plain messageTool
	if err := json.Unmarshal(raw, (*plain)(t)); err != nil {
		return err
	}
	t.raw = append(json.RawMessage(nil), raw...)
	return nil
}

// finishPaused is the finish reason after which the next request must end with the reply itself.
const finishPaused = "pause_turn"

// messages answers a request of the Messages API.
func (v *Server) messages(w http.ResponseWriter, r *http.Request) {
	var req messagesRequest
	got, ok := v.read(w, r, &req)
	if !ok {
		return
	}
	v.mu.Lock()
	req.paused = v.paused
	v.mu.Unlock()
	look := req.view(got)
	if r.Header.Get("Anthropic-Version") == "" {
		look.wrong = invalid("anthropic-version: header is required")
	}
	st := v.play(w, look)
	if st == nil {
		return
	}
	v.mu.Lock()
	v.paused = st.Finish == finishPaused
	bill := v.prefixes.bill(&req)
	v.mu.Unlock()
	respond(&messagePlayer{player: newPlayer(w, r, st), bill: bill}, req.Stream)
}

// view returns the view of a request. The results at the beginning of a user message are separate
// messages in the view.
func (r *messagesRequest) view(got received) *view {
	v := &view{received: got, endsWithAnswer: r.paused, wrong: r.check()}
	for _, t := range r.Tools {
		v.tools += t.Name + " "
	}
	for _, b := range r.System {
		v.texts = append(v.texts, b.Text)
	}
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			v.add(answered(m))
			continue
		}
		var rest []wireBlock
		for _, b := range m.Content {
			if b.Type == "tool_result" {
				v.add(seen{role: "tool", callID: b.CallID}, contentText(b.Content))
			} else {
				rest = append(rest, b)
			}
		}
		if len(rest) > 0 {
			v.add(seen{role: m.Role}, blocksText(rest))
			v.lastUser = rest[len(rest)-1].Text // consecutive user messages arrive as one message
		}
	}
	return v
}

func answered(m wireTurn) (seen, string) {
	s := seen{role: "assistant"}
	for _, b := range m.Content {
		if b.Type == "tool_use" {
			s.calls = append(s.calls, seenCall{b.ID, b.Name, string(b.Input)})
		}
	}
	return s, blocksText(m.Content)
}

func blocksText(blocks []wireBlock) (s string) {
	for _, b := range blocks {
		if s += b.Text + b.Thinking; b.Type != "text" && b.Type != "thinking" {
			s += "[" + b.Type + "]"
		}
	}
	return s
}

// signature returns the signature of the scripted model's thinking.
func signature(thinking string) string {
	sum := sha256.Sum256([]byte("signed by the script: " + thinking))
	return "sig_" + hex.EncodeToString(sum[:])
}

// maxMarks is the maximum number of cache marks in a request.
const maxMarks = 4

// check refuses requests that the service refuses, in addition to those that every strict provider
// refuses.
func (r *messagesRequest) check() error {
	switch {
	case r.MaxTokens < 1:
		return invalid("max_tokens: Field required")
	case r.Thinking.Type == "enabled" &&
		(r.Thinking.Budget < 1024 || r.Thinking.Budget >= r.MaxTokens):
		return invalid(
			"thinking.budget_tokens: %d is not at least 1024 and less than max_tokens, %d",
			r.Thinking.Budget,
			r.MaxTokens,
		)
	case r.Thinking.Type == "adaptive" && r.Thinking.Budget != 0:
		return invalid("thinking.adaptive.budget_tokens: Extra inputs are not permitted")
	case r.thinks() && (r.Temperature != nil && *r.Temperature != 1 || r.TopK != nil):
		return invalid(
			"`temperature` may only be set to 1, and `top_k` must be unset, when thinking is enabled",
		)
	case r.thinks() && r.Choice.Type != "" && r.Choice.Type != "auto" && r.Choice.Type != "none":
		return invalid("Thinking may not be enabled when tool_choice forces tool use.")
	case r.Choice.Type != "" && len(r.Tools) == 0:
		return invalid("tool_choice may only be specified while providing tools")
	}
	marks, err := r.checkTools()
	if err != nil {
		return err
	}
	for _, b := range r.System {
		if marks += set(b.Cache); strings.TrimSpace(b.Text) == "" {
			return invalid("system: text content blocks must contain non-whitespace text")
		}
	}
	for i, m := range r.Messages {
		if err := r.checkTurn(i, m); err != nil {
			return err
		}
		for _, b := range m.Content {
			marks += set(b.Cache)
		}
	}
	if marks > maxMarks {
		return invalid(
			"A maximum of %d blocks with cache_control may be provided. Found %d.",
			maxMarks,
			marks,
		)
	}
	return r.checkThinkingTurn()
}

// checkTools refuses tools that the service refuses, and counts their cache marks.
func (r *messagesRequest) checkTools() (marks int, err error) {
	deferred := map[string]bool{}
	for _, t := range r.Tools {
		if marks += set(t.Cache); !isObject(string(t.Schema)) || !toolName().MatchString(t.Name) {
			return 0, invalid("tools: the name or the schema of %q is not allowed", t.Name)
		}
		if deferred[t.Name] = t.Defer; t.Defer && len(t.Cache) > 0 {
			return 0, invalid(
				"tools: %q cannot have both defer_loading=true and cache_control set",
				t.Name,
			)
		}
	}
	if len(r.Tools) > 0 &&
		!slices.ContainsFunc(r.Tools, func(t messageTool) bool { return !t.Defer }) {
		return 0, invalid("At least one tool must have defer_loading=false.")
	}
	return marks, r.checkReferences(deferred)
}

// checkReferences refuses a result that names a tool which the request does not defer. It also
// refuses a result that mixes references with other content.
func (r *messagesRequest) checkReferences(deferred map[string]bool) error {
	for i, m := range r.Messages {
		for _, b := range m.Content {
			var inner []wireBlock
			_ = json.Unmarshal(b.Content, &inner)
			for _, c := range inner {
				if c.Type == "tool_reference" && !deferred[c.ToolName] {
					return invalid(
						"messages.%d: Tool reference '%s' not found in available tools",
						i,
						c.ToolName,
					)
				}
				if (c.Type == "tool_reference") != (inner[0].Type == "tool_reference") {
					return invalid(
						"messages.%d: tool_reference blocks cannot be mixed with other content",
						i,
					)
				}
			}
		}
	}
	return nil
}

func (r *messagesRequest) thinks() bool {
	return r.Thinking.Type == "enabled" || r.Thinking.Type == "adaptive"
}

// set returns 1 if the member exists, otherwise 0.
func set(raw json.RawMessage) int {
	if len(raw) > 0 {
		return 1
	}
	return 0
}

func (r *messagesRequest) checkTurn(i int, m wireTurn) error {
	want := "user"
	if i%2 == 1 {
		want = "assistant"
	}
	switch {
	case m.Role != want:
		return invalid(
			"messages.%d: roles must alternate between \"user\" and \"assistant\", but found %q",
			i,
			m.Role,
		)
	case len(m.Content) == 0:
		return invalid("messages.%d: all messages must have non-empty content", i)
	}
	results := true
	for n, b := range m.Content {
		if err := b.check(fmt.Sprintf("messages.%d.content.%d", i, n), m.Role); err != nil {
			return err
		}
		if b.Type == "tool_result" && !results {
			return invalid("messages.%d: tool_result blocks must come first in the content", i)
		}
		results = results && b.Type == "tool_result"
	}
	if last := m.Content[len(m.Content)-1]; m.Role == "assistant" &&
		(last.Type == "thinking" || last.Type == "redacted_thinking") {
		return invalid(
			"messages.%d: The final block in an assistant message cannot be `%s`.",
			i,
			last.Type,
		)
	}
	return nil
}

var callID = lazyregexp.New(`^[a-zA-Z0-9_-]{1,64}$`)

func (b *wireBlock) check(at, role string) error {
	switch b.Type {
	case "text":
		if strings.TrimSpace(b.Text) == "" {
			return invalid("%s: text content blocks must contain non-whitespace text", at)
		}
	case "thinking":
		if b.Signature != signature(b.Thinking) || role != "assistant" {
			return invalid("%s: Invalid `signature` in `thinking` block", at)
		}
	case "redacted_thinking":
		if !strings.HasPrefix(b.Data, "redacted by the script") || role != "assistant" {
			return invalid("%s: Invalid `data` in `redacted_thinking` block", at)
		}
	case "tool_use":
		if role != "assistant" || !callID().MatchString(b.ID) {
			return invalid("%s.tool_use.id: String should match pattern %s", at, callID())
		}
	case "tool_result":
		return b.checkResult(at, role)
	case "image", "document":
		return b.checkSource(at, role)
	case "tool_reference":
	default:
		return invalid(
			"%s: Input tag %q found using 'type' does not match any of the expected tags",
			at,
			b.Type,
		)
	}
	if len(b.Cache) > 0 && (b.Type == "thinking" || b.Type == "redacted_thinking") {
		return invalid("%s.%s.cache_control: Extra inputs are not permitted", at, b.Type)
	}
	return nil
}

func (b *wireBlock) checkResult(at, role string) error {
	var inner []wireBlock
	if len(b.Content) > 0 && json.Unmarshal(b.Content, &inner) != nil {
		return invalid("%s.content: Input should be a valid list", at)
	}
	if role != "user" {
		return invalid("%s: `tool_result` blocks can only be in `user` messages", at)
	}
	for i := range inner {
		if b.IsError && inner[i].Type != "text" {
			return invalid("%s: all content must be type `text` if `is_error` is true", at)
		}
		if err := inner[i].check(fmt.Sprintf("%s.content.%d", at, i), role); err != nil {
			return err
		}
	}
	return nil
}

func (b *wireBlock) checkSource(at, role string) error {
	media := map[string]bool{
		"image/jpeg": true,
		"image/png":  true,
		"image/gif":  true,
		"image/webp": true,
	}
	if b.Type == "document" {
		media = map[string]bool{"application/pdf": true}
	}
	switch {
	case role != "user":
		return invalid("%s: %s blocks can only be in user messages", at, b.Type)
	case b.Source.Type == "base64" && !media[b.Source.Media]:
		return invalid("%s.source.base64.media_type: %q is not allowed", at, b.Source.Media)
	case b.Source.Type != "base64" && b.Source.Type != "url":
		return invalid("%s.source: unknown type %q", at, b.Source.Type)
	}
	return nil
}

// checkThinkingTurn refuses a turn that contains calls and did not begin with thinking, if thinking
// has a budget.
func (r *messagesRequest) checkThinkingTurn() error {
	if r.Thinking.Type != "enabled" {
		return nil
	}
	begin := 0
	for i, m := range r.Messages {
		if m.Role == "user" && m.Content[0].Type != "tool_result" {
			begin = i
		}
	}
	if begin+1 >= len(r.Messages) {
		return nil
	}
	if first := r.Messages[begin+1].Content[0]; first.Type != "thinking" &&
		first.Type != "redacted_thinking" {
		return invalid(
			"messages.%d.content.0.type: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block",
			begin+1,
			first.Type,
		)
	}
	return nil
}

package anthropic

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
)

// finishPaused is the finish reason of a reply that the next request must contain unchanged.
const finishPaused = "pause_turn"

// event is an event of a stream.
type event struct {
	Type    string         `json:"type"`
	Index   int            `json:"index"`
	Error   jsontext.Value `json:"error"`
	Message *reply         `json:"message"`
	Block   jsontext.Value `json:"content_block"`
	Delta   delta          `json:"delta"`
	Usage   jsontext.Value `json:"usage"`
}

// delta is the change that an event makes to a block, or the end of a message.
type delta struct {
	Type      string         `json:"type"`
	Text      jsontext.Value `json:"text"`
	Thinking  jsontext.Value `json:"thinking"`
	Signature string         `json:"signature"`
	JSON      jsontext.Value `json:"partial_json"`
	Stop      string         `json:"stop_reason"`
	Details   *refusal       `json:"stop_details"`
}

// reply is a message of the API. In the first event of a stream, it has no content. In a response
// that is not streamed, it is complete.
type reply struct {
	Error   jsontext.Value   `json:"error"`
	Content []jsontext.Value `json:"content"`
	Stop    string           `json:"stop_reason"`
	Details *refusal         `json:"stop_details"`
	Usage   jsontext.Value   `json:"usage"`
}

// refusal is the reason why the model refused.
type refusal struct {
	Category    string `json:"category"`
	Explanation string `json:"explanation"`
}

// wireBlock is the beginning of a block in a stream.
type wireBlock struct {
	Type      string         `json:"type"`
	Text      jsontext.Value `json:"text"`
	Thinking  jsontext.Value `json:"thinking"`
	Signature string         `json:"signature"`
	Data      string         `json:"data"`
	ID        string         `json:"id"`
	Name      string         `json:"name"`
	Input     jsontext.Value `json:"input"`
}

// block is a block that grows while its deltas arrive.
type block struct {
	index     int
	kind      string
	text      modelhttp.Joiner // text, thinking or input
	id, name  string
	signature strings.Builder
	data      string
	raw       json.RawMessage // JSON of a block whose kind is unknown
}

// decoder collects a reply.
type decoder struct {
	c       *call
	blocks  []*block
	calls   int
	usage   usage
	stop    string
	refusal *refusal
}

func newDecoder(c *call) *decoder { return &decoder{c: c} }

// Event processes one event. Unknown kinds of events are skipped, as the API requires.
func (d *decoder) Event(raw modelhttp.Event) error {
	var e event
	if err := d.c.Decode(raw, &e, &e.Error); err != nil {
		return err
	}
	switch e.Type {
	case "message_start":
		if e.Message != nil {
			d.usage.take(e.Message.Usage)
		}
	case "content_block_start":
		return d.begin(e.Index, e.Block)
	case "content_block_delta":
		d.grow(e.Index, &e.Delta)
	case "message_delta":
		d.usage.take(e.Usage)
		d.stop, d.refusal = cmp.Or(e.Delta.Stop, d.stop), cmp.Or(e.Delta.Details, d.refusal)
	case "message_stop":
		d.c.Over = true
	case "error":
		return d.c.Failure(raw.Data)
	}
	return nil
}

// begin processes the beginning of a block. If the reply is not streamed, this is the whole block.
func (d *decoder) begin(index int, raw jsontext.Value) error {
	var w wireBlock
	if jsonv2.Unmarshal(raw, &w, modelhttp.Lenient) != nil || w.Type == "" {
		return d.c.Unreadable(raw)
	}
	d.c.Meter.Add(modelhttp.BlockSize + len(w.ID) + len(w.Name) + len(w.Signature) + len(w.Data))
	b := &block{index: index, kind: w.Type, id: w.ID, name: w.Name, data: w.Data}
	_, _ = b.signature.WriteString(w.Signature)
	d.blocks = append(d.blocks, b)
	switch w.Type {
	case "text":
		d.tell(b, b.text.Add(w.Text))
	case "thinking":
		d.tell(b, b.text.Add(w.Thinking))
	case "redacted_thinking":
	case "tool_use":
		d.c.Meter.AddCall()
		d.calls++
		input := ""
		if len(w.Input) > len("{}") {
			input = b.text.AddText(string(w.Input))
		}
		d.tell(b, input)
	default:
		d.c.Meter.Add(len(raw))
		b.raw = bytes.Clone(raw)
	}
	return nil
}

// grow applies a delta to a block. Citations are dropped, because the text is complete without
// them.
func (d *decoder) grow(index int, w *delta) {
	i := slices.IndexFunc(d.blocks, func(b *block) bool { return b.index == index })
	if i < 0 {
		return
	}
	b := d.blocks[i]
	switch w.Type {
	case "text_delta":
		d.tell(b, b.text.Add(w.Text))
	case "thinking_delta":
		d.tell(b, b.text.Add(w.Thinking))
	case "input_json_delta":
		d.tell(b, b.text.Add(w.JSON))
	case "signature_delta":
		d.c.Meter.Add(len(w.Signature))
		_, _ = b.signature.WriteString(w.Signature)
	}
}

// tell reports the text that was added to a block.
func (d *decoder) tell(b *block, s string) {
	switch {
	case b.kind == "tool_use":
		d.c.On(
			agent.Delta{
				Kind:   agent.DeltaToolInput,
				Text:   s,
				Index:  b.index,
				CallID: b.id,
				Name:   b.name,
			},
		)
	case s == "":
	case b.kind == "text":
		d.c.On(agent.Delta{Kind: agent.DeltaText, Text: s})
	case b.kind == "thinking":
		d.c.On(agent.Delta{Kind: agent.DeltaReasoning, Text: s})
	default:
		d.c.Meter.Add(len(s))
	}
}

// whole decodes a reply that is not streamed.
func (d *decoder) whole(raw []byte) (*agent.Reply, error) {
	var r reply
	switch {
	case jsonv2.Unmarshal(raw, &r, modelhttp.Lenient) != nil:
		return nil, d.c.Unreadable(raw)
	case modelhttp.Present(r.Error):
		return nil, d.c.Failure(r.Error)
	case r.Stop == "" && r.Content == nil:
		return nil, d.c.Unreadable(raw)
	}
	d.c.Over = true
	for i, b := range r.Content {
		if err := d.begin(i, b); err != nil {
			return nil, err
		}
	}
	d.usage.take(r.Usage)
	d.stop, d.refusal = r.Stop, r.Details
	if err := d.c.Meter.Err(); err != nil {
		return nil, err
	}
	return d.Reply()
}

// Reply returns the reply collected so far. A refusal is an error, so that the text before the
// refusal is withdrawn and not sent again.
func (d *decoder) Reply() (*agent.Reply, error) {
	switch {
	case d.stop == "" && !d.c.Over:
		return nil, d.c.ErrCut()
	case d.stop == "refusal":
		return nil, d.refused()
	}
	msg := &message.Message{Usage: d.usage.message(), Stop: stopOf(d.stop, d.calls > 0)}
	for _, b := range d.blocks {
		if rest := b.text.End(); rest != "" {
			d.tell(b, rest)
		}
		msg.Content = append(msg.Content, b.block())
	}
	return d.c.Reply(msg, d.stop), nil
}

func (d *decoder) refused() error {
	r := d.refusal
	if r == nil {
		r = &refusal{}
	}
	return modelhttp.ErrRefused(d.c.Model, r.Category, r.Explanation)
}

// block converts b to a content block for the history.
func (b *block) block() message.Block {
	text := string(b.text.Text)
	switch b.kind {
	case "text":
		return message.Block{Type: message.Text, Text: text}
	case "thinking":
		return keepThought(thought{Type: b.kind, Thinking: &text, Signature: b.signature.String()})
	case "redacted_thinking":
		return keepThought(thought{Type: b.kind, Data: b.data})
	case "tool_use":
		return message.Block{Type: message.ToolUse, Call: modelhttp.ToolCall(b.id, b.name, text)}
	}
	return keepRaw(b.withInput(text))
}

// withInput returns a block of an unknown kind with the input that arrived in deltas.
func (b *block) withInput(input string) json.RawMessage {
	if input == "" || !json.Valid([]byte(input)) {
		return b.raw
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(b.raw, &members) != nil {
		return b.raw
	}
	members["input"] = json.RawMessage(input)
	raw, err := json.Marshal(members)
	if err != nil {
		return b.raw
	}
	return raw
}

// stopOf converts the API's stop reason. calls is true if the reply contains tool calls.
func stopOf(stop string, calls bool) message.StopReason {
	switch stop {
	case "end_turn", "stop_sequence", "tool_use":
		if calls {
			return message.StopToolUse
		}
		return message.StopEnd
	case finishPaused:
		return message.StopEnd
	case "max_tokens", "model_context_window_exceeded":
		return message.StopLength
	}
	return message.StopUnknown
}

// usage counts tokens as the API does. The input excludes tokens that were read from the cache or
// written to it. The counts of a later event include those of earlier events.
type usage struct {
	Input      int `json:"input_tokens"`
	Output     int `json:"output_tokens"`
	CacheRead  int `json:"cache_read_input_tokens"`
	CacheWrite int `json:"cache_creation_input_tokens"`
	Details    struct {
		Thinking int `json:"thinking_tokens"`
	} `json:"output_tokens_details"`
}

// take updates the counts from an event. A missing or zero count keeps the earlier value.
func (u *usage) take(v jsontext.Value) {
	var w usage
	if !modelhttp.Present(v) || jsonv2.Unmarshal(v, &w, modelhttp.Lenient) != nil {
		return
	}
	for _, f := range []struct{ to, from *int }{
		{&u.Input, &w.Input}, {&u.Output, &w.Output}, {&u.CacheRead, &w.CacheRead},
		{&u.CacheWrite, &w.CacheWrite},
		{&u.Details.Thinking, &w.Details.Thinking},
	} {
		if *f.from > 0 {
			*f.to = *f.from
		}
	}
}

// message converts the usage to the common form. It returns nil if no tokens were counted.
func (u *usage) message() *message.Usage {
	if *u == (usage{}) {
		return nil
	}
	in := u.Input + u.CacheRead + u.CacheWrite
	return &message.Usage{
		Input: in, Output: u.Output, Cached: u.CacheRead, CacheWrite: u.CacheWrite,
		Reasoning: u.Details.Thinking, Total: in + u.Output,
	}
}

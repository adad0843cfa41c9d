package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
)

// chatChunk is an event of a chat stream, or a whole chat response. Fields whose type varies by
// provider stay raw JSON.
type chatChunk struct {
	Error   jsontext.Value `json:"error"`
	Choices []chatChoice   `json:"choices"`
	Usage   jsontext.Value `json:"usage"`
	XGroq   jsontext.Value `json:"x_groq"`
}

type chatChoice struct {
	Index        jsontext.Value `json:"index"`
	Delta        *chatDelta     `json:"delta"`
	Message      *chatDelta     `json:"message"`
	FinishReason jsontext.Value `json:"finish_reason"`
	Usage        jsontext.Value `json:"usage"`
	Error        jsontext.Value `json:"error"`
}

type chatDelta struct {
	Content          jsontext.Value `json:"content"`
	ReasoningContent jsontext.Value `json:"reasoning_content"`
	Reasoning        jsontext.Value `json:"reasoning"`
	ReasoningDetails jsontext.Value `json:"reasoning_details"`
	Refusal          jsontext.Value `json:"refusal"`
	ToolCalls        []chatCall     `json:"tool_calls"`
	FunctionCall     *chatFunction  `json:"function_call"`
}

type chatCall struct {
	Index    jsontext.Value `json:"index"`
	ID       jsontext.Value `json:"id"`
	Function chatFunction   `json:"function"`
	Extra    jsontext.Value `json:"extra_content"` // Gemini's thought signature
}

type chatFunction struct {
	Name      jsontext.Value `json:"name"`
	Arguments jsontext.Value `json:"arguments"`
}

// chatDecoder collects a reply from a chat stream.
type chatDecoder struct {
	c       *call
	some    bool // whether a choice has arrived
	finish  string
	usage   *message.Usage
	blocks  modelhttp.Blocks
	calls   []*gathered
	byIndex map[int]*gathered
	details []json.RawMessage // reasoning_details, which are sent back
	think   thinkTags
	chunk   chatChunk // the current event, kept so that the next one needs no allocation
}

// gathered is a tool call that grows while its fragments arrive.
type gathered struct {
	index int
	id    string
	name  string
	args  modelhttp.Joiner
	extra json.RawMessage
}

func newChatDecoder(c *call) *chatDecoder {
	return &chatDecoder{c: c, byIndex: map[int]*gathered{},
		blocks: modelhttp.NewBlocks(c.On, &c.Meter)}
}

// Event processes one event.
func (d *chatDecoder) Event(raw modelhttp.Event) error {
	k := &d.chunk
	*k = chatChunk{Choices: k.Choices[:0]}
	if err := d.c.Decode(raw, k, &k.Error); err != nil {
		return err
	}
	d.takeUsage(k.Usage)
	if modelhttp.Present(k.XGroq) {
		var g struct{ Usage jsontext.Value }
		_ = jsonv2.Unmarshal(k.XGroq, &g, modelhttp.Lenient, jsonv2.MatchCaseInsensitiveNames(true))
		d.takeUsage(g.Usage)
	}
	for i := range k.Choices {
		if err := d.choice(&k.Choices[i]); err != nil {
			return err
		}
	}
	return nil
}

// choice processes one choice. Only the first of several choices is used.
func (d *chatDecoder) choice(ch *chatChoice) error {
	if n, ok := modelhttp.Integer(ch.Index); ok && n != 0 {
		return nil
	}
	if modelhttp.Present(ch.Error) {
		return d.c.Failure(ch.Error)
	}
	d.some = true
	d.takeUsage(ch.Usage)
	switch {
	case ch.Delta != nil:
		d.delta(ch.Delta)
	case ch.Message != nil && d.blocks.Empty() && len(d.calls) == 0:
		// This is the message of a response without a stream. Some providers also repeat the whole
		// message in the last event of a stream, where it is ignored.
		calls := ch.Message.ToolCalls
		ch.Message.ToolCalls = nil
		d.delta(ch.Message)
		for i := range calls { // each of these calls is complete
			d.grow(d.begin(&calls[i], d.nextIndex()), &calls[i])
		}
	}
	if f := modelhttp.Word(ch.FinishReason); f != "" {
		d.finish = f
	}
	if d.finish == "error" { // OpenRouter sends this if its upstream provider fails
		return &retry.Error{Kind: retry.Transient,
			Message: "the provider ended the answer with an error",
			Hint:    retry.Hint(retry.Transient)}
	}
	return nil
}

func (d *chatDecoder) delta(m *chatDelta) {
	if modelhttp.Present(m.ReasoningContent) {
		d.blocks.Add(message.Reasoning, m.ReasoningContent)
	} else if modelhttp.Present(m.Reasoning) {
		d.blocks.Add(message.Reasoning, m.Reasoning)
	}
	if modelhttp.Present(m.ReasoningDetails) {
		var list []json.RawMessage
		if json.Unmarshal(m.ReasoningDetails, &list) == nil {
			d.c.Meter.Add(len(m.ReasoningDetails))
			d.details = mergeDetails(d.details, list)
		}
	}
	if modelhttp.Present(m.Content) {
		d.content(m.Content)
	}
	if modelhttp.Present(m.Refusal) {
		d.blocks.Add(message.Refusal, m.Refusal)
	}
	for i := range m.ToolCalls {
		d.call(&m.ToolCalls[i])
	}
	if m.FunctionCall != nil {
		d.call(&chatCall{Function: *m.FunctionCall, Index: jsontext.Value("0")})
	}
}

// content processes a string, or a list of parts, which some providers send.
func (d *chatDecoder) content(v jsontext.Value) {
	if v[0] == '"' {
		d.think.add(&d.blocks, v)
		return
	}
	var parts []struct {
		Text     jsontext.Value `json:"text"`
		Thinking jsontext.Value `json:"thinking"`
	}
	if jsonv2.Unmarshal(v, &parts, modelhttp.Lenient) != nil {
		return
	}
	for _, p := range parts {
		switch {
		case modelhttp.Present(p.Text):
			d.blocks.Add(message.Text, p.Text)
		case modelhttp.Present(p.Thinking) && p.Thinking[0] == '"':
			d.blocks.Add(message.Reasoning, p.Thinking)
		case modelhttp.Present(p.Thinking):
			var inner []struct {
				Text jsontext.Value `json:"text"`
			}
			_ = jsonv2.Unmarshal(p.Thinking, &inner, modelhttp.Lenient)
			for _, t := range inner {
				d.blocks.Add(message.Reasoning, t.Text)
			}
		}
	}
}

// call processes a fragment of a tool call.
func (d *chatDecoder) call(f *chatCall) {
	g := d.find(f)
	if g.whole() && opensObject(f.Function.Arguments) { // the model gave two calls the same ID
		g = d.begin(f, d.nextIndex())
	}
	d.grow(g, f)
}

// grow adds a fragment to its call.
func (d *chatDecoder) grow(g *gathered, f *chatCall) {
	id := modelhttp.Word(f.ID)
	if id != "" {
		g.id = id
	}
	d.c.Meter.Add(len(f.ID) + len(f.Function.Name) + len(f.Extra))
	g.addName(modelhttp.Word(f.Function.Name))
	if modelhttp.Present(f.Extra) {
		g.extra = json.RawMessage(bytes.Clone(f.Extra))
	}
	var text string
	switch a := f.Function.Arguments; {
	case !modelhttp.Present(a):
	case a[0] == '"':
		text = g.args.Add(a)
	default: // some providers send an object instead of a string
		text = g.args.AddText(string(a))
	}
	d.c.On(agent.Delta{Kind: agent.DeltaToolInput, Text: text, Index: g.index, CallID: g.id,
		Name: g.name})
}

// find returns the call to which a fragment belongs. This is the call with the fragment's index,
// unless the ID shows that the provider gives all calls the same index. Without an index, the ID
// decides. Without an ID, it is the last call. If no call matches, find begins a new one.
func (d *chatDecoder) find(f *chatCall) *gathered {
	id := modelhttp.Word(f.ID)
	n, numbered := modelhttp.Integer(f.Index)
	if numbered {
		if g := d.byIndex[n]; g != nil && (id == "" || g.id == "" || g.id == id) {
			return g
		}
	}
	// A different ID means a separate call, even if the index is the same.
	another := numbered && d.byIndex[n] == nil && modelhttp.Word(f.Function.Name) != ""
	for _, g := range d.calls {
		if id != "" && g.id == id && !another {
			return g
		}
	}
	if !numbered && id == "" && len(d.calls) > 0 && !d.startsAnew(f) {
		return d.calls[len(d.calls)-1]
	}
	if !numbered || d.byIndex[n] != nil && id != "" {
		n = d.nextIndex()
	}
	return d.begin(f, n)
}

// begin adds a call with index n for the fragment.
func (d *chatDecoder) begin(f *chatCall, n int) *gathered {
	g := &gathered{index: n}
	d.c.Meter.AddCall()
	d.calls = append(d.calls, g)
	if i, ok := modelhttp.Integer(f.Index); ok {
		d.byIndex[i] = g // from now on, fragments with this index belong to the newest call
	}
	d.byIndex[n] = g
	return g
}

// whole reports whether the arguments of the call are complete, which means that they are one
// non-empty object. Some providers begin with an empty object.
func (g *gathered) whole() bool {
	text := bytes.TrimSpace(g.args.Text)
	return len(text) > 2 && text[len(text)-1] == '}' && text[0] == '{' && json.Valid(text)
}

// opensObject reports whether a fragment of arguments starts an object. If the arguments are
// already complete, such a fragment belongs to another call.
func opensObject(a jsontext.Value) bool {
	if !modelhttp.Present(a) {
		return false
	}
	return bytes.HasPrefix(bytes.TrimLeft(a, "\" \t"), []byte("{"))
}

// startsAnew reports whether a fragment without index and ID starts another call. This is the case
// if it names a function and the last call already has its arguments.
func (d *chatDecoder) startsAnew(f *chatCall) bool {
	return modelhttp.Word(f.Function.Name) != "" && len(d.calls[len(d.calls)-1].args.Text) > 0
}

func (d *chatDecoder) nextIndex() int {
	n := 0
	for _, g := range d.calls {
		n = max(n, g.index+1)
	}
	return n
}

// maxName limits the name of a call in bytes. No API accepts a tool with a longer name.
const maxName = 1 << 10

// addName adds a name. The name may arrive as a whole, in pieces, or again with each fragment.
func (g *gathered) addName(name string) {
	if name == "" || name == g.name || len(g.name)+len(name) > maxName {
		return
	}
	if g.name == "" || len(g.args.Text) == 0 && !strings.HasPrefix(name, g.name) {
		g.name += name
	} else if len(g.args.Text) == 0 {
		g.name = name
	}
}

func (d *chatDecoder) takeUsage(v jsontext.Value) {
	if u := readUsage(v); u != nil {
		d.usage = u
	}
}

// Reply returns the complete reply after the last event.
func (d *chatDecoder) Reply() (*agent.Reply, error) {
	ended := d.c.Ended()
	d.think.end(&d.blocks)
	d.blocks.End()
	if !d.some && ended {
		return nil, errNoReply()
	}
	if !ended && d.finish == "" || !d.some {
		return nil, d.c.ErrCut()
	}
	msg := d.message()
	msg.Usage = d.usage
	return d.c.finish(msg, d.finish, len(d.calls) > 0)
}

// message builds the message. Its blocks are in the order of their arrival, followed by the calls
// in the order of their indexes.
func (d *chatDecoder) message() *message.Message {
	d.blocks.End()
	msg := &message.Message{Content: d.blocks.List}
	d.attachDetails(msg)
	slices.SortStableFunc(d.calls,
		func(a, b *gathered) int { return cmp.Compare(a.index, b.index) })
	for _, g := range d.calls {
		g.args.End()
		msg.Content = append(msg.Content, g.block())
	}
	return msg
}

// block returns the call's content block. Arguments that are not an object are kept in Raw.
func (g *gathered) block() message.Block {
	return message.Block{Type: message.ToolUse, Opaque: g.extra,
		Call: modelhttp.ToolCall(g.id, g.name, string(g.args.Text))}
}

// attachDetails stores the reasoning_details, which must be sent back to OpenRouter, in the first
// reasoning block.
func (d *chatDecoder) attachDetails(msg *message.Message) {
	if len(d.details) == 0 {
		return
	}
	raw, err := json.Marshal(map[string]any{"reasoning_details": d.details})
	if err != nil {
		return
	}
	for i := range msg.Content {
		if msg.Content[i].Type == message.Reasoning {
			msg.Content[i].Opaque = raw
			return
		}
	}
	msg.Content = slices.Insert(msg.Content, 0, message.Block{Type: message.Reasoning, Opaque: raw})
}

// mergeDetails joins the pieces of one detail (same index and type), as OpenRouter requires.
func mergeDetails(have, more []json.RawMessage) []json.RawMessage {
	for _, m := range more {
		var last, next map[string]any
		if len(have) > 0 && json.Unmarshal(have[len(have)-1], &last) == nil &&
			json.Unmarshal(m, &next) == nil &&
			last["index"] == next["index"] && last["type"] == next["type"] && next["index"] != nil {
			if joined, err := json.Marshal(joinDetail(last, next)); err == nil {
				have[len(have)-1] = joined
				continue
			}
		}
		have = append(have, bytes.Clone(m))
	}
	return have
}

func joinDetail(last, next map[string]any) map[string]any {
	for k, v := range next {
		a, isText := last[k].(string)
		b, alsoText := v.(string)
		switch {
		case isText && alsoText && (k == "text" || k == "summary" || k == "data"):
			last[k] = a + b
		case v != nil:
			last[k] = v
		}
	}
	return last
}

// stopOf converts a provider's finish reason. calls is true if the reply contains tool calls.
func stopOf(finish string, calls bool) message.StopReason {
	switch strings.ToLower(finish) {
	case "stop", "end_turn", "eos", "eos_token", "stop_sequence", "complete", "completed",
		"finished", "done", "finish_reason_stop", "":
		if calls {
			return message.StopToolUse
		}
		return message.StopEnd
	case "tool_calls", "tool-calls", "function_call", "function_calls", "tool_use":
		if calls {
			return message.StopToolUse
		}
		return message.StopEnd
	case "length", "max_tokens", "max_output_tokens", "model_length", "max_length", "token_limit":
		return message.StopLength
	case "content_filter", "safety", "recitation", "prohibited_content", "blocklist", "refusal",
		"sensitive":
		return message.StopContentFilter
	}
	return message.StopUnknown
}

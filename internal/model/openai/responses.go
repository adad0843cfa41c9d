package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
)

// responsesEvent is an event of a responses stream, or a whole response.
type responsesEvent struct {
	Type        string          `json:"type"`
	Error       jsontext.Value  `json:"error"`
	OutputIndex jsontext.Value  `json:"output_index"`
	Delta       jsontext.Value  `json:"delta"`
	Item        jsontext.Value  `json:"item"`
	Response    *responsesReply `json:"response"`

	// These fields identify a command of a shell item, and contain the command's text.
	CommandIndex jsontext.Value `json:"command_index"`
	Command      jsontext.Value `json:"command"`
}

type responsesReply struct {
	Status     string           `json:"status"`
	Error      jsontext.Value   `json:"error"`
	Incomplete jsontext.Value   `json:"incomplete_details"`
	Usage      jsontext.Value   `json:"usage"`
	Output     []jsontext.Value `json:"output"`
}

// responsesItem is an output item.
type responsesItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments jsontext.Value  `json:"arguments"`
	Execution string          `json:"execution"`
	Operation jsontext.Value  `json:"operation"`
	Action    jsontext.Value  `json:"action"`
	Status    string          `json:"status"`
	Content   []responsesPart `json:"content"`
	Summary   []responsesPart `json:"summary"`
}

type responsesPart struct {
	Text    jsontext.Value `json:"text"`
	Refusal jsontext.Value `json:"refusal"`
}

// responsesDecoder collects a reply from a responses stream.
type responsesDecoder struct {
	c      *call
	items  map[int]*output
	parts  []*output // the second and later commands of shell items
	usage  *message.Usage
	finish string
	ended  bool // whether response.completed or another final event has arrived
}

// output is an output item that grows while its events arrive.
type output struct {
	index, part int
	kind        message.BlockType
	text        modelhttp.Joiner
	id          string
	call        string // call_id of the item
	name        string
	raw         json.RawMessage // a reasoning item to send back, or the origin of a native call
	native      *growing        // arguments of a native tool's item
	before      string          // beginning of the arguments of a native call
}

func newResponsesDecoder(c *call) *responsesDecoder {
	return &responsesDecoder{c: c, items: map[int]*output{}}
}

// Event processes one event.
func (d *responsesDecoder) Event(raw modelhttp.Event) error {
	var e responsesEvent
	if err := d.c.Decode(raw, &e, &e.Error); err != nil {
		return err
	}
	if e.Type == "" {
		return d.wholeReply(raw.Data)
	}
	i, _ := modelhttp.Integer(e.OutputIndex)
	switch e.Type {
	case "response.output_text.delta":
		d.text(i, message.Text, e.Delta)
	case "response.refusal.delta":
		d.text(i, message.Refusal, e.Delta)
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		d.text(i, message.Reasoning, e.Delta)
	case "response.reasoning_summary_part.added":
		if o := d.items[i]; o != nil && len(o.text.Text) > 0 {
			d.tell(o, o.text.AddText("\n\n"))
		}
	case "response.function_call_arguments.delta":
		o := d.at(i, message.ToolUse)
		d.tell(o, o.text.Add(e.Delta))
	case "response.apply_patch_call_operation_diff.delta":
		d.patchDiff(i, e.Delta)
	case "response.shell_call_command.added":
		d.shellCommand(i, &e, e.Command)
	case "response.shell_call_command.delta":
		d.shellCommand(i, &e, e.Delta)
	case "response.output_item.added", "response.output_item.done":
		d.item(i, e.Item, e.Type == "response.output_item.done")
	case "response.completed", "response.incomplete", "response.failed":
		return d.end(e.Response)
	case "error":
		return d.c.Failure(raw.Data)
	}
	return nil
}

func (d *responsesDecoder) at(i int, kind message.BlockType) *output {
	o := d.items[i]
	if o == nil {
		o = &output{index: i}
		d.items[i] = o
		d.c.Meter.Add(modelhttp.BlockSize)
	}
	// A message may turn out to be a refusal.
	if o.kind == "" || o.kind == message.Text && len(o.text.Text) == 0 {
		o.kind = kind
	}
	return o
}

func (d *responsesDecoder) text(i int, kind message.BlockType, v jsontext.Value) {
	o := d.at(i, kind)
	d.tell(o, o.text.Add(v))
}

// tell reports the text that was added to an item.
func (d *responsesDecoder) tell(o *output, s string) {
	switch {
	case o.kind == message.ToolUse:
		d.c.On(agent.Delta{
			Kind: agent.DeltaToolInput, Text: s, Index: o.index + o.part*partStride,
			CallID: o.call, Name: o.name,
		})
	case s == "":
	case o.kind == message.Reasoning:
		d.c.On(agent.Delta{Kind: agent.DeltaReasoning, Text: s})
	default:
		d.c.On(agent.Delta{Kind: agent.DeltaText, Text: s})
	}
}

// item processes the event that adds an output item or, if done is true, completes it. If no deltas
// have arrived for the item, it uses the item's own content.
func (d *responsesDecoder) item(i int, v jsontext.Value, done bool) {
	var w responsesItem
	if jsonv2.Unmarshal(v, &w, modelhttp.Lenient) != nil {
		return
	}
	d.c.Meter.Add(len(w.ID) + len(w.CallID) + len(w.Name))
	switch w.Type {
	case "function_call":
		if d.items[i] == nil {
			d.c.Meter.AddCall()
		}
		o := d.at(i, message.ToolUse)
		o.call, o.name, o.id = cmp.Or(w.CallID, w.ID, o.call), cmp.Or(w.Name, o.name), w.ID
		if len(o.text.Text) == 0 {
			d.tell(o, o.text.Add(w.Arguments))
		}
	case "tool_search_call":
		d.search(i, &w, done)
	case patchItem:
		d.patch(i, &w, done && w.Status != "incomplete")
	case shellItem:
		d.shell(i, &w, done && w.Status != "incomplete")
	case "reasoning":
		o := d.at(i, message.Reasoning)
		o.id = w.ID
		if done {
			o.raw = bytes.Clone(v)
			d.c.Meter.Add(len(v))
			d.fill(o, append(w.Summary, w.Content...))
		}
	case "message":
		d.at(i, message.Text)
		if done {
			d.fill(d.items[i], w.Content)
		}
	}
}

// search processes a tool_search_call, which has no name and whose complete arguments arrive at its
// end. A search that the provider runs itself is ignored.
func (d *responsesDecoder) search(i int, w *responsesItem, done bool) {
	if w.Execution != "client" || !done {
		return
	}
	o := d.at(i, message.ToolUse)
	o.call, o.name, o.id = cmp.Or(w.CallID, w.ID, o.call), modelhttp.SearchTool, w.ID
	if len(o.text.Text) > 0 {
		return
	}
	if modelhttp.Present(w.Arguments) && w.Arguments[0] != '"' {
		d.tell(o, o.text.AddText(string(w.Arguments)))
		return
	}
	d.tell(o, o.text.Add(w.Arguments))
}

// fill adds the text of an item's parts, unless the text has already arrived in deltas.
func (d *responsesDecoder) fill(o *output, parts []responsesPart) {
	if len(o.text.Text) > 0 {
		return
	}
	for _, p := range parts {
		if modelhttp.Present(p.Refusal) {
			o.kind = message.Refusal
			d.tell(o, o.text.Add(p.Refusal))
			continue
		}
		if o.kind == message.Reasoning && len(o.text.Text) > 0 {
			d.tell(o, o.text.AddText("\n\n"))
		}
		d.tell(o, o.text.Add(p.Text))
	}
}

// wholeReply decodes a response that is not a stream.
func (d *responsesDecoder) wholeReply(raw []byte) error {
	var r responsesReply
	if jsonv2.Unmarshal(raw, &r, modelhttp.Lenient) != nil || r.Status == "" && r.Output == nil {
		return nil // an event of an unknown type
	}
	return d.end(&r)
}

// end processes the final response.
func (d *responsesDecoder) end(r *responsesReply) error {
	if r == nil {
		return nil
	}
	if modelhttp.Present(r.Error) {
		return d.c.Failure(r.Error)
	}
	for i, v := range r.Output {
		o := d.items[i]
		if o == nil || len(o.text.Text) == 0 || o.native != nil && !o.native.whole {
			d.item(i, v, true)
		}
	}
	d.ended, d.c.Over = true, true
	d.usage = readUsage(r.Usage)
	d.finish = r.Status
	if modelhttp.Present(r.Incomplete) {
		var why struct{ Reason string }
		_ = json.Unmarshal(r.Incomplete, &why)
		d.finish = cmp.Or(why.Reason, "incomplete")
	}
	if r.Status == "failed" || r.Status == "cancelled" {
		return &retry.Error{Kind: retry.Transient, Message: "the provider's response " + r.Status,
			Hint: retry.Hint(retry.Transient)}
	}
	return nil
}

// Reply returns the complete reply after the last event.
func (d *responsesDecoder) Reply() (*agent.Reply, error) {
	if !d.ended {
		return nil, d.c.ErrCut()
	}
	list := slices.Clone(d.parts)
	for _, o := range d.items {
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b *output) int {
		return cmp.Or(cmp.Compare(a.index, b.index), cmp.Compare(a.part, b.part))
	})
	msg := &message.Message{Usage: d.usage}
	calls := false
	for _, o := range list {
		if s := o.text.End(); s != "" {
			d.tell(o, s)
		}
		switch b := o.block(); {
		case b.Type == message.ToolUse:
			calls = true
			msg.Content = append(msg.Content, b)
		case b.Text != "" || len(b.Opaque) > 0:
			msg.Content = append(msg.Content, b)
		}
	}
	return d.c.finish(msg, d.finish, calls)
}

func (o *output) block() message.Block {
	text := string(o.text.Text)
	if o.kind == message.ToolUse {
		call := modelhttp.ToolCall(o.call, o.name, text)
		return message.Block{Type: o.kind, ID: o.id, Opaque: o.raw, Call: call}
	}
	return message.Block{Type: o.kind, Text: text, ID: o.id, Opaque: o.raw}
}

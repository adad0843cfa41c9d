package gemini

import (
	"cmp"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
)

// response is an event of a stream, or a complete answer without a stream.
type response struct {
	Error      jsontext.Value `json:"error"`
	Candidates []candidate    `json:"candidates"`
	Feedback   *feedback      `json:"promptFeedback"`
	Usage      jsontext.Value `json:"usageMetadata"`
}

type candidate struct {
	Content struct {
		Parts []part `json:"parts"`
	} `json:"content"`
	Finish  string `json:"finishReason"`
	Message string `json:"finishMessage"`
}

// feedback reports why a prompt was blocked.
type feedback struct {
	Reason  string `json:"blockReason"`
	Message string `json:"blockReasonMessage"`
}

type part struct {
	Text      jsontext.Value `json:"text"`
	Thought   bool           `json:"thought"`
	Signature string         `json:"thoughtSignature"`
	Call      *functionCall  `json:"functionCall"`
}

type functionCall struct {
	ID   string         `json:"id"`
	Name string         `json:"name"`
	Args jsontext.Value `json:"args"`
}

// decoder collects a reply.
type decoder struct {
	c       *call
	blocks  modelhttp.Blocks
	sealed  bool // whether the last block is a call or has a signature, so it takes no more text
	calls   int
	usage   *message.Usage
	finish  string
	message string // the service's explanation of the finish reason
}

func newDecoder(c *call) *decoder {
	return &decoder{c: c, blocks: modelhttp.NewBlocks(c.On, &c.Meter)}
}

// Event processes one event. The API sends no end mark. A reply is complete when the stream ends,
// or when the finish reason and the usage have arrived.
func (d *decoder) Event(raw modelhttp.Event) error {
	var r response
	if err := d.c.Decode(raw, &r, &r.Error); err != nil {
		return err
	}
	err := d.take(&r)
	d.c.Over = d.finish != "" && d.usage != nil
	return err
}

// whole decodes a reply that is not streamed.
func (d *decoder) whole(raw []byte) (*agent.Reply, error) {
	if err := d.Event(modelhttp.Event{Data: raw}); err != nil {
		return nil, err
	}
	if d.finish == "" {
		return nil, d.c.Unreadable(raw)
	}
	return d.Reply()
}

// take adds a response to the reply.
func (d *decoder) take(r *response) error {
	if r.Feedback != nil && r.Feedback.Reason != "" {
		return d.blocked("the provider blocked the prompt", r.Feedback.Reason, r.Feedback.Message)
	}
	d.count(r.Usage)
	if len(r.Candidates) == 0 {
		return nil
	}
	c := &r.Candidates[0]
	for i := range c.Content.Parts {
		d.part(&c.Content.Parts[i])
		if err := d.c.Meter.Err(); err != nil {
			return err
		}
	}
	d.finish, d.message = cmp.Or(c.Finish, d.finish), cmp.Or(c.Message, d.message)
	return nil
}

// part processes a part. Unknown kinds of parts are skipped.
func (d *decoder) part(p *part) {
	d.c.Meter.Add(len(p.Signature))
	switch {
	case p.Call != nil:
		d.call(p)
	case p.Thought:
		d.text(message.Reasoning, p)
	case p.Signature != "" && len(modelhttp.Word(p.Text)) == 0:
		// A signature that arrives alone is sent back in a separate part.
		d.text(message.Reasoning, p)
	default:
		d.text(message.Text, p)
	}
}

// text processes a part that contains text or a thought. A part with a signature is a separate
// block.
func (d *decoder) text(t message.BlockType, p *part) {
	text := modelhttp.Word(p.Text)
	if text == "" && p.Signature == "" {
		return
	}
	if d.sealed || p.Signature != "" {
		d.separate(t)
	}
	d.blocks.AddText(t, text)
	if p.Signature != "" {
		d.seal(p.Signature)
	}
}

// separate starts a new block, even after one of the same type.
func (d *decoder) separate(t message.BlockType) {
	d.blocks.End()
	d.c.Meter.Add(modelhttp.BlockSize)
	d.blocks.List = append(d.blocks.List, message.Block{Type: t})
	d.sealed = false
}

// seal ends the last block and stores its signature.
func (d *decoder) seal(signature string) {
	d.blocks.End()
	keep(&d.blocks.List[len(d.blocks.List)-1], signature)
	d.sealed = true
}

// call processes a tool call, which always arrives as a whole.
func (d *decoder) call(p *part) {
	args := string(p.Call.Args)
	if !modelhttp.Present(p.Call.Args) {
		args = "{}"
	}
	d.c.Meter.AddCall()
	d.c.Meter.Add(len(p.Call.ID) + len(p.Call.Name))
	d.blocks.End()
	block := message.Block{
		Type: message.ToolUse, Call: modelhttp.ToolCall(p.Call.ID, p.Call.Name, args),
	}
	keep(&block, p.Signature)
	d.blocks.List = append(d.blocks.List, block)
	d.sealed = true
	d.c.On(agent.Delta{
		Kind: agent.DeltaToolInput, Text: args, Index: d.calls,
		CallID: p.Call.ID, Name: p.Call.Name,
	})
	d.calls++
}

// count processes the usage of an event, which includes the usage of earlier events.
func (d *decoder) count(v jsontext.Value) {
	var w struct {
		Prompt  int `json:"promptTokenCount"`
		Tools   int `json:"toolUsePromptTokenCount"`
		Cached  int `json:"cachedContentTokenCount"`
		Reply   int `json:"candidatesTokenCount"`
		Thought int `json:"thoughtsTokenCount"`
	}
	if !modelhttp.Present(v) || jsonv2.Unmarshal(v, &w, modelhttp.Lenient) != nil {
		return
	}
	in, out := w.Prompt+w.Tools, w.Reply+w.Thought
	d.usage = &message.Usage{
		Input: in, Output: out, Cached: w.Cached, Reasoning: w.Thought, Total: in + out,
	}
}

// Reply returns the reply collected so far. A reply that a filter stopped is an error, so that its
// text is withdrawn and not sent again.
func (d *decoder) Reply() (*agent.Reply, error) {
	if d.finish == "" {
		return nil, d.c.ErrCut()
	}
	msg := &message.Message{Usage: d.usage}
	switch d.finish {
	case "STOP":
		msg.Stop = message.StopEnd
		if d.calls > 0 {
			msg.Stop = message.StopToolUse
		}
	case "MAX_TOKENS":
		msg.Stop = message.StopLength
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII",
		"IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "MODEL_ARMOR":
		return nil, d.blocked("the provider stopped the reply", d.finish, d.message)
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "TOO_MANY_TOOL_CALLS",
		"MALFORMED_RESPONSE":
		return nil, d.broken()
	default:
		msg.Stop = message.StopUnknown
	}
	d.blocks.End()
	msg.Content = d.blocks.List
	return d.c.Reply(msg, d.finish), nil
}

// blocked returns the error for a prompt or a reply that a filter stopped.
func (d *decoder) blocked(what, reason, words string) error {
	text := what + " (" + reason + ")"
	if words != "" {
		text += ": " + retry.Redact(words)
	}
	return &retry.Error{
		Kind: retry.ContentFilter, Message: text, Hint: retry.Hint(retry.ContentFilter),
	}
}

// broken returns the error for a malformed reply, such as one with a tool call that the service
// could not parse. Repeating the request may succeed.
func (d *decoder) broken() error {
	text := d.c.Model + " ended with a tool call that cannot be read (" + d.finish + ")"
	if words := strings.TrimSpace(d.message); words != "" {
		text += ": " + retry.Redact(words[:min(len(words), 200)])
	}
	return &retry.Error{
		Kind: retry.Truncated, Message: strings.ToValidUTF8(text, ""),
		Hint: retry.Hint(retry.Truncated),
	}
}

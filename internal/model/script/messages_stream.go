package script

import (
	"encoding/json"
	"fmt"
	"strings"
)

// messagePlayer plays a reply of the Messages API.
type messagePlayer struct {
	*player
	bill  bill
	index int
}

func (p *messagePlayer) stream() {
	if p.rawAnswer() || p.errorFirst() {
		return
	}
	p.w.Header().Set("Content-Type", "text/event-stream")
	p.event("message_start", map[string]any{"message": p.message(nil, nil)})
	p.event("ping", map[string]any{})
	for _, b := range p.blocks() {
		p.block(b)
	}
	p.end()
}

// message returns a message with its content and stop reason so far.
func (p *messagePlayer) message(content []any, stop any) map[string]any {
	return map[string]any{
		"id": fmt.Sprintf(
			"msg_%d",
			p.step.line,
		),
		"type":  "message",
		"role":  "assistant",
		"model": "script",
		"content": append(
			[]any{},
			content...),
		"stop_reason":   stop,
		"stop_sequence": nil,
		"usage":         p.usage(),
	}
}

// blocks returns the blocks of the reply.
func (p *messagePlayer) blocks() (out []map[string]any) {
	st := p.step
	if hidden, ok := strings.CutPrefix(st.Reasoning, "redacted: "); ok {
		out = append(
			out,
			map[string]any{
				"type": "redacted_thinking",
				"data": "redacted by the script: " + hidden,
			},
		)
	} else if st.Reasoning != "" {
		out = append(
			out,
			map[string]any{
				"type":      "thinking",
				"thinking":  st.Reasoning,
				"signature": signature(st.Reasoning),
			},
		)
	}
	if st.Text != "" {
		out = append(out, map[string]any{"type": "text", "text": st.Text})
	}
	for _, c := range st.ToolCalls {
		out = append(
			out,
			map[string]any{"type": "tool_use", "id": c.ID, "name": c.Name, "input": c.args},
		)
	}
	return out
}

// block plays one block: its beginning, its deltas and its end.
func (p *messagePlayer) block(b map[string]any) {
	p.pause()
	first := map[string]any{}
	for k, v := range b {
		first[k] = v
	}
	switch b["type"] {
	case "thinking":
		first["thinking"], first["signature"] = "", ""
		p.begin(first)
		p.pieces("thinking_delta", "thinking", b["thinking"].(string))
		p.delta(map[string]any{"type": "signature_delta", "signature": b["signature"]})
	case "text":
		first["text"] = ""
		p.begin(first)
		p.pieces("text_delta", "text", b["text"].(string))
	case "tool_use":
		first["input"] = map[string]any{}
		p.begin(first)
		p.delta(map[string]any{"type": "input_json_delta", "partial_json": ""})
		p.pieces("input_json_delta", "partial_json", b["input"].(string))
	default:
		p.begin(first)
	}
	p.event("content_block_stop", map[string]any{"index": p.index})
	p.index++
}

func (p *messagePlayer) begin(b map[string]any) {
	p.event("content_block_start", map[string]any{"index": p.index, "content_block": b})
}

func (p *messagePlayer) pieces(kind, key, text string) {
	for _, s := range pieces(text, p.step.Chunks) {
		p.pause()
		p.delta(map[string]any{"type": kind, key: s})
	}
}

func (p *messagePlayer) delta(d map[string]any) {
	p.event("content_block_delta", map[string]any{"index": p.index, "delta": d})
}

// end ends the stream as the step specifies.
func (p *messagePlayer) end() {
	switch e := p.step.Error; {
	case p.step.Stall:
		p.stall()
	case p.step.Drop == dropRune:
		p.write(
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"\xe2\x82",
		)
		p.drop()
	case p.step.Drop != 0:
		p.drop()
	case e != nil:
		p.event(
			"error",
			map[string]any{"error": map[string]any{"type": e.code(), "message": e.text()}},
		)
	default:
		p.event(
			"message_delta",
			map[string]any{
				"delta": map[string]any{"stop_reason": p.stop(), "stop_sequence": nil},
				"usage": p.usage(),
			},
		)
		p.event("message_stop", map[string]any{})
	}
}

// stop returns the API's name for the stop reason.
func (p *messagePlayer) stop() string {
	switch f := p.step.finishReason(); f {
	case "stop":
		return "end_turn"
	case "tool_calls":
		return "tool_use"
	case "length":
		return "max_tokens"
	case "content_filter":
		return "refusal"
	default:
		return f
	}
}

// usage returns the step's usage in the API's format, or else the usage computed from the request's
// prefixes.
func (p *messagePlayer) usage() map[string]any {
	var u struct{ Input, Output, Cached, CacheWrite, Reasoning int }
	if len(p.step.Usage) == 0 || json.Unmarshal(p.step.Usage, &u) != nil {
		u.Input, u.Cached, u.CacheWrite = p.bill.total, p.bill.read, p.bill.written
		u.Output = (len(p.step.Text)+len(p.step.Reasoning))/bytesPerToken + 1
	}
	return map[string]any{
		"input_tokens":                u.Input - u.Cached - u.CacheWrite,
		"cache_read_input_tokens":     u.Cached,
		"cache_creation_input_tokens": u.CacheWrite,
		"output_tokens":               u.Output,
		"output_tokens_details":       map[string]int{"thinking_tokens": u.Reasoning},
	}
}

func (p *messagePlayer) event(name string, data map[string]any) {
	data["type"] = name
	b, _ := json.Marshal(data)
	p.write("event: %s\ndata: %s\n\n", name, b)
}

// whole answers without a stream.
func (p *messagePlayer) whole() {
	if p.rawAnswer() || p.errorFirst() || p.errorLast() {
		return
	}
	var content []any
	for _, b := range p.blocks() {
		if input, ok := b["input"].(string); ok {
			b["input"] = json.RawMessage(input)
		}
		content = append(content, b)
	}
	p.document(p.message(content, p.stop()))
}

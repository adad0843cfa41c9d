package main

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
)

// This file implements the Messages API with the billing that Anthropic documents. A prefix of the
// request that ended at a mark in an earlier request is read from the cache. The input from there
// to the last mark is written to the cache. To find a cached prefix, each mark and the 19 blocks
// before it are checked. A token is four bytes.

const (
	maxMarks = 4
	lookBack = 20
)

var (
	cacheMu sync.Mutex
	cached  = map[[32]byte]bool{} // prefixes that ended at a mark
)

// block is one content block of a request, a tool, or a part of the system prompt.
type block struct {
	bytes  []byte // the block without its mark
	marked bool
}

// bill returns the number of input tokens at the plain price, of tokens written to the cache, and
// of tokens read from the cache. It stores the request's prefixes that end at a cache mark.
func bill(blocks []block) (input, write, read int, err error) {
	sums, ends := make([][32]byte, len(blocks)), make([]int, len(blocks))
	var marks []int
	total := 0
	var sum [32]byte
	for i, b := range blocks {
		sum = sha256.Sum256(append(sum[:], b.bytes...))
		total += len(b.bytes)
		sums[i], ends[i] = sum, total
		if b.marked {
			marks = append(marks, i)
		}
	}
	if len(marks) > maxMarks {
		return 0, 0, 0, errors.New("more than 4 blocks have cache_control")
	}
	cacheMu.Lock()
	defer cacheMu.Unlock()
	wrote := 0
	for _, m := range marks {
		wrote = max(wrote, ends[m])
		for i := m; i >= 0 && i > m-lookBack; i-- {
			if cached[sums[i]] {
				read = max(read, ends[i])
				break
			}
		}
	}
	for _, m := range marks {
		cached[sums[m]] = true
	}
	return (total - wrote) / 4, (wrote - read) / 4, read / 4, nil
}

// blockOf separates the cache mark from the rest of a block.
func blockOf(kind string, raw json.RawMessage) block {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return block{bytes: append([]byte(kind), raw...)}
	}
	_, marked := m["cache_control"]
	delete(m, "cache_control")
	b, _ := json.Marshal(m)
	return block{append([]byte(kind), b...), marked}
}

// list reads a list of blocks or a single text.
func list(raw json.RawMessage) (blocks []json.RawMessage) {
	if json.Unmarshal(raw, &blocks) != nil && len(raw) > 0 {
		text, _ := json.Marshal(fields{"text": raw, "type": "text"})
		blocks = []json.RawMessage{text}
	}
	return blocks
}

// parseAnthropic reads a request of the Messages API.
func parseAnthropic(_ *http.Request, body []byte) (*request, error) {
	var in struct {
		Model    string
		Stream   bool
		System   json.RawMessage
		Tools    []json.RawMessage
		Messages []struct {
			Role    string
			Content json.RawMessage
		}
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	req := &request{model: in.Model, stream: in.Stream}
	var blocks []block
	for _, raw := range in.Tools {
		blocks = append(blocks, blockOf("tool", raw))
		var t struct {
			Name   string
			Schema json.RawMessage `json:"input_schema"`
		}
		json.Unmarshal(raw, &t)
		req.tools = append(req.tools, tool{name: t.Name, props: schemaProps(t.Schema)})
	}
	for _, raw := range list(in.System) {
		blocks = append(blocks, blockOf("system", raw))
		req.system += flat(json.RawMessage("[" + string(raw) + "]"))
	}
	for _, m := range in.Messages {
		for _, raw := range list(m.Content) {
			blocks = append(blocks, blockOf(m.Role, raw))
			var b struct {
				Type, Text string
				Content    json.RawMessage
			}
			json.Unmarshal(raw, &b)
			if b.Type == "tool_result" {
				req.messages = append(req.messages, message{"tool", flat(b.Content)})
			} else {
				req.messages = append(req.messages, message{m.Role, b.Text})
			}
		}
	}
	var err error
	req.input, req.write, req.read, err = bill(blocks)
	return req, err
}

type anthropic struct {
	w    *writer
	open bool // whether a text block is open
	at   int
}

// fields contains the members of a JSON object.
type fields map[string]any

func (c *anthropic) event(kind string, f fields) {
	f["type"] = kind
	c.w.event(kind, f)
}

func (c *anthropic) usage() fields {
	r := c.w.req
	return fields{
		"input_tokens": r.input, "cache_creation_input_tokens": r.write,
		"cache_read_input_tokens": r.read, "output_tokens": 1,
	}
}

func (c *anthropic) message(model string, stop any, content ...any) fields {
	return fields{
		"id": "msg_mock", "type": "message", "role": "assistant", "model": model,
		"content": append([]any{}, content...), "stop_reason": stop, "stop_sequence": nil,
		"usage": c.usage(),
	}
}

func (c *anthropic) begin(model string) {
	c.event("message_start", fields{"message": c.message(model, nil)})
}

// block begins a content block.
func (c *anthropic) block(b fields) {
	c.event("content_block_start", fields{"index": c.at, "content_block": b})
	c.open = true
}

func (c *anthropic) delta(kind, key, value string) {
	d := fields{"type": kind, key: value}
	c.event("content_block_delta", fields{"index": c.at, "delta": d})
}

func (c *anthropic) text(s string) {
	if !c.open {
		c.block(fields{"type": "text", "text": ""})
	}
	c.delta("text_delta", "text", s)
}

func (c *anthropic) call(id string, t tool, args map[string]any) {
	a, _ := json.Marshal(args)
	c.block(fields{"type": "tool_use", "id": id, "name": t.name, "input": fields{}})
	c.delta("input_json_delta", "partial_json", string(a))
}

func (c *anthropic) end(stop string, _, out int) {
	if c.open {
		c.event("content_block_stop", fields{"index": c.at})
	}
	reason := "end_turn"
	if stop == "tool" {
		reason = "tool_use"
	}
	c.event("message_delta", fields{
		"delta": fields{"stop_reason": reason, "stop_sequence": nil},
		"usage": fields{"output_tokens": out},
	})
	c.event("message_stop", fields{})
}

func (c *anthropic) whole(text string, t *tool, args map[string]any) any {
	model := c.w.req.model
	if t != nil {
		call := fields{"type": "tool_use", "id": "call_0", "name": t.name, "input": args}
		return c.message(model, "tool_use", call)
	}
	return c.message(model, "end_turn", fields{"type": "text", "text": text})
}

package main

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// parseResponses reads a request of the responses API.
func parseResponses(_ *http.Request, body []byte) (*request, error) {
	var in struct {
		Model        string          `json:"model"`
		Stream       bool            `json:"stream"`
		Instructions string          `json:"instructions"`
		Input        json.RawMessage `json:"input"`
		Tools        []struct {
			Type       string          `json:"type"`
			Name       string          `json:"name"`
			Parameters json.RawMessage `json:"parameters"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	req := &request{model: in.Model, stream: in.Stream, system: in.Instructions}
	var s string
	if json.Unmarshal(in.Input, &s) == nil {
		req.messages = []message{{"user", s}}
	} else {
		var items []struct {
			Type    string          `json:"type"`
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
			Output  json.RawMessage `json:"output"`
		}
		if err := json.Unmarshal(in.Input, &items); err != nil {
			return nil, err
		}
		for _, it := range items {
			switch {
			case it.Type == "function_call_output" || it.Type == "custom_tool_call_output":
				req.messages = append(req.messages, message{"tool", flat(it.Output)})
			case it.Role != "":
				if it.Role == "system" || it.Role == "developer" {
					req.system += flat(it.Content)
				}
				req.messages = append(req.messages, message{it.Role, flat(it.Content)})
			default:
				req.messages = append(req.messages, message{it.Type, ""})
			}
		}
	}
	for _, t := range in.Tools {
		if t.Name != "" {
			req.tools = append(req.tools, tool{name: t.Name, custom: t.Type == "custom",
				props: schemaProps(t.Parameters)})
		}
	}
	return req, nil
}

type responses struct {
	w    *writer
	seq  int
	open bool
	all  strings.Builder
	out  []any
}

func (c *responses) ev(kind string, m map[string]any) {
	m["type"], m["sequence_number"] = kind, c.seq
	c.seq++
	c.w.event(kind, m)
}

func (c *responses) resp(status string, usage any) map[string]any {
	out := c.out
	if out == nil {
		out = []any{}
	}
	return map[string]any{"id": "resp_mock", "object": "response", "created_at": 1700000000,
		"status": status, "model": c.w.req.model,
		"output": out, "usage": usage, "error": nil, "incomplete_details": nil, "instructions": nil,
		"metadata":            map[string]any{},
		"parallel_tool_calls": false, "tool_choice": "auto", "tools": []any{}}
}

func (c *responses) begin(string) {
	c.ev("response.created", map[string]any{"response": c.resp("in_progress", nil)})
	c.ev("response.in_progress", map[string]any{"response": c.resp("in_progress", nil)})
}

func (c *responses) text(s string) {
	if !c.open {
		c.open = true
		c.ev("response.output_item.added",
			map[string]any{"output_index": 0,
				"item": map[string]any{"id": "msg_mock", "type": "message",
					"role": "assistant", "status": "in_progress", "content": []any{}}})
		c.ev("response.content_part.added",
			map[string]any{"item_id": "msg_mock", "output_index": 0, "content_index": 0,
				"part": map[string]any{"type": "output_text", "text": "", "annotations": []any{}}})
	}
	c.all.WriteString(s)
	q, _ := json.Marshal(s)
	c.w.event("response.output_text.delta",
		`{"type":"response.output_text.delta","sequence_number":`+strconv.Itoa(c.seq)+
			`,"item_id":"msg_mock","output_index":0,"content_index":0,"logprobs":[],"delta":`+
			string(q)+
			`}`)
	c.seq++
}

func (c *responses) call(id string, t tool, args map[string]any) {
	item := map[string]any{"id": "fc_" + id, "call_id": id, "name": t.name, "status": "in_progress"}
	if t.custom {
		item["type"], item["input"] = "custom_tool_call", ""
		c.ev("response.output_item.added", map[string]any{"output_index": 0, "item": item})
		done := map[string]any{"id": "fc_" + id, "call_id": id, "name": t.name,
			"status": "completed", "type": "custom_tool_call", "input": args[""]}
		c.ev("response.custom_tool_call_input.done",
			map[string]any{"item_id": "fc_" + id, "output_index": 0, "input": args[""]})
		c.ev("response.output_item.done", map[string]any{"output_index": 0, "item": done})
		c.out = append(c.out, done)
		return
	}
	a, _ := json.Marshal(args)
	item["type"], item["arguments"] = "function_call", ""
	c.ev("response.output_item.added", map[string]any{"output_index": 0, "item": item})
	c.ev("response.function_call_arguments.delta",
		map[string]any{"item_id": "fc_" + id, "output_index": 0, "delta": string(a)})
	c.ev("response.function_call_arguments.done",
		map[string]any{"item_id": "fc_" + id, "output_index": 0, "arguments": string(a)})
	done := map[string]any{"id": "fc_" + id, "call_id": id, "name": t.name, "status": "completed",
		"type": "function_call", "arguments": string(a)}
	c.ev("response.output_item.done", map[string]any{"output_index": 0, "item": done})
	c.out = append(c.out, done)
}

func (c *responses) end(_ string, in, out int) {
	if c.open {
		part := map[string]any{"type": "output_text", "text": c.all.String(),
			"annotations": []any{}}
		c.ev("response.output_text.done",
			map[string]any{"item_id": "msg_mock", "output_index": 0, "content_index": 0,
				"text": c.all.String()})
		c.ev("response.content_part.done",
			map[string]any{"item_id": "msg_mock", "output_index": 0, "content_index": 0,
				"part": part})
		item := map[string]any{"id": "msg_mock", "type": "message", "role": "assistant",
			"status": "completed", "content": []any{part}}
		c.ev("response.output_item.done", map[string]any{"output_index": 0, "item": item})
		c.out = append(c.out, item)
	}
	c.ev("response.completed", map[string]any{"response": c.resp("completed", c.usage(in, out))})
}

func (c *responses) usage(in, out int) any {
	return map[string]any{"input_tokens": in,
		"input_tokens_details": map[string]any{"cached_tokens": 0},
		"output_tokens":        out, "output_tokens_details": map[string]any{"reasoning_tokens": 0},
		"total_tokens": in + out}
}

func (c *responses) whole(text string, t *tool, args map[string]any) any {
	if t != nil {
		a, _ := json.Marshal(args)
		c.out = []any{map[string]any{"id": "fc_0", "call_id": "call_0", "name": t.name,
			"status": "completed", "type": "function_call", "arguments": string(a)}}
	} else {
		c.out = []any{map[string]any{"id": "msg_mock", "type": "message", "role": "assistant",
			"status": "completed",
			"content": []any{map[string]any{"type": "output_text", "text": text,
				"annotations": []any{}}}}}
	}
	return c.resp("completed", c.usage(10, 10))
}

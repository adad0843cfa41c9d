package main

import (
	"encoding/json"
	"net/http"
)

// parseChat reads a request of the chat API.
func parseChat(_ *http.Request, body []byte) (*request, error) {
	var in struct {
		Model         string `json:"model"`
		Stream        bool   `json:"stream"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name       string          `json:"name"`
				Parameters json.RawMessage `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	req := &request{model: in.Model, stream: in.Stream, usage: in.StreamOptions.IncludeUsage}
	for _, m := range in.Messages {
		if m.Role == "system" || m.Role == "developer" {
			req.system += flat(m.Content)
		}
		req.messages = append(req.messages, message{m.Role, flat(m.Content)})
	}
	for _, t := range in.Tools {
		req.tools = append(req.tools, tool{name: t.Function.Name,
			props: schemaProps(t.Function.Parameters)})
	}
	return req, nil
}

type chat struct {
	w     *writer
	model string
}

func (c *chat) chunk(delta any, finish any) any {
	return map[string]any{"id": "chatcmpl-mock", "object": "chat.completion.chunk",
		"created": 1700000000, "model": c.model,
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}}
}

func (c *chat) begin(model string) {
	c.model = model
	c.w.event("", c.chunk(map[string]any{"role": "assistant", "content": ""}, nil))
}

func (c *chat) text(s string) {
	q, _ := json.Marshal(s)
	c.w.event(
		"",
		`{"id":"chatcmpl-mock","object":"chat.completion.chunk","created":1700000000,"model":"mock-model","choices":[{"index":0,"delta":{"content":`+string(
			q,
		)+`},"finish_reason":null}]}`,
	)
}

func (c *chat) call(id string, t tool, args map[string]any) {
	a, _ := json.Marshal(args)
	c.w.event("", c.chunk(map[string]any{"tool_calls": []any{map[string]any{"index": 0, "id": id,
		"type":     "function",
		"function": map[string]any{"name": t.name, "arguments": ""}}}}, nil))
	c.w.event("", c.chunk(map[string]any{"tool_calls": []any{map[string]any{"index": 0,
		"function": map[string]any{"arguments": string(a)}}}}, nil))
}

func (c *chat) end(stop string, in, out int) {
	if stop == "tool" {
		stop = "tool_calls"
	}
	c.w.event("", c.chunk(map[string]any{}, stop))
	if c.w.req.usage {
		c.w.event("", map[string]any{"id": "chatcmpl-mock", "object": "chat.completion.chunk",
			"created": 1700000000, "model": c.model,
			"choices": []any{}, "usage": map[string]any{"prompt_tokens": in,
				"completion_tokens": out, "total_tokens": in + out}})
	}
	c.w.event("", "[DONE]")
}

func (c *chat) whole(text string, t *tool, args map[string]any) any {
	msg, stop := map[string]any{"role": "assistant", "content": text}, "stop"
	if t != nil {
		a, _ := json.Marshal(args)
		stop = "tool_calls"
		msg = map[string]any{"role": "assistant", "content": nil,
			"tool_calls": []any{map[string]any{"id": "call_0", "type": "function",
				"function": map[string]any{"name": t.name, "arguments": string(a)}}}}
	}
	return map[string]any{"id": "chatcmpl-mock", "object": "chat.completion", "created": 1700000000,
		"model":   c.w.req.model,
		"choices": []any{map[string]any{"index": 0, "message": msg, "finish_reason": stop}},
		"usage":   map[string]any{"prompt_tokens": 10, "completion_tokens": 10, "total_tokens": 20}}
}

package main

import (
	"encoding/json"
	"net/http"
	"strings"
)

// parseGemini reads a request of Gemini's API.
func parseGemini(r *http.Request, body []byte) (*request, error) {
	type part struct {
		Text             string          `json:"text"`
		FunctionResponse json.RawMessage `json:"functionResponse"`
	}
	var in struct {
		SystemInstruction struct {
			Parts []part `json:"parts"`
		} `json:"systemInstruction"`
		Contents []struct {
			Role  string `json:"role"`
			Parts []part `json:"parts"`
		} `json:"contents"`
		Tools []struct {
			FunctionDeclarations []struct {
				Name       string          `json:"name"`
				Parameters json.RawMessage `json:"parameters"`
				JSONSchema json.RawMessage `json:"parametersJsonSchema"`
			} `json:"functionDeclarations"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return nil, err
	}
	req := &request{model: "mock-model", stream: strings.Contains(r.URL.Path, ":stream")}
	for _, p := range in.SystemInstruction.Parts {
		req.system += p.Text
	}
	for _, c := range in.Contents {
		for _, p := range c.Parts {
			role := c.Role
			text := p.Text
			if p.FunctionResponse != nil {
				role, text = "tool", string(p.FunctionResponse)
			}
			req.messages = append(req.messages, message{role, text})
		}
	}
	for _, t := range in.Tools {
		for _, f := range t.FunctionDeclarations {
			p := f.JSONSchema
			if p == nil {
				p = f.Parameters
			}
			req.tools = append(req.tools, tool{name: f.Name, props: schemaProps(p)})
		}
	}
	return req, nil
}

type gemini struct{ w *writer }

func (c *gemini) cand(parts []any, finish string, usage any) any {
	cand := map[string]any{"index": 0, "content": map[string]any{"role": "model", "parts": parts}}
	if finish != "" {
		cand["finishReason"] = finish
	}
	m := map[string]any{"candidates": []any{cand}, "modelVersion": "mock-model"}
	if usage != nil {
		m["usageMetadata"] = usage
	}
	return m
}

func (c *gemini) begin(string) {}

func (c *gemini) text(s string) {
	c.w.event("", c.cand([]any{map[string]any{"text": s}}, "", nil))
}

func (c *gemini) call(id string, t tool, args map[string]any) {
	c.w.event("", c.cand([]any{map[string]any{"functionCall": map[string]any{"name": t.name,
		"args": args}}}, "", nil))
}

func (c *gemini) end(_ string, in, out int) {
	c.w.event("", c.cand([]any{map[string]any{"text": ""}}, "STOP",
		map[string]any{"promptTokenCount": in, "candidatesTokenCount": out, "totalTokenCount": in +
			out}))
}

func (c *gemini) whole(text string, t *tool, args map[string]any) any {
	p := map[string]any{"text": text}
	if t != nil {
		p = map[string]any{"functionCall": map[string]any{"name": t.name, "args": args}}
	}
	return c.cand([]any{p}, "STOP",
		map[string]any{"promptTokenCount": 10, "candidatesTokenCount": 10, "totalTokenCount": 20})
}

package script

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// This file implements the Gemini API (POST /v1beta/models/MODEL:streamGenerateContent) as its
// documentation describes it. A strict script refuses requests that the service refuses (see
// geminiRequest.check).

// geminiRequest is a request of the Gemini API.
type geminiRequest struct {
	System   geminiContent   `json:"systemInstruction"`
	Contents []geminiContent `json:"contents"`
	Tools    []struct {
		Functions []struct {
			Name   string          `json:"name"`
			Schema json.RawMessage `json:"parametersJsonSchema"`
		} `json:"functionDeclarations"`
	} `json:"tools"`
	Choice     json.RawMessage `json:"toolConfig"`
	Generation struct {
		Thinking struct {
			Budget *int   `json:"thinkingBudget"`
			Level  string `json:"thinkingLevel"`
		} `json:"thinkingConfig"`
	} `json:"generationConfig"`
}

type geminiContent struct {
	Role  string       `json:"role"`
	Parts []geminiPart `json:"parts"`
}

type geminiPart struct {
	Text      *string         `json:"text"`
	Thought   bool            `json:"thought"`
	Signature string          `json:"thoughtSignature"`
	Inline    json.RawMessage `json:"inlineData"`
	Call      *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
	Result *struct {
		ID       string          `json:"id"`
		Name     string          `json:"name"`
		Response json.RawMessage `json:"response"`
	} `json:"functionResponse"`
}

// signed reports whether the part has a signature that this endpoint made.
func (p *geminiPart) signed() bool { return strings.HasPrefix(p.Signature, "sig_") }

// dummySignature is the signature that the service accepts for a call that another model made.
const dummySignature = "skip_thought_signature_validator"

// gemini answers a request of the Gemini API.
func (v *Server) gemini(w http.ResponseWriter, r *http.Request) {
	var req geminiRequest
	got, ok := v.read(w, r, &req)
	if !ok {
		return
	}
	st := v.play(w, req.view(got))
	if st == nil {
		return
	}
	respond(&geminiPlayer{newPlayer(w, r, st)},
		strings.HasSuffix(r.URL.Path, ":streamGenerateContent"))
}

// view returns the view of a request. In the view, each tool result is a separate message, and
// consecutive user messages are one message.
func (r *geminiRequest) view(got received) *view {
	v := &view{received: got, wrong: r.check()}
	for _, t := range r.Tools {
		for _, f := range t.Functions {
			v.tools += f.Name + " "
		}
	}
	v.texts = append(v.texts, r.System.text())
	for _, c := range r.Contents {
		if c.Role == "model" {
			m := seen{role: "assistant"}
			for _, p := range c.Parts {
				if p.Call != nil {
					m.calls = append(m.calls, seenCall{p.Call.ID, p.Call.Name, string(p.Call.Args)})
				}
			}
			v.add(m, c.text())
			continue
		}
		results := false
		for _, p := range c.Parts {
			if p.Result != nil {
				results = true
				v.add(seen{role: "tool", callID: p.Result.ID}, resultText(p.Result.Response))
			}
		}
		if !results {
			v.add(seen{role: "user"}, c.text())
			if last := c.Parts[len(c.Parts)-1].Text; last != nil {
				v.lastUser = *last // consecutive user messages arrive as one message
			}
		}
	}
	return v
}

func (c *geminiContent) text() (s string) {
	for _, p := range c.Parts {
		switch {
		case p.Text != nil:
			s += *p.Text
		case len(p.Inline) > 0:
			s += "[image]"
		}
		if p.signed() {
			s += "[signed]"
		}
	}
	return s
}

// resultText returns the text of a tool result.
func resultText(raw json.RawMessage) string {
	var r struct{ Output, Error string }
	_ = json.Unmarshal(raw, &r)
	return r.Output + r.Error
}

// check refuses requests that the service refuses, in addition to those that every strict provider
// refuses.
func (r *geminiRequest) check() error {
	switch t := r.Generation.Thinking; {
	case t.Budget != nil && t.Level != "":
		return invalid("thinking_budget and thinking_level cannot both be set")
	case len(r.Choice) > 0 && len(r.Tools) == 0:
		return invalid("Function calling config is set without function_declarations.")
	case len(r.Contents) == 0:
		return invalid("contents is not specified")
	}
	for _, t := range r.Tools {
		for _, f := range t.Functions {
			if !toolName().MatchString(f.Name) || len(f.Schema) > 0 && !isObject(string(f.Schema)) {
				return invalid("function_declarations: the name or the schema of %q is not allowed", f.Name)
			}
		}
	}
	for i := range r.Contents {
		if err := r.Contents[i].check(i); err != nil {
			return err
		}
	}
	return nil
}

func (c *geminiContent) check(i int) error {
	if c.Role != "user" && c.Role != "model" {
		return invalid("contents[%d]: Please use a valid role: user, model.", i)
	}
	if len(c.Parts) == 0 {
		return invalid("contents[%d].parts must not be empty", i)
	}
	signed := false
	for n, p := range c.Parts {
		switch {
		case p.Text != nil && strings.TrimSpace(*p.Text) == "" && p.Signature == "":
			return invalid("contents[%d].parts[%d]: Unable to submit an empty text part", i, n)
		case p.Signature != "" && p.Signature != dummySignature && !p.signed():
			return invalid("contents[%d].parts[%d]: Thought signature is not valid", i, n)
		case (p.Call != nil) && c.Role != "model", (p.Result != nil) && c.Role != "user":
			return invalid("contents[%d].parts[%d] is not allowed for the role %s", i, n, c.Role)
		case p.Call != nil && !signed && p.Signature == "":
			return invalid("contents[%d].parts[%d]: Function call is missing a thought_signature",
				i, n)
		}
		signed = signed || p.Call != nil
	}
	return nil
}

// geminiPlayer plays a reply of the Gemini API.
type geminiPlayer struct{ *player }

func (p *geminiPlayer) stream() {
	if p.rawAnswer() || p.geminiError() {
		return
	}
	p.w.Header().Set("Content-Type", "text/event-stream")
	for _, part := range p.parts(p.step.Chunks) {
		p.pause()
		p.chunk([]any{part}, "")
	}
	switch e := p.step.Error; {
	case p.step.Stall:
		p.stall()
	case p.step.Drop == dropRune:
		p.write("data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\xe2\x82")
		p.drop()
	case p.step.Drop != 0:
		p.drop()
	case e != nil:
		p.send(geminiErrorJSON(e.Status, e.Code, e.text()))
	default:
		p.chunk(nil, p.finish())
	}
}

// parts returns the parts of the reply. The first call has the signature. Without calls, the end of
// the text has it.
func (p *geminiPlayer) parts(chunks int) (out []map[string]any) {
	st := p.step
	for _, s := range pieces(st.Reasoning, chunks) {
		out = append(out, map[string]any{"text": s, "thought": true})
	}
	for _, s := range pieces(st.Text, chunks) {
		out = append(out, map[string]any{"text": s})
	}
	sign := signature(st.Reasoning + st.Text)
	for i, c := range st.ToolCalls {
		call := map[string]any{"id": c.ID, "name": c.Name, "args": json.RawMessage(c.args)}
		if !isObject(c.args) {
			call["args"] = c.args
		}
		part := map[string]any{"functionCall": call}
		if i == 0 {
			part["thoughtSignature"] = sign
		}
		out = append(out, part)
	}
	if len(st.ToolCalls) == 0 && st.Text != "" {
		out = append(out, map[string]any{"text": "", "thoughtSignature": sign})
	}
	return out
}

func (p *geminiPlayer) chunk(parts []any, finish string) {
	b, _ := json.Marshal(p.response(parts, finish))
	p.send(b)
}

// response returns a response with parts. The response with a finish reason also contains the
// usage.
func (p *geminiPlayer) response(parts []any, finish string) map[string]any {
	c := map[string]any{"index": 0}
	if parts != nil {
		c["content"] = map[string]any{"role": "model", "parts": parts}
	}
	r := map[string]any{"candidates": []any{c}, "modelVersion": "script", "responseId": "script"}
	if finish != "" {
		c["finishReason"], r["usageMetadata"] = finish, p.usage()
	}
	return r
}

// finish returns the API's name for the finish reason.
func (p *geminiPlayer) finish() string {
	switch f := p.step.finishReason(); f {
	case "stop", "tool_calls":
		return "STOP"
	case "length":
		return "MAX_TOKENS"
	case "content_filter":
		return "SAFETY"
	default:
		return f
	}
}

func (p *geminiPlayer) usage() map[string]int {
	var u struct{ Input, Output, Cached, Reasoning int }
	_ = json.Unmarshal(p.step.Usage, &u)
	return map[string]int{
		"promptTokenCount": u.Input, "cachedContentTokenCount": u.Cached,
		"candidatesTokenCount": u.Output - u.Reasoning, "thoughtsTokenCount": u.Reasoning,
		"totalTokenCount": u.Input + u.Output,
	}
}

// whole answers without a stream.
func (p *geminiPlayer) whole() {
	if p.rawAnswer() || p.geminiError() {
		return
	}
	if e := p.step.Error; e != nil {
		p.pause()
		p.geminiRefuse(e)
		return
	}
	var parts []any
	for _, part := range p.parts(1) {
		parts = append(parts, part)
	}
	p.document(p.response(parts, p.finish()))
}

// geminiError answers with the step's error if nothing comes before it.
func (p *geminiPlayer) geminiError() bool {
	e := p.step.Error
	if e == nil || p.step.Text != "" || p.step.Reasoning != "" || len(p.step.ToolCalls) > 0 {
		return false
	}
	p.pause()
	p.geminiRefuse(e)
	return true
}

// geminiRefuse answers with an error in Google's format. Its details contain the time to wait if
// the step sets one.
func (p *geminiPlayer) geminiRefuse(e *failure) {
	status := max(e.Status, http.StatusBadRequest)
	p.w.Header().Set("Content-Type", "application/json")
	p.w.WriteHeader(status)
	body := geminiErrorJSON(status, e.Code, e.text())
	if e.RetryAfter.String() != "" {
		detail := fmt.Sprintf(`"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo",`+
			`"retryDelay":%q}],"message"`, e.RetryAfter.String()+"s")
		body = []byte(strings.Replace(string(body), `"message"`, detail, 1))
	}
	_, _ = p.w.Write(body)
}

func geminiErrorJSON(status int, code, text string) []byte {
	if status == 0 {
		status, _ = strconv.Atoi(code)
	}
	b, _ := json.Marshal(map[string]any{
		"error": map[string]any{"code": status, "message": text, "status": code},
	})
	return b
}

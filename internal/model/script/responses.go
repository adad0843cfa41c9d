package script

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// This file implements the responses API (POST /v1/responses) as OpenAI's documentation describes
// it. It has items instead of messages and named events instead of chunks.

// encryptedReasoning is the value with which a request asks for reasoning items that a later
// request can send back.
const encryptedReasoning = "reasoning.encrypted_content"

// searchTool is the name of the tool that searches deferred tools. If the client runs the search,
// it is also the tool's type.
const searchTool = "tool_search"

// responsesRequest is a request of the responses API.
type responsesRequest struct {
	Stream  bool       `json:"stream"`
	Store   *bool      `json:"store"`
	Include []string   `json:"include"`
	System  string     `json:"instructions"`
	Input   []wireItem `json:"input"`
	Tools   []itemTool `json:"tools"`

	kinds map[string]string // the types of the calls so far, by ID
}

// wireItem is an input item.
type wireItem struct {
	Type      string          `json:"type"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	Encrypted string          `json:"encrypted_content"`
	Execution string          `json:"execution"`
	Tools     []itemTool      `json:"tools"`
	nativeItem
}

// itemTool is a tool of a request, or a tool that a search has loaded.
type itemTool struct {
	Type  string `json:"type"`
	Name  string `json:"name"`
	Defer bool   `json:"defer_loading"`
}

// responses answers a request of the responses API.
func (v *Server) responses(w http.ResponseWriter, r *http.Request) {
	var req responsesRequest
	got, ok := v.read(w, r, &req)
	if !ok {
		return
	}
	st := v.play(w, req.view(got))
	if st == nil {
		return
	}
	p := &itemPlayer{player: newPlayer(w, r, st), req: &req, id: fmt.Sprintf("resp_%d", st.line)}
	respond(p, req.Stream)
}

// searches reports whether the request declares a tool search that the client runs.
func (r *responsesRequest) searches() bool {
	return r.has(searchTool)
}

// view returns the view of a request. The items of one reply form one message.
func (r *responsesRequest) view(got received) *view {
	v := &view{received: got, texts: []string{r.System}}
	for _, t := range r.Tools {
		if v.tools += orType(t) + " "; t.Defer {
			v.wrong = invalid("tools: %q has defer_loading; a tool that the client searches for is given by tool_search_output", t.Name)
		}
	}
	for i := range r.Input {
		r.item(v, i)
	}
	return v
}

func orType(t itemTool) string {
	if t.Name == "" {
		return t.Type
	}
	return t.Name
}

func (r *responsesRequest) item(v *view, i int) {
	w := &r.Input[i]
	switch w.Type {
	case "", "message":
		text := contentText(w.Content)
		if w.Role == "assistant" {
			v.answer(text != "", nil)
			v.texts = append(v.texts, text)
			return
		}
		v.add(seen{role: w.Role, empty: text == ""}, text)
	case "reasoning":
		v.answer(false, nil)
		r.reasoning(v, i)
	case "function_call":
		args := contentText(w.Arguments)
		v.answer(false, &seenCall{w.CallID, w.Name, args})
		r.kind(w.CallID, w.Type)
	case patchCall, shellCall:
		r.native(v, i, w.Type)
	case "tool_search_call":
		v.answer(false, &seenCall{w.CallID, searchTool, string(w.Arguments)})
	case "function_call_output":
		r.output(v, i, "function_call")
	case patchOutput:
		r.output(v, i, patchCall)
	case shellOutput:
		r.output(v, i, shellCall)
	case "tool_search_output":
		r.found(v, w)
	default:
		v.wrong = invalid("input[%d]: unknown type %q", i, w.Type)
	}
}

// answer adds an item to the reply at the end of the view, or starts a reply.
func (v *view) answer(text bool, call *seenCall) {
	last := len(v.messages) - 1
	if last < 0 || v.messages[last].role != "assistant" {
		v.add(seen{role: "assistant", empty: true}, "")
		last++
	}
	m := &v.messages[last]
	if text {
		m.empty = false
	}
	if call != nil {
		m.calls = append(m.calls, *call)
	}
}

// reasoning checks a reasoning item in the same way as OpenAI does when it stores nothing.
func (r *responsesRequest) reasoning(v *view, i int) {
	switch {
	case r.Input[i].Encrypted == "" && r.Store != nil && !*r.Store:
		v.wrong = invalid("input[%d]: item of type 'reasoning' not found. Items are not persisted when `store` is set to false", i)
	case i+1 == len(r.Input) || !slices.Contains([]string{"", "message", "reasoning",
		"function_call", "tool_search_call", patchCall, shellCall}, r.Input[i+1].Type) ||
		r.Input[i+1].Role == "user":
		v.wrong = invalid("input[%d]: item of type 'reasoning' was provided without its required following item", i)
	}
}

// found processes the tools that the client's search has loaded.
func (r *responsesRequest) found(v *view, w *wireItem) {
	if !r.searches() || w.Execution != "client" {
		v.wrong = invalid("tool_search_output of call %q: no tool_search of execution client is among the tools", w.CallID)
	}
	names := make([]string, 0, len(w.Tools))
	for _, t := range w.Tools {
		if names = append(names, t.Name); !t.Defer ||
			strings.Contains(" "+v.tools, " "+t.Name+" ") {
			v.wrong = invalid("tool_search_output of call %q: %q has no defer_loading, or is already loaded", w.CallID, t.Name)
		}
		v.tools += t.Name + " "
	}
	v.add(seen{role: "tool", callID: w.CallID}, strings.Join(names, ", "))
}

// itemPlayer plays a reply as items.
type itemPlayer struct {
	*player
	req  *responsesRequest
	id   string
	done []any // items that are complete
	seq  int
}

func (p *itemPlayer) stream() {
	if p.rawAnswer() || p.errorFirst() {
		return
	}
	p.w.Header().Set("Content-Type", "text/event-stream")
	p.event("response.created", "response", p.response("in_progress"))
	st := p.step
	if st.Reasoning != "" {
		p.begin(map[string]any{"type": "reasoning", "id": p.itemID("rs"), "summary": []any{}})
		p.event("response.reasoning_summary_part.added", "output_index", len(p.done),
			"summary_index", 0)
		p.pieces("response.reasoning_summary_text.delta", st.Reasoning)
		p.finished(p.reasoning())
	}
	if st.Text != "" {
		p.begin(map[string]any{"type": "message", "id": p.itemID("msg"), "role": "assistant",
			"status": "in_progress", "content": []any{}})
		p.pieces("response.output_text.delta", st.Text)
		p.finished(p.message())
	}
	for _, c := range st.ToolCalls {
		p.call(c)
	}
	p.end()
}

func (p *itemPlayer) itemID(kind string) string {
	return fmt.Sprintf("%s_%s_%d", kind, p.id, len(p.done))
}

func (p *itemPlayer) begin(item map[string]any) {
	p.event("response.output_item.added", "output_index", len(p.done), "item", item)
}

func (p *itemPlayer) finished(item map[string]any) {
	p.event("response.output_item.done", "output_index", len(p.done), "item", item)
	p.done = append(p.done, item)
}

func (p *itemPlayer) pieces(name, text string) {
	for _, s := range pieces(text, p.step.Chunks) {
		p.pause()
		p.event(name, "output_index", len(p.done), "delta", s)
	}
}

// reasoning returns the reasoning item. It is encrypted only if the request asks for that.
func (p *itemPlayer) reasoning() map[string]any {
	item := map[string]any{"type": "reasoning", "id": p.itemID("rs"),
		"summary": []any{map[string]any{"type": "summary_text", "text": p.step.Reasoning}}}
	if slices.Contains(p.req.Include, encryptedReasoning) {
		item["encrypted_content"] = "encrypted " + p.id
	}
	return item
}

func (p *itemPlayer) message() map[string]any {
	return map[string]any{"type": "message", "id": p.itemID("msg"), "role": "assistant",
		"status": "completed",
		"content": []any{map[string]any{"type": "output_text", "text": p.step.Text,
			"annotations": []any{}}}}
}

// item returns a call as an item. If the client runs the tool search, a search has its own type and
// arrives complete.
func (p *itemPlayer) item(c call) (item map[string]any, search bool) {
	if c.Name == searchTool && p.req.searches() && isObject(c.args) {
		return map[string]any{"type": "tool_search_call", "id": p.itemID("tsc"), "call_id": c.ID,
				"execution": "client", "status": "completed", "arguments": json.RawMessage(c.args)},
			true
	}
	return map[string]any{"type": "function_call", "id": p.itemID("fc"), "call_id": c.ID,
		"name": c.Name, "status": "completed", "arguments": c.args}, false
}

func (p *itemPlayer) call(c call) {
	if native := p.nativeCall(c); native != nil {
		p.playNative(c, native)
		return
	}
	item, search := p.item(c)
	first := make(map[string]any, len(item))
	for k, v := range item {
		first[k] = v
	}
	first["status"], first["arguments"] = "in_progress", ""
	p.pause()
	p.begin(first)
	if !search {
		p.pieces("response.function_call_arguments.delta", c.args)
	}
	p.finished(item)
}

// end ends the stream as the step specifies.
func (p *itemPlayer) end() {
	switch e := p.step.Error; {
	case p.step.Stall:
		p.stall()
	case p.step.Drop == dropRune:
		p.write("event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"delta\":\"\xe2\x82")
		p.drop()
	case p.step.Drop != 0:
		p.drop()
	case e != nil:
		p.event("error", "code", e.code(), "message", e.text(), "param", nil)
	default:
		r := p.answer()
		p.event("response."+r["status"].(string), "response", r)
	}
}

// answer returns the final response.
func (p *itemPlayer) answer() map[string]any {
	finish := p.step.Finish
	if finish == "" || finish == "stop" || finish == "tool_calls" {
		return p.response("completed")
	}
	r := p.response("incomplete")
	if finish == "length" {
		finish = "max_output_tokens"
	}
	r["incomplete_details"] = map[string]any{"reason": finish}
	return r
}

func (p *itemPlayer) response(status string) map[string]any {
	r := map[string]any{"id": p.id, "object": "response", "created_at": 0, "model": "script",
		"status": status, "error": nil, "output": append([]any{}, p.done...)}
	if len(p.step.Usage) > 0 && status != "in_progress" {
		r["usage"] = wireUsage(p.step.Usage, true)
	}
	return r
}

// event sends a named event. pairs are keys and values.
func (p *itemPlayer) event(name string, pairs ...any) {
	data := map[string]any{"type": name, "sequence_number": p.seq}
	p.seq++
	for i := 0; i+1 < len(pairs); i += 2 {
		data[pairs[i].(string)] = pairs[i+1]
	}
	b, _ := json.Marshal(data)
	p.write("event: %s\ndata: %s\n\n", name, b)
}

// whole answers without a stream.
func (p *itemPlayer) whole() {
	if p.rawAnswer() || p.errorFirst() || p.errorLast() {
		return
	}
	if p.step.Reasoning != "" {
		p.done = append(p.done, p.reasoning())
	}
	if p.step.Text != "" {
		p.done = append(p.done, p.message())
	}
	for _, c := range p.step.ToolCalls {
		item := p.nativeCall(c)
		if item == nil {
			item, _ = p.item(c)
		}
		p.done = append(p.done, item)
	}
	p.document(p.answer())
}

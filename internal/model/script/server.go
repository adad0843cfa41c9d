package script

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/pause"
)

// maxRequest is the maximum size of a request's body.
const maxRequest = 256 << 20

// Server plays a script to clients of all APIs on a loopback port.
type Server struct {
	script *Script
	http   *http.Server
	ln     net.Listener
	done   chan struct{}
	stop   context.CancelFunc

	// OnRequest receives the body of each model request. It must be set before the first request.
	OnRequest func(body []byte)

	mu       sync.Mutex
	prefixes prefixes // used only for the Messages API
	paused   bool     // whether the last reply of the Messages API was paused
}

// Serve starts a server. The caller must close it.
func Serve(s *Script) (*Server, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("opening the scripted model's port: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	v := &Server{script: s, prefixes: prefixes{}, ln: ln, done: make(chan struct{}), stop: stop}
	v.http = &http.Server{Handler: v.handler(), ReadHeaderTimeout: time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	go func() {
		defer close(v.done)
		_ = v.http.Serve(ln)
	}()
	return v, nil
}

func (v *Server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", v.chat)
	mux.HandleFunc("POST /v1/responses", v.responses)
	mux.HandleFunc("POST /v1/messages", v.messages)
	mux.HandleFunc("POST /v1/embeddings", v.embeddings)
	mux.HandleFunc("GET /v1/models", v.models)
	for _, base := range []string{"/v1beta", "/v1/v1beta"} {
		mux.HandleFunc("POST "+base+"/models/{call}", v.gemini)
		mux.HandleFunc("GET "+base+"/models", v.geminiModels)
	}
	return mux
}

// URL returns the base URL in the form of provider.baseUrl.
func (v *Server) URL() string { return "http://" + v.ln.Addr().String() + "/v1" }

// Close ends the server and every reply in progress.
func (v *Server) Close() error {
	v.stop()
	err := v.http.Close()
	<-v.done
	return err
}

func (v *Server) models(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"object":"list","data":[{"id":"script","object":"model",`+
		`"created":0,"owned_by":"agent-lsp"}]}`)
}

func (v *Server) geminiModels(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"models":[{"name":"models/script",`+
		`"supportedGenerationMethods":["generateContent"]}]}`)
}

func (v *Server) chat(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Stream   bool          `json:"stream"`
		Messages []wireMessage `json:"messages"`
		Tools    []wireTool    `json:"tools"`
	}
	got, ok := v.read(w, r, &req)
	if !ok {
		return
	}
	st := v.play(w, viewOfWire(req.Messages, req.Tools, got))
	if st == nil {
		return
	}
	respond(newPlayer(w, r, st), req.Stream)
}

// play returns the step of the script that answers a request. If the script refuses the request,
// play answers with the error and returns nil.
func (v *Server) play(w http.ResponseWriter, look *view) *step {
	st, err := v.script.play(look)
	if err != nil {
		refuseErr(w, err)
		return nil
	}
	return st
}

// respond sends the reply of a step in the format of one API.
func respond(p interface {
	stream()
	whole()
}, stream bool) {
	if stream {
		p.stream()
	} else {
		p.whole()
	}
}

// read reads a request. It refuses a request that is not JSON.
func (v *Server) read(w http.ResponseWriter, r *http.Request, into any) (got received, ok bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if err != nil {
		return received{}, false
	}
	if v.OnRequest != nil {
		v.OnRequest(body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request_error", "the request is not JSON: "+
			err.Error(), "")
		return received{}, false
	}
	return received{path: r.URL.Path, body: body}, true
}

// play checks a request and takes the next reply.
func (s *Script) play(v *view) (*step, error) {
	if !s.Lenient {
		if err := v.strict(s.Window); err != nil {
			return nil, err
		}
	}
	return s.take(v)
}

func refuseErr(w http.ResponseWriter, err error) {
	var strict *refusal
	if errors.As(err, &strict) {
		refuse(w, http.StatusBadRequest, strict.code, strict.text, "")
		return
	}
	refuse(w, http.StatusUnprocessableEntity, "script", err.Error(), "")
}

// refuse answers with an error in OpenAI's format.
func refuse(w http.ResponseWriter, status int, code, text, retryAfter string) {
	w.Header().Set("Content-Type", "application/json")
	if retryAfter != "" {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.WriteHeader(status)
	_, _ = w.Write(errorJSON(code, text))
}

func errorJSON(code, text string) []byte {
	b, _ := json.Marshal(map[string]any{"error": map[string]string{"message": text, "type": code,
		"code": code}})
	return b
}

// player plays one reply.
type player struct {
	w     http.ResponseWriter
	r     *http.Request
	step  *step
	delay time.Duration
	ended bool // whether the client has disconnected
}

func newPlayer(w http.ResponseWriter, r *http.Request, st *step) *player {
	return &player{w: w, r: r, step: st, delay: time.Duration(st.DelayMs) * time.Millisecond}
}

// errorFirst answers with the step's error if the step sends nothing before the error. It reports
// whether it answered.
func (p *player) errorFirst() bool {
	e := p.step.Error
	if e == nil || p.step.Text != "" || p.step.Reasoning != "" || len(p.step.ToolCalls) > 0 {
		return false
	}
	p.pause()
	status := e.Status
	if status == 0 {
		status = http.StatusInternalServerError
	}
	refuse(p.w, status, e.Code, e.text(), e.RetryAfter.String())
	return true
}

func (e *failure) text() string {
	if e.Message != "" {
		return e.Message
	}
	return strings.TrimSpace("the script's error " + e.Code)
}

// code returns the error's code. Without a code, it returns the status, which a stream cannot
// report in any other way.
func (e *failure) code() string {
	if e.Code == "" && e.Status != 0 {
		return strconv.Itoa(e.Status)
	}
	return e.Code
}

// rawAnswer sends the step's raw answer and returns true, or returns false if the step does not
// have one.
func (p *player) rawAnswer() bool {
	r := p.step.Raw
	if r == nil {
		return false
	}
	p.pause()
	p.w.Header().Set("Content-Type", r.Type)
	p.w.WriteHeader(cmp.Or(r.Status, http.StatusOK))
	_, _ = io.WriteString(p.w, r.Body)
	return true
}

// stall stops sending and keeps the connection open until the client disconnects or the server
// ends.
func (p *player) stall() {
	_ = http.NewResponseController(p.w).Flush()
	<-p.r.Context().Done()
}

// pause waits for the step's delay, or until the client disconnects.
func (p *player) pause() {
	if p.delay <= 0 {
		return
	}
	if pause.For(p.r.Context(), p.delay) != nil {
		p.ended = true
	}
}

func (p *player) stream() {
	if p.rawAnswer() || p.errorFirst() {
		return
	}
	p.w.Header().Set("Content-Type", "text/event-stream")
	st := p.step
	p.delta(map[string]any{"role": "assistant", "content": ""}, false)
	for _, s := range pieces(st.Reasoning, st.Chunks) {
		p.delta(map[string]any{"reasoning_content": s}, true)
	}
	for _, s := range pieces(st.Text, st.Chunks) {
		p.delta(map[string]any{"content": s}, true)
	}
	for i, c := range st.ToolCalls {
		p.call(i, c)
	}
	p.finish()
}

func (p *player) call(i int, c call) {
	head := map[string]any{"index": i, "id": c.ID, "type": "function",
		"function": map[string]any{"name": c.Name, "arguments": ""}}
	p.delta(map[string]any{"tool_calls": []any{head}}, true)
	for _, s := range pieces(c.args, p.step.Chunks) {
		p.delta(map[string]any{"tool_calls": []any{map[string]any{"index": i,
			"function": map[string]any{"arguments": s}}}}, true)
	}
}

// finish ends the stream as the step specifies.
func (p *player) finish() {
	st := p.step
	switch {
	case st.Stall:
		p.stall()
		return
	case st.Drop == dropRune:
		p.write("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\xe2\x82")
		p.drop()
		return
	case st.Drop != 0:
		p.drop()
		return
	case st.Error != nil:
		p.send(errorJSON(st.Error.code(), st.Error.text()))
		return
	}
	p.choice(map[string]any{}, st.finishReason())
	if len(st.Usage) > 0 {
		p.send(fmt.Appendf(nil, `{"id":"script","object":"chat.completion.chunk","choices":[],`+
			`"usage":%s}`, wireUsage(st.Usage, false)))
	}
	p.send([]byte("[DONE]"))
}

// drop closes the connection abruptly.
func (p *player) drop() {
	if c, _, err := http.NewResponseController(p.w).Hijack(); err == nil {
		_ = c.Close()
		return
	}
	panic(http.ErrAbortHandler)
}

func (st *step) finishReason() string {
	if st.Finish != "" {
		return st.Finish
	}
	if len(st.ToolCalls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func (p *player) delta(d map[string]any, paced bool) {
	if paced {
		p.pause()
	}
	p.choice(d, nil)
}

func (p *player) choice(d map[string]any, finish any) {
	b, _ := json.Marshal(map[string]any{
		"id": "script", "object": "chat.completion.chunk", "created": 0, "model": "script",
		"choices": []any{map[string]any{"index": 0, "delta": d, "finish_reason": finish}},
	})
	p.send(b)
}

func (p *player) send(data []byte) { p.write("data: %s\n\n", data) }

// write sends text to a client that is still connected.
func (p *player) write(format string, args ...any) {
	if p.ended {
		return
	}
	if _, err := fmt.Fprintf(p.w, format, args...); err != nil {
		p.ended = true
		return
	}
	_ = http.NewResponseController(p.w).Flush()
}

// whole answers without a stream.
func (p *player) whole() {
	if p.rawAnswer() || p.errorFirst() || p.errorLast() {
		return
	}
	st := p.step
	m := map[string]any{"role": "assistant", "content": st.Text}
	if st.Reasoning != "" {
		m["reasoning_content"] = st.Reasoning
	}
	var calls []any
	for _, c := range st.ToolCalls {
		calls = append(calls, map[string]any{"id": c.ID, "type": "function",
			"function": map[string]any{"name": c.Name, "arguments": c.args}})
	}
	if calls != nil {
		m["tool_calls"] = calls
	}
	answer := map[string]any{
		"id": "script", "object": "chat.completion", "created": 0, "model": "script",
		"choices": []any{map[string]any{"index": 0, "message": m,
			"finish_reason": st.finishReason()}},
	}
	if len(st.Usage) > 0 {
		answer["usage"] = wireUsage(st.Usage, false)
	}
	p.document(answer)
}

// errorLast waits for the step's delay and answers with the error that a stream would send after
// its text. It reports whether it answered.
func (p *player) errorLast() bool {
	p.pause()
	e := p.step.Error
	if e != nil {
		refuse(p.w, max(e.Status, http.StatusBadRequest), e.Code, e.text(), e.RetryAfter.String())
	}
	return e != nil
}

// document answers with one JSON document, or with half of it if the step stalls or drops the
// connection.
func (p *player) document(answer any) {
	b, _ := json.Marshal(answer)
	if p.step.Stall {
		p.w.Header().Set("Content-Length", fmt.Sprint(len(b)))
		p.write("%s", b[:len(b)/2])
		p.stall()
		return
	}
	if p.step.Drop != 0 {
		b = b[:len(b)/2]
		p.w.Header().Set("Content-Length", fmt.Sprint(2*len(b)+2))
	}
	p.w.Header().Set("Content-Type", "application/json")
	_, _ = p.w.Write(b)
}

// wireUsage converts usage with agent-lsp's field names to the names of the chat API or, if
// responses is true, of the responses API. It returns usage with OpenAI's names unchanged.
func wireUsage(raw json.RawMessage, responses bool) json.RawMessage {
	var u struct {
		Input, Output, Cached, CacheWrite, Reasoning, Total int
		Cost                                                float64
		Prompt                                              *int `json:"prompt_tokens"`
		InputTokens                                         *int `json:"input_tokens"`
	}
	if json.Unmarshal(raw, &u) != nil || u.Prompt != nil || u.InputTokens != nil {
		return raw
	}
	if u.Total == 0 {
		u.Total = u.Input + u.Output
	}
	in, out := "prompt_tokens", "completion_tokens"
	if responses {
		in, out = "input_tokens", "output_tokens"
	}
	w := map[string]any{
		in: u.Input, out: u.Output, "total_tokens": u.Total,
		in + "_details": map[string]int{"cached_tokens": u.Cached,
			"cache_write_tokens": u.CacheWrite},
		out + "_details": map[string]int{"reasoning_tokens": u.Reasoning},
	}
	if u.Cost > 0 {
		w["cost"] = u.Cost
	}
	b, _ := json.Marshal(w)
	return b
}

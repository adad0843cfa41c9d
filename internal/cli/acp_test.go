package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// acpClient speaks the Agent Client Protocol with the program, which runs in-process.
type acpClient struct {
	t    testing.TB
	in   io.WriteCloser
	out  *bufio.Reader
	next int
	text strings.Builder // text of the agent's messages so far
	code chan int
	// permit answers the agent's requests. If it is nil, every request is cancelled.
	permit func(method string, message []byte) any
}

func startACP(t testing.TB, env ...string) *acpClient {
	t.Helper()
	return startACPIn(t, filepath.Join(t.TempDir(), "state"), env...)
}

func startACPIn(t testing.TB, state string, env ...string) *acpClient {
	t.Helper()
	return startACPAs(t, state, nil, env...)
}

// startACPWith starts the program for a client with these capabilities.
func startACPWith(t testing.TB, capabilities map[string]any, env ...string) *acpClient {
	t.Helper()
	return startACPAs(t, filepath.Join(t.TempDir(), "state"), capabilities, env...)
}

func startACPAs(t testing.TB, state string, capabilities map[string]any, env ...string) *acpClient {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := &acpClient{t: t, in: inW, out: bufio.NewReader(outR), code: make(chan int, 1)}
	env = append([]string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}, env...)
	go func() {
		c.code <- run(context.Background(), []string{"acp", "--state-dir", state}, env, inR, outW,
			io.Discard)
		outW.Close()
	}()
	c.call("initialize",
		map[string]any{"protocolVersion": 1, "clientCapabilities": capabilities})
	return c
}

// call sends a request and returns the result. Until the result arrives, it collects the agent's
// text and answers the agent's requests with permit.
func (c *acpClient) call(method string, params any) map[string]any {
	c.t.Helper()
	result, refused := c.ask(method, params)
	if refused != nil {
		c.t.Fatalf("%s: %v", method, refused)
	}
	return result
}

// ask is like call, but also returns the error of a request that fails.
func (c *acpClient) ask(method string, params any) (result, refused map[string]any) {
	c.t.Helper()
	c.next++
	c.send(map[string]any{"jsonrpc": "2.0", "id": c.next, "method": method, "params": params})
	for {
		line, err := c.out.ReadBytes('\n')
		if err != nil {
			c.t.Fatalf("%s: %v", method, err)
		}
		var m struct {
			ID     any
			Method string
			Params struct {
				Update struct {
					SessionUpdate string
					Content       json.RawMessage
				}
			}
			Result map[string]any
			Error  map[string]any
		}
		if err := json.Unmarshal(line, &m); err != nil {
			c.t.Fatalf("%s: %v", line, err)
		}
		switch {
		case m.Method == "session/update" && m.Params.Update.SessionUpdate == "agent_message_chunk":
			var text struct{ Text string }
			_ = json.Unmarshal(m.Params.Update.Content, &text)
			c.text.WriteString(text.Text)
		case m.Method != "" && m.ID != nil:
			var answer any = map[string]any{"outcome": map[string]any{"outcome": "cancelled"}}
			if c.permit != nil {
				answer = c.permit(m.Method, line)
			}
			c.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": answer})
		case m.Method == "" && m.ID == float64(c.next):
			return m.Result, m.Error
		}
	}
}

func (c *acpClient) send(m any) {
	if _, err := c.in.Write(append(encodeArgs(m), '\n')); err != nil {
		c.t.Fatal(err)
	}
}

func (c *acpClient) session(dir string) string {
	return c.call("session/new", map[string]any{"cwd": dir,
		"mcpServers": []any{}})["sessionId"].(string)
}

func (c *acpClient) prompt(session, text string) any {
	c.t.Helper()
	return c.call("session/prompt",
		map[string]any{"sessionId": session,
			"prompt": []any{map[string]any{"type": "text", "text": text}}})["stopReason"]
}

// end closes the input and returns the program's exit code.
func (c *acpClient) end() int {
	c.in.Close()
	go io.Copy(io.Discard, c.out)
	select {
	case code := <-c.code:
		return code
	case <-time.After(5 * time.Minute):
		c.t.Fatal("the program did not end")
		return -1
	}
}

func TestACP(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(t.TempDir(), "script.jsonl")
	lines := `{"toolCalls":[{"name":"write","arguments":{"path":"a.txt","content":"x\n"}}]}` +
		"\n" + `{"expect":{"lastTool":"reject"},"text":"as you wish"}` + "\n"
	if err := os.WriteFile(script, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	c := startACP(t, "AGENT_LSP_SCRIPT="+script)
	if got := c.prompt(c.session(dir), "write"); got != "end_turn" {
		t.Errorf("stop reason %v", got)
	}
	if got := c.text.String(); got != "as you wish" {
		t.Errorf("said %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, "a.txt")); err == nil {
		t.Error("a rejected edit was applied")
	}
	if code := c.end(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

// Each request in a JSON-RPC batch is answered exactly once, even if its response is available
// before the others.
func TestACPBatch(t *testing.T) {
	script := filepath.Join(t.TempDir(), "script.jsonl")
	mustStore(t, script, []byte(`{"text":"one"}`+"\n"+`{"text":"two"}`+"\n"))
	c := startACP(t, "AGENT_LSP_SCRIPT="+script)
	one, two := c.session(t.TempDir()), c.session(t.TempDir())
	prompt := func(id int, session string) any {
		return map[string]any{"jsonrpc": "2.0", "id": id, "method": "session/prompt",
			"params": map[string]any{"sessionId": session,
				"prompt": []any{map[string]any{"type": "text", "text": "go"}}}}
	}
	c.send([]any{prompt(101, one), prompt(102, two),
		map[string]any{"jsonrpc": "2.0", "id": 103, "method": "nonsense"}})
	answers := map[float64]int{}
	for len(answers) < 3 {
		c.answers(answers)
	}
	c.next = 110
	c.send(map[string]any{"jsonrpc": "2.0", "id": 110, "method": "nonsense"})
	for answers[110] == 0 {
		c.answers(answers)
	}
	if want := map[float64]int{101: 1, 102: 1, 103: 1, 110: 1}; !maps.Equal(answers, want) {
		t.Errorf("answers by id: %v", answers)
	}
	c.end()
}

// answers reads one line and counts the responses in it by ID.
func (c *acpClient) answers(count map[float64]int) {
	c.t.Helper()
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	if line[0] != '[' {
		line = append(append([]byte{'['}, line...), ']')
	}
	var all []map[string]any
	if err := json.Unmarshal(line, &all); err != nil {
		c.t.Fatalf("%s: %v", line, err)
	}
	for _, m := range all {
		if id, ok := m["id"].(float64); ok && m["method"] == nil {
			count[id]++
		}
	}
}

// Every method that accepts a session folder validates it. A session is restricted to its own
// folder, whatever folders other sessions use.
func TestACPFolders(t *testing.T) {
	one, two := t.TempDir(), t.TempDir()
	script, secret := filepath.Join(t.TempDir(), "script.jsonl"), filepath.Join(two, "secret.txt")
	mustStore(t, secret, []byte("the other's\n"))
	var lines []byte
	for _, args := range []map[string]any{{"path": secret},
		{"path": filepath.Join("..", filepath.Base(two), "secret.txt")}} {
		lines = append(
			append(
				lines,
				encodeArgs(
					map[string]any{
						"toolCalls": []any{map[string]any{"name": "read", "arguments": args}},
					},
				)...),
			'\n',
		)
	}
	mustStore(t, script, append(lines,
		[]byte(`{"expect":{"lastTool":"outside"},"text":"walled in"}`+"\n")...))
	c := startACP(t, "AGENT_LSP_SCRIPT="+script)
	id := c.session(one)
	c.session(two)
	for _, method := range []string{"session/new", "session/load", "session/resume",
		"session/list"} {
		for _, cwd := range []string{"", "relative", filepath.Join(one, "missing"), secret} {
			_, refused := c.ask(method, map[string]any{"sessionId": id, "cwd": cwd,
				"mcpServers": []any{}})
			if refused["code"] != -32602.0 ||
				!strings.HasPrefix(fmt.Sprint(refused["message"]), "cwd: ") {
				t.Errorf("%s in %q: %v", method, cwd, refused)
			}
		}
	}
	if got := c.prompt(id, "look"); got != "end_turn" || c.text.String() != "walled in" {
		t.Errorf("%v: %q", got, c.text.String())
	}
	if code := c.end(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
}

// Sessions that start at about the same time share a single request for the provider's models. If
// the request fails, the next session retries it.
func TestACPModels(t *testing.T) {
	var asked atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/models" { // responds with a model list in the format of a local server
			http.NotFound(w, r)
			return
		}
		if asked.Add(1) == 1 {
			http.Error(w, `{"error":{"message":"not yours"}}`, http.StatusForbidden)
			return
		}
		fmt.Fprint(w, `{"data":[{"id":"first"},{"id":"second"}]}`)
	}))
	defer srv.Close()
	c := startACP(t, "OPENAI_API_KEY=k", "OPENAI_BASE_URL="+srv.URL, "OPENAI_MODEL=m")
	dir := t.TempDir()
	session := func() string {
		return fmt.Sprint(c.call("session/new",
			map[string]any{"cwd": dir, "mcpServers": []any{}})["configOptions"])
	}
	for asked.Load() == 0 { // wait until a session's request has been rejected
		if got := session(); strings.Contains(got, "second") {
			t.Fatalf("models that no server lists: %s", got)
		}
	}
	for tries := 0; !strings.Contains(session(), "second"); tries++ {
		if tries == 10000 {
			t.Fatal("the response for a new session contains no models")
		}
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("asked %d times", n)
	}
	c.end()
}

// A session without turns can be closed while other sessions are busy.
func TestACPCloseWhileBusy(t *testing.T) {
	c := startACP(t)
	dir := t.TempDir()
	for range 3 {
		id := c.session(dir)
		for range 20 {
			c.next++
			c.send(map[string]any{"jsonrpc": "2.0", "id": c.next, "method": "session/new",
				"params": map[string]any{"cwd": dir, "mcpServers": []any{}}})
		}
		if _, refused := c.ask("session/close", map[string]any{"sessionId": id}); refused != nil {
			t.Fatalf("not closed: %v", refused)
		}
		if _, refused := c.ask("session/prompt",
			map[string]any{"sessionId": id}); refused["code"] != -32002.0 {
			t.Errorf("a prompt of a closed session: %v", refused)
		}
	}
	c.end()
}

// provider lists one model, answers every prompt with "ok", and reports when the prompt arrived.
func provider(b *testing.B) (url string, came chan time.Time) {
	came = make(chan time.Time, 1)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
			return
		}
		came <- time.Now()
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(
			w,
			"data: {\"choices\":[{\"delta\":{\"content\":\"ok\"}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
		)
	}))
	b.Cleanup(srv.Close)
	return srv.URL, came
}

// BenchmarkPrompt measures the time from the prompt until the provider receives the request, and
// until the turn ends, for both front ends.
func BenchmarkPrompt(b *testing.B) {
	measure := func(b *testing.B, came chan time.Time, prompt func()) {
		prompt()
		<-came
		var request time.Duration
		for b.Loop() {
			began := time.Now()
			prompt()
			request += (<-came).Sub(began)
		}
		b.ReportMetric(float64(request.Microseconds())/float64(b.N), "µs-to-request/op")
	}
	b.Run("acp", func(b *testing.B) {
		url, came := provider(b)
		c := startACP(b, "OPENAI_API_KEY=k", "OPENAI_BASE_URL="+url, "OPENAI_MODEL=m")
		id := c.session(b.TempDir())
		measure(b, came, func() { c.prompt(id, "hello") })
		c.end()
	})
	b.Run("lsp", func(b *testing.B) {
		url, came := provider(b)
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		env := []string{"HOME=" + b.TempDir(), "PATH=" + os.Getenv("PATH"), "OPENAI_API_KEY=k",
			"OPENAI_BASE_URL=" + url, "OPENAI_MODEL=m"}
		code := make(chan int, 1)
		go func() {
			code <- run(b.Context(), []string{"serve", "--state-dir",
				filepath.Join(b.TempDir(), "state")}, env, inR, outW, io.Discard)
			outW.Close()
		}()
		c := connect(b.Context(), outR, inW, &client{notify: func(string, json.RawMessage) {}})
		if err := c.initialize(b.Context(), b.TempDir(), nil, false, false); err != nil {
			b.Fatal(err)
		}
		measure(b, came, func() {
			var res, turn map[string]any
			if err := c.call(b.Context(), "agent/prompt", map[string]any{"prompt": "hello"},
				&res); err != nil {
				b.Fatal(err)
			}
			wait := map[string]any{"sessionId": res["sessionId"], "messageId": res["messageId"]}
			if err := c.call(b.Context(), "agent/turn/wait", wait, &turn); err != nil {
				b.Fatal(err)
			}
		})
		inW.Close()
		<-code
	})
}

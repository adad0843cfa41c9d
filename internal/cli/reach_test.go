package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/rpc/rpctest"
	"github.com/agent-lsp/agent-lsp/internal/tools/mcp/mcptest"
)

// reach is a daemon whose provider records the requests and by default answers "ok".
type reach struct {
	t        testing.TB
	ed       *rpctest.Editor
	home     string // home folder and workspace
	requests chan []byte
	answers  chan struct{}       // if not nil, each answer waits for a value from it
	reply    func([]byte) string // returns the provider's answer to the body of a request
	end      func()              // stops the daemon and its child processes, and waits for them
}

func newReach(t testing.TB, config map[string]any, env ...string) *reach {
	t.Helper()
	r := &reach{t: t, requests: make(chan []byte, 100), reply: replyTo}
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		if strings.HasSuffix(req.URL.Path, "/chat/completions") {
			r.requests <- body
			if r.answers != nil {
				<-r.answers
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,%s}]}\n\ndata: [DONE]\n\n", r.reply(body))
	}))
	t.Cleanup(provider.Close)
	home := t.TempDir()
	r.home = home
	d := startInProcess(t, []string{"serve"},
		append(env, "HOME="+home, "USERPROFILE="+home, "XDG_STATE_HOME="+home, "XDG_CONFIG_HOME="+
			home, "PATH="+os.Getenv("PATH"),
			"OPENAI_API_KEY=k", "OPENAI_BASE_URL="+provider.URL, "OPENAI_MODEL=m"))
	r.ed = rpctest.NewEditor(d.Stdout, d.Stdin)
	r.end = sync.OnceFunc(func() { _ = r.ed.CloseStdin(); d.Wait() })
	t.Cleanup(r.end)
	r.call("initialize", map[string]any{"rootUri": rpctest.URIOf(home),
		"initializationOptions": config,
		"capabilities": map[string]any{
			"experimental": map[string]any{
				"agentLsp": map[string]any{"version": 1, "wholeFolders": true},
			},
		}}, nil)
	_ = r.ed.Notify("initialized", map[string]any{})
	return r
}

// replyTo returns a call that starts one or eight sub-agents if the prompt requests it and no call
// was made yet. Otherwise, it returns "ok".
func replyTo(body []byte) string {
	n := 0
	switch {
	case strings.Contains(string(body), `"role":"tool"`):
	case strings.Contains(string(body), `"content":"hand out one"`):
		n = 1
	case strings.Contains(string(body), `"content":"hand out eight"`):
		n = 8
	}
	if n == 0 {
		return `"delta":{"role":"assistant","content":"ok"},"finish_reason":"stop"`
	}
	return toolCallOf("agent", `{"tasks":[`+
		strings.TrimSuffix(strings.Repeat(`{"task":"say ok"},`, n), ",")+`]}`)
}

// toolCallOf returns a reply that calls a tool.
func toolCallOf(name, args string) string {
	return `"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"c1","type":"function",` +
		`"function":{"name":"` + name + `","arguments":` + strconv.Quote(args) +
		`}}]},"finish_reason":"tool_calls"`
}

// turn runs one turn in a new session.
func (r *reach) turn(prompt string) (took time.Duration) {
	r.t.Helper()
	var s struct{ SessionID string }
	r.call("agent/session/new", map[string]any{}, &s)
	began := time.Now()
	r.call("agent/prompt", map[string]any{"sessionId": s.SessionID, "prompt": prompt}, nil)
	var end struct{ Status string }
	r.call("agent/turn/wait", map[string]any{"sessionId": s.SessionID}, &end)
	took = time.Since(began)
	if end.Status != "completed" {
		r.t.Fatalf("%s: %s", prompt, end.Status)
	}
	for len(r.requests) > 0 {
		<-r.requests
	}
	return took
}

// BenchmarkSubagents compares a turn that delegates one task with a turn that delegates eight, four
// at a time, with a model that answers immediately. The two kinds of turns alternate, so that load
// on the machine affects both equally. The target is that eight tasks take at most three times as
// long as one. The metric eight/one is the ratio of the medians.
func BenchmarkSubagents(b *testing.B) {
	r := newReach(b, map[string]any{})
	var one, eight []time.Duration
	for b.Loop() {
		one = append(one, r.turn("hand out one"))
		eight = append(eight, r.turn("hand out eight"))
	}
	a, z := median(one), median(eight)
	b.ReportMetric(a.Seconds()*1000, "ms/one")
	b.ReportMetric(z.Seconds()*1000, "ms/eight")
	b.ReportMetric(float64(z)/float64(a), "eight/one")
}

func median(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}

func (r *reach) call(method string, params, result any) {
	r.t.Helper()
	if err := r.ed.Call(method, params, result); err != nil {
		r.t.Fatalf("%s: %v", method, err)
	}
}

// first sends a prompt in a new session. It returns the first request and the time until it
// arrived.
func (r *reach) first() (request []byte, after time.Duration) {
	r.t.Helper()
	var s struct{ SessionID string }
	r.call("agent/session/new", map[string]any{}, &s)
	began := time.Now()
	r.call("agent/prompt", map[string]any{"sessionId": s.SessionID, "prompt": "hello"}, nil)
	request = <-r.requests
	after = time.Since(began)
	r.call("agent/turn/wait", map[string]any{"sessionId": s.SessionID}, nil)
	return request, after
}

// servers returns the configuration of n MCP servers that run in the given mode.
func servers(n int, mode string) map[string]any {
	list := map[string]any{}
	for i := range n {
		list[fmt.Sprintf("server%d", i)] = map[string]any{"command": os.Args[0],
			"env": map[string]string{mcptest.Variable: mode}}
	}
	return map[string]any{"mcpServers": list}
}

// Even with 200 MCP tools, the first request stays under 12,000 bytes. It lists the names of the
// tools.
func TestFirstRequestOfManyTools(t *testing.T) {
	for _, split := range []struct {
		servers int
		mode    string
	}{{10, "many=20"}, {1, "many=200"}} {
		t.Run(fmt.Sprint(split.servers), func(t *testing.T) {
			r := newReach(t, servers(split.servers, split.mode))
			r.first() // this starts the servers
			for deadline := time.Now().Add(rpctest.Patience); ; time.Sleep(20 * time.Millisecond) {
				var list struct{ Tools []struct{ Name string } }
				r.call("agent/tools/list", map[string]any{}, &list)
				n := 0 // without the four other tools that each server has
				for _, tl := range list.Tools {
					if strings.Contains(tl.Name, "_tool_") {
						n++
					}
				}
				if n == 200 {
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("only %d tools are listed", n)
				}
			}
			request, _ := r.first()
			t.Logf("%d bytes", len(request))
			if len(request) >= 12000 {
				t.Errorf("the first request takes %d bytes:\n%s", len(request), request)
			}
			if !strings.Contains(string(request),
				"Tools of MCP servers, which tool_search loads:") ||
				!strings.Contains(string(request), "server0_tool_000") {
				t.Errorf("the tools are not announced:\n%s", request)
			}
		})
	}
}

// Ten servers that never finish starting do not change the first prompt. Until its request arrives,
// the daemon reports, stores and sends the same data as without servers. Only tool_search lists the
// servers' names for the model.
func TestServersAddNothingToTheFirstPrompt(t *testing.T) {
	// how is the request that creates the session.
	for _, how := range []string{"agent/session/new", "agent/prompt"} {
		t.Run(filepath.Base(how), func(t *testing.T) {
			without, with := firstPrompt(t, how, 0), firstPrompt(t, how, 10)
			if without.reported != with.reported {
				t.Errorf(
					"reported with servers:\n%s\nwithout:\n%s",
					with.reported,
					without.reported,
				)
			}
			if without.stored != with.stored {
				t.Errorf("stored with servers:\n%s\nwithout:\n%s", with.stored, without.stored)
			}
			if without.sent != with.sent {
				t.Errorf("sent with servers:\n%s\nwithout:\n%s", with.sent, without.sent)
			}
			const names = " It also finds, and waits for, the tools of these MCP servers: server0, server1, server2, server3, server4, server5, server6, server7, server8, server9."
			if !strings.HasSuffix(with.search, names) ||
				strings.TrimSuffix(with.search, names) != without.search {
				t.Errorf("tool_search says with servers:\n%s\nwithout:\n%s", with.search,
					without.search)
			}
		})
	}
}

// moment is the state when a first request has arrived: the notifications, the session's records,
// the messages of the request, and the description of tool_search. Values that differ from run to
// run are removed.
type moment struct{ reported, stored, sent, search string }

func firstPrompt(t *testing.T, how string, n int) (m moment) {
	t.Helper()
	r := newReach(t, servers(n, "hang"))
	r.answers = make(chan struct{})
	defer close(r.answers)
	params := map[string]any{"prompt": "hello"}
	if how != "agent/prompt" {
		var s struct{ SessionID string }
		r.call(how, map[string]any{}, &s)
		params["sessionId"] = s.SessionID
	}
	r.call("agent/prompt", params, nil)
	request := <-r.requests
	if _, _, err := r.ed.Next(0, "agent/item/completed", "", true); err != nil {
		t.Fatal(err)
	}
	for _, msg := range r.ed.Log(0) {
		// Skip responses. Also skip session states, because one notification may replace two
		// others.
		if msg.Method == "" || msg.Method == "agent/session/updated" {
			continue
		}
		var p struct{ Item struct{ Type, Text string } }
		_ = json.Unmarshal(msg.Params, &p)
		m.reported += fmt.Sprintln(msg.Method, p.Item.Type, p.Item.Text)
	}
	files, err := filepath.Glob(filepath.Join(r.home, "agent-lsp", "sessions", "*", "*.jsonl"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the sessions are %v (%v)", files, err)
	}
	lines, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(lines)) {
		var rec struct {
			Type    string
			Message struct{ Role string }
		}
		_ = json.Unmarshal([]byte(line), &rec)
		if rec.Type == "seq" { // its value depends on how many notifications there were
			continue
		}
		m.stored += fmt.Sprintln(rec.Type, rec.Message.Role)
	}
	var body struct {
		Messages json.RawMessage
		Tools    []struct {
			Function struct{ Name, Description string }
		}
	}
	if err := json.Unmarshal(request, &body); err != nil {
		t.Fatal(err)
	}
	m.sent = strings.ReplaceAll(string(body.Messages), r.home, "HOME")
	for _, tool := range body.Tools {
		if tool.Function.Name == "tool_search" {
			m.search = tool.Function.Description
		}
	}
	return m
}

// The MCP server and the agent described in docs/reference/tools.md work as documented and need at
// most ten lines each. The test uses the package that scripts/setup.sh installed instead of
// downloading one with npx.
func TestDocumentedServerAndAgent(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "tools.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "## Example: an MCP server and an agent")
	blocks := regexp.MustCompile("(?s)```(json|markdown)\n(.*?)```").FindAllStringSubmatch(section,
		2)
	if len(blocks) != 2 || blocks[0][1] != "json" || blocks[1][1] != "markdown" {
		t.Fatalf("docs/reference/tools.md has no server and agent: %q", blocks)
	}
	for _, b := range blocks {
		if n := strings.Count(b[2], "\n"); n > 10 {
			t.Errorf("%d lines: %s", n, b[2])
		}
	}
	const fetched = `"npx", "args": ["-y", "@modelcontextprotocol/server-filesystem",`
	server, _ := json.Marshal(installed(t, "@modelcontextprotocol", "server-filesystem", "dist",
		"index.js"))
	if !strings.Contains(blocks[0][2], fetched) {
		t.Fatalf("the page names another server: %s", blocks[0][2])
	}
	var config map[string]any
	if err := json.Unmarshal([]byte(strings.Replace(blocks[0][2], fetched, `"node", "args": [`+
		string(server)+`,`, 1)), &config); err != nil {
		t.Fatal(err)
	}
	r := newReach(t, config)
	agents := filepath.Join(r.home, ".agent-lsp", "agents")
	if err := errors.Join(os.MkdirAll(agents, 0o755),
		os.WriteFile(filepath.Join(agents, "reviewer.md"), []byte(blocks[1][2]),
			0o600)); err != nil {
		t.Fatal(err)
	}
	r.first()
	for deadline := time.Now().Add(rpctest.Patience); ; time.Sleep(20 * time.Millisecond) {
		var list struct {
			Tools []struct{ Name, Description string }
		}
		r.call("agent/tools/list", map[string]any{}, &list)
		text := fmt.Sprint(list.Tools)
		if strings.Contains(text, "{files_read_text_file ") &&
			strings.Contains(text, "- reviewer: reads a change and reports what is wrong with it") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the tools are %s", text)
		}
	}
}

// installed returns the path of a file in the packages that scripts/setup.sh installs.
func installed(t testing.TB, path ...string) string {
	t.Helper()
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			t.Fatal(err)
		}
		cache = filepath.Join(home, ".cache")
	}
	file := filepath.Join(append([]string{cache, "agent-lsp-test", "node", "node_modules"},
		path...)...)
	if _, err := os.Stat(file); err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("%s is missing: run scripts/setup.sh", file)
		}
		t.Skipf("%s is missing: run scripts/setup.sh", file)
	}
	return file
}

// BenchmarkFirstPrompt measures the time from a prompt to the provider's request, with and without
// ten MCP servers that are starting, alternately in one run. It covers a session that exists before
// the prompt, and a session that the prompt creates. The target is that the servers add no time.
// The metrics with/without and processors are the ratios of the medians of the elapsed time and of
// the processor time.
func BenchmarkFirstPrompt(b *testing.B) {
	for _, direct := range []bool{false, true} {
		b.Run(map[bool]string{false: "session", true: "direct"}[direct], func(b *testing.B) {
			var took, used [2][]time.Duration
			for round := 0; b.Loop(); round++ {
				for j := range 2 { // alternate which case goes first
					i := (round + j) % 2
					r := newReach(b, servers(10*i, "hang"))
					wall, processors := r.firstTime(direct)
					took[i], used[i] = append(took[i], wall), append(used[i], processors)
					r.end() // otherwise its servers would still be starting during the next run
				}
			}
			without, with := median(took[0]), median(took[1])
			b.ReportMetric(without.Seconds()*1000, "ms/without")
			b.ReportMetric(with.Seconds()*1000, "ms/with")
			b.ReportMetric(float64(with)/float64(without), "with/without")
			b.ReportMetric(float64(median(used[1]))/float64(median(used[0])), "processors")
		})
	}
}

// firstTime sends a prompt, either in an existing session or in one that the prompt creates. It
// returns the time until the request arrived and the processor time used.
func (r *reach) firstTime(direct bool) (wall, processors time.Duration) {
	r.t.Helper()
	var s struct{ SessionID string }
	params := map[string]any{"prompt": "hello"}
	if !direct {
		r.call("agent/session/new", map[string]any{}, &s)
		params["sessionId"] = s.SessionID
	}
	began, used := time.Now(), processorTime()
	r.call("agent/prompt", params, &s)
	<-r.requests
	wall, processors = time.Since(began), processorTime()-used
	r.call("agent/turn/wait", map[string]any{"sessionId": s.SessionID}, nil)
	return wall, processors
}

package cli

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/testspeed"
	"github.com/agent-lsp/agent-lsp/internal/tools/mcp/mcptest"
)

// dialled returns a listening address and a channel of the connections made to it.
func dialled(t *testing.T) (addr string, conns chan net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	conns = make(chan net.Conn, 100)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			t.Cleanup(func() { c.Close() })
			conns <- c
		}
	}()
	return l.Addr().String(), conns
}

// MCP servers start only after the first request has been sent, not while it is being prepared. A
// hook that runs before the request holds it until the test continues.
func TestNoServerStartsBeforeTheFirstRequest(t *testing.T) {
	hookAt, hook := dialled(t)
	serversAt, started := dialled(t)
	list := map[string]any{}
	for i := range 3 {
		list[fmt.Sprint("server", i)] = map[string]any{"command": os.Args[0],
			"env": map[string]string{mcptest.Variable: "hang", mcptest.DialVariable: serversAt}}
	}
	waits := map[string]any{"command": os.Args[0],
		"env": map[string]string{mcptest.Variable: "waits", mcptest.DialVariable: hookAt}}
	r := newReach(t, map[string]any{"mcpServers": list,
		"hooks": map[string]any{"beforeModel": []any{waits}}})
	var s struct{ SessionID string }
	r.call("agent/prompt", map[string]any{"prompt": "hello"}, &s) // creates the session
	held := <-hook
	// each iteration takes as long as starting a server, so the servers would have had time to
	// start
	for began := time.Now(); time.Since(began) < 300*time.Millisecond; {
		one := exec.Command(os.Args[0])
		one.Env = append(os.Environ(), mcptest.Variable+"=exit")
		_ = one.Run()
	}
	if n := len(started); n > 0 {
		t.Errorf("%d servers started while the request was prepared", n)
	}
	held.Close()
	<-r.requests
	for range 3 {
		<-started
	}
	r.call("agent/turn/wait", map[string]any{"sessionId": s.SessionID}, nil)
}

// A result of 50 MB (5 MB unless the test is selected by name) is stored completely in a file, and
// the request that reports it stays small.
func TestBigResultOfAServer(t *testing.T) {
	size := testspeed.HeavySize(50_000_000)
	config := servers(1, "plain")
	config["permissions"] = map[string]any{"profile": "trust"}
	r := newReach(t, config)
	r.reply = func(body []byte) string {
		switch strings.Count(string(body), `"role":"tool"`) {
		case 0:
			return toolCallOf("tool_search", `{"query": "select:server0_echo"}`)
		case 1:
			return toolCallOf("server0_echo", fmt.Sprintf(`{"text": "big %d"}`, size))
		}
		return replyTo(body)
	}
	var s struct{ SessionID string }
	r.call("agent/prompt", map[string]any{"prompt": "how long can it be?"}, &s)
	var end struct{ Status string }
	r.call("agent/turn/wait", map[string]any{"sessionId": s.SessionID}, &end)
	<-r.requests
	<-r.requests
	request := <-r.requests
	if end.Status != "completed" || len(request) > 100_000 {
		t.Errorf("the turn is %s, the request that contains the result has %d bytes", end.Status,
			len(request))
	}
	path := regexp.MustCompile(`the full text is in ([^]"]+\.txt)`).FindSubmatch(request)
	if path == nil {
		t.Fatalf("the model is not informed of a file: %s", request)
	}
	whole, err := os.ReadFile(string(path[1]))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(whole, []byte("x")); len(whole) != size || n != size {
		t.Errorf("the file has %d bytes, %d of them from the result", len(whole), n)
	}
}

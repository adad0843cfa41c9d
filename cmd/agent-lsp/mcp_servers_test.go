package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/testspeed"
	"github.com/agent-lsp/agent-lsp/internal/tools/mcp"
	"github.com/agent-lsp/agent-lsp/internal/tools/mcp/mcptest"
)

// dialled returns an address and the connections that come there.
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

// Servers start when the first request has been sent, not while it is made: a hook before it waits for us.
func TestNoServerStartsBeforeTheFirstRequest(t *testing.T) {
	hookAt, hook := dialled(t)
	serversAt, started := dialled(t)
	list := map[string]any{}
	for i := range 3 {
		list[fmt.Sprint("server", i)] = map[string]any{"command": os.Args[0], "env": map[string]string{mcptest.Variable: "hang", mcptest.DialVariable: serversAt}}
	}
	waits := map[string]any{"command": os.Args[0], "env": map[string]string{mcptest.Variable: "waits", mcptest.DialVariable: hookAt}}
	r := newReach(t, map[string]any{"mcpServers": list, "hooks": map[string]any{"beforeModel": []any{waits}}})
	var s struct{ SessionID string }
	r.call("agent/prompt", map[string]any{"prompt": "hello"}, &s) // its session begins with it
	held := <-hook
	for began := time.Now(); time.Since(began) < 300*time.Millisecond; { // each takes as long as a server's start
		one := exec.Command(os.Args[0])
		one.Env = append(os.Environ(), mcptest.Variable+"=exit")
		_ = one.Run()
	}
	if n := len(started); n > 0 {
		t.Errorf("%d servers started while the request was made", n)
	}
	held.Close()
	<-r.requests
	for range 3 {
		<-started
	}
	r.call("agent/turn/wait", map[string]any{"sessionId": s.SessionID}, nil)
}

// A result of 50 MB lies in its file to the last byte, while the request that it leads to stays small.
func TestBigResultOfAServer(t *testing.T) {
	size := testspeed.Size(50_000_000)
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
		t.Errorf("the turn is %s, the request that holds the result has %d bytes", end.Status, len(request))
	}
	path := regexp.MustCompile(`the whole is in ([^]"]+\.txt)`).FindSubmatch(request)
	if path == nil {
		t.Fatalf("the model is told of no file: %s", request)
	}
	whole, err := os.ReadFile(string(path[1]))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(whole, []byte("x")); len(whole) != size || n != size {
		t.Errorf("the file has %d bytes, %d of the result's", len(whole), n)
	}
}

// The size of a tool is that of what is sent of it, weighed anew when what stands behind its name changes, and sizes are not
// kept without bound.
func TestToolsAreWeighedOnce(t *testing.T) {
	spec := agent.Spec{Name: "weighed_tool", Description: "Says \"it\" again.", Schema: json.RawMessage(`{"type":"object"}`)}
	for _, description := range []string{spec.Description, spec.Description, "Another."} {
		spec.Description = description
		sent := fmt.Sprintf(`{"type":"function","function":{"name":%q,"description":%q,"parameters":%s}},`, spec.Name, spec.Description, spec.Schema)
		if n := sentBytes(spec); n != len(sent) {
			t.Errorf("%s weighs %d, not %d", sent, n, len(sent))
		}
	}
	weighs := func() float64 { return testing.AllocsPerRun(10, func() { sentBytes(spec) }) }
	if n := weighs(); n > 0 {
		t.Errorf("what is known is weighed anew, with %v allocations", n)
	}
	for i := range maxWeighed + 1 {
		sentBytes(agent.Spec{Name: fmt.Sprint("many_", i)})
	}
	weighed.Lock()
	defer weighed.Unlock()
	if n := len(weighed.tools); n > maxWeighed {
		t.Errorf("%d sizes are kept", n)
	}
}

// Nobody but the user says yes to what a server asks, also where it asks for no more than that.
func TestElicitationIsTheUsersToAccept(t *testing.T) {
	for answer, want := range map[string]string{"Accept": "accept", "Decline": "decline", "": "decline", "error": "cancel"} {
		asked := ""
		ask := func(_ context.Context, q wire.AskParams) (wire.AskResult, error) {
			if asked = q.Question; answer == "error" {
				return wire.AskResult{}, errors.New("nobody is there")
			}
			return wire.AskResult{Answer: answer, Declined: answer == ""}, nil
		}
		got, _ := elicited(context.Background(), mcp.Elicitation{Server: "files", Message: "Delete all?"}, "s", ask)
		if got != want || asked != "files asks: Delete all?" {
			t.Errorf("asked %q and told %q, the server gets %s, want %s", asked, answer, got, want)
		}
	}
}

package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/rpc/acp/content"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"

	"go.uber.org/goleak"

	store "github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// refusing implements settings that reject every session, so that a test can observe a request for
// a session without running one.
type refusing struct{ root string }

func (r refusing) Session(json.RawMessage) (config.Config, []string, error) {
	return config.Config{}, nil, errors.New("asked " + r.root)
}
func (refusing) Storable(own json.RawMessage) json.RawMessage              { return own }
func (refusing) Merge(own, _ json.RawMessage) (json.RawMessage, error)     { return own, nil }
func (refusing) ClientChanged(json.RawMessage) (notices []string, _ error) { return nil, nil }

// launched is a client with the servers that were started for it.
type launched struct {
	t       *testing.T
	in      *io.PipeWriter
	out     *bufio.Reader
	started chan string // the root of each server that starts
	closed  chan string // the root of each server that has been closed
	served  chan error
	asked   int
	writes  chan bool // whether each server may write files
}

func launchAhead(t *testing.T, ahead string) *launched {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	l := &launched{t: t, in: inW, out: bufio.NewReader(outR), started: make(chan string, 9),
		closed: make(chan string, 9), served: make(chan error, 1),
		writes: make(chan bool, 9)}
	start := func(init agentapi.Init, _ Terminal) (*agentapi.Core, error) {
		root := content.PathOf(init.Roots[0])
		l.started <- root
		l.writes <- init.Editor.Features().Create
		ws := workspace.New(workspace.Options{StateDir: t.TempDir()})
		library, settings := store.Open(t.TempDir()), refusing{root}
		return &agentapi.Core{
			Host:      host.New(host.Options{Workspace: ws, Library: library, Settings: settings}),
			Workspace: ws, Library: library, Settings: settings,
			Close: func(context.Context) error {
				ws.Close()
				l.closed <- root
				return nil
			},
		}, nil
	}
	go func() {
		l.served <- Serve(context.Background(),
			Options{In: inR, Out: outW, Version: "1", Ahead: ahead, Start: start})
		outW.Close()
	}()
	return l
}

// next waits until a server starts or is closed, depending on the channel, and returns the server's
// root.
func (l *launched) next(roots chan string) string {
	l.t.Helper()
	select {
	case root := <-roots:
		return root
	case <-time.After(time.Minute):
		l.t.Fatal("no server started or closed")
		return ""
	}
}

// ask sends a request and returns its response, which is either the result or the error.
func (l *launched) ask(method string, params any) string {
	l.t.Helper()
	l.asked++
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": l.asked, "method": method,
		"params": params})
	if err != nil {
		l.t.Fatal(err)
	}
	if _, err := l.in.Write(append(body, '\n')); err != nil {
		l.t.Fatal(err)
	}
	line, err := l.out.ReadString('\n')
	if err != nil {
		l.t.Fatalf("%s: %v", method, err)
	}
	return line
}

func (l *launched) initialize() {
	l.t.Helper()
	l.ask("initialize", map[string]any{"protocolVersion": 1,
		"clientCapabilities": map[string]any{"fs": map[string]any{"readTextFile": true,
			"writeTextFile": true}}})
}

// end closes the input. It returns the roots of the servers that were started, and of those that
// were closed, without the roots that next has already returned.
func (l *launched) end() (started, closed []string) {
	l.t.Helper()
	l.in.Close()
	if err := <-l.served; err != nil {
		l.t.Error(err)
	}
	close(l.started)
	close(l.closed)
	for root := range l.started {
		started = append(started, root)
	}
	for root := range l.closed {
		closed = append(closed, root)
	}
	return started, closed
}

// A server is started before the first session, for the folder in which the client started the
// agent. This server knows the client's capabilities. The first session uses it if the session
// needs only that folder. Otherwise, the server is closed as soon as a session requests another
// server.
func TestAServerStartsAhead(t *testing.T) {
	base := t.TempDir()
	dir, other, link := filepath.Join(base, "dir"), filepath.Join(base, "other"),
		filepath.Join(base, "link")
	for _, d := range []string{dir, other} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(dir, link); err != nil {
		t.Skip("this system does not support links")
	}
	server := map[string]any{"name": "s", "command": "/bin/true", "args": []any{}, "env": []any{}}
	for name, c := range map[string]struct {
		session map[string]any
		uses    bool
	}{
		"the same":         {map[string]any{"cwd": dir}, true},
		"spelled longer":   {map[string]any{"cwd": dir + "/./"}, true},
		"by another name":  {map[string]any{"cwd": link}, false}, // folders are compared by name
		"another":          {map[string]any{"cwd": other}, false},
		"with MCP servers": {map[string]any{"cwd": dir, "mcpServers": []any{server}}, false},
		"with another": {map[string]any{"cwd": dir, "additionalDirectories": []any{other}},
			false},
	} {
		for _, method := range []string{"session/new", "session/load", "session/resume"} {
			t.Run(name+" "+method, func(t *testing.T) {
				l := launchAhead(t, dir)
				l.initialize()
				if got := l.next(l.started); got != dir {
					t.Fatalf("started %s", got)
				}
				if !<-l.writes {
					t.Error("the client's capabilities did not arrive")
				}
				params := map[string]any{"mcpServers": []any{}, "sessionId": "none"}
				maps.Copy(params, c.session)
				l.ask(method, params)
				if !c.uses {
					if got := l.next(l.closed); got != dir {
						t.Errorf("%s ended", got)
					}
				}
				started, closed := l.end()
				if want := 1; c.uses && (len(started) != 0 || len(closed) != 1) || !c.uses &&
					(len(started) != want || len(closed) != want) {
					t.Errorf("started %v, ended %v more", started, closed)
				}
			})
		}
	}
}

// If the client requests nothing or disconnects immediately, the server that was started in advance
// is closed as well.
func TestAServerAheadEndsWithItsClient(t *testing.T) {
	dir := t.TempDir()
	for i := range 50 {
		l := launchAhead(t, dir)
		l.initialize()
		seen := i%2 == 0
		if seen {
			l.next(l.started)
		}
		started, closed := l.end()
		if !seen && len(started) != len(closed) || seen && !slices.Equal(closed, []string{dir}) {
			t.Fatalf("started %v, ended %v", started, closed)
		}
	}
}

// No server is started in advance if no folder is given or the folder does not exist. No server is
// started before the client is initialized.
func TestNoServerStartsAhead(t *testing.T) {
	for _, ahead := range []string{"", "relative", filepath.Join(t.TempDir(), "missing")} {
		l := launchAhead(t, ahead)
		l.initialize()
		if got := l.ask("session/new",
			map[string]any{"cwd": "", "mcpServers": []any{}}); got == "" {
			t.Fatal(got)
		}
		if started, _ := l.end(); len(started) != 0 {
			t.Errorf("%q: started %v", ahead, started)
		}
	}
	l := launchAhead(t, t.TempDir())
	if got := l.ask("session/new",
		map[string]any{"cwd": t.TempDir(), "mcpServers": []any{}}); got == "" {
		t.Fatal(got)
	}
	if started, _ := l.end(); len(started) != 0 {
		t.Errorf("before initialize: %s", fmt.Sprint(started))
	}
}

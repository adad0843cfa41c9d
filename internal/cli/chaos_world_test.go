package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/rpc/rpctest"
	"github.com/agent-lsp/agent-lsp/internal/tools/mcp/mcptest"
)

// mcpArg is the argument that identifies the MCP server among the processes.
const mcpArg = "chaos-mcp-server"

const (
	chaosFiles = 3  // a.txt and b.txt are open in the editor, but c.txt is not
	chaosLines = 12 // lines of each file
	// turnPatience limits the duration of a turn. Every turn must end, whatever happens.
	turnPatience = 90 * time.Second
)

// world is the state of one run: a workspace, an editor with unsaved text, a daemon, and the
// expected results.
type world struct {
	t     *testing.T
	rng   *rand.Rand
	tally *tally

	dir, ws, state string
	policy         string
	granted        bool // whether a revocable permission was granted for several calls
	fullDisk       bool // whether the state directory is on a small disk that is full for some time

	daemon  rpctest.Daemon
	mark    string
	ed      *rpctest.Editor
	buffers map[string]string // the buffers with which the next connection's editor starts
	order   map[string]int64  // for CheckOrder
	read    int               // number of log messages handled so far
	session string
	ended   map[string]bool // turns that have ended, by ID
	running string

	edited map[string]bool // lines that scripts edit; each line is edited once
	// outcome of each edited line: accepted, rejected or restored; absent while unknown
	fate     map[string]string
	inserted map[string]bool          // lines added by the user or by another program
	open     map[string]chaosProposal // the open proposals, as last reported by the daemon
	diary    []string
	failed   bool
	log      strings.Builder // messages from all connections
}

func newWorld(t *testing.T, seed uint64, tally *tally) *world {
	dir, err := os.MkdirTemp("", "agent-lsp-chaos-")
	if err != nil {
		t.Fatal(err)
	}
	dir, _ = filepath.EvalSymlinks(dir)
	w := &world{
		t: t, rng: rand.New(rand.NewPCG(seed, 1)), tally: tally, dir: dir,
		ws: filepath.Join(dir, "ws"), state: filepath.Join(dir, "state"),
		buffers: map[string]string{}, order: map[string]int64{}, ended: map[string]bool{},
		edited: map[string]bool{}, fate: map[string]string{},
		inserted: map[string]bool{}, open: map[string]chaosProposal{},
	}
	w.policy = []string{"ask", "ask", "review", "auto", "collect"}[w.rng.IntN(5)]
	w.fullDisk = canFillDisk && oneIn(w.rng, 8)
	for _, sub := range []string{w.ws, w.state} {
		if err := os.Mkdir(sub, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for f := range chaosFiles {
		var text strings.Builder
		for l := range chaosLines {
			text.WriteString(lineText(f, l, 0) + "\n")
		}
		if err := os.WriteFile(w.path(f), []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		if f < chaosFiles-1 {
			line := fmt.Sprintf("typed before all in %s", fileName(f))
			w.inserted[line] = true
			w.buffers[rpctest.URIOf(w.path(f))] = line + "\n" + text.String()
		}
	}
	return w
}

func (w *world) cleanUp() {
	if w.daemon.Kill != nil {
		w.daemon.Kill()
	}
	if !w.failed {
		os.RemoveAll(w.dir)
	}
}

func fileName(f int) string        { return string(rune('a'+f)) + ".txt" }
func (w *world) path(f int) string { return filepath.Join(w.ws, fileName(f)) }
func lineText(f, l, v int) string {
	return fmt.Sprintf("line %02d of %s, version %d", l, fileName(f), v)
}
func (w *world) note(f string, a ...any) { w.diary = append(w.diary, fmt.Sprintf(f, a...)) }

// report describes the run. It writes the messages from all connections to a file next to the
// workspace.
func (w *world) report() string {
	s := fmt.Sprintf("policy %s, full disk %v; the workspace and messages.log are left in %s\n%s",
		w.policy, w.fullDisk, w.dir, strings.Join(w.diary, "\n"))
	w.keepLog()
	_ = os.WriteFile(filepath.Join(w.dir, "messages.log"), []byte(w.log.String()), 0o644)
	if w.daemon.Log != nil {
		s += "\nstderr: " + w.daemon.Log()
	}
	return s
}

// keepLog saves the messages from the connection that is ending.
func (w *world) keepLog() {
	if w.ed == nil {
		return
	}
	for _, m := range w.ed.Log(0) {
		w.log.WriteString(m.String() + "\n")
	}
	w.log.WriteString("-- the connection ends\n")
	w.ed = nil
}

// play performs a run: first several turns with faults, then a final phase without faults, after
// which all expectations must be met.
func (w *world) play() error {
	turns := 1 + w.rng.IntN(3)
	if err := w.start(w.script(turns)); err != nil {
		return fmt.Errorf("starting: %w", err)
	}
	blow := -1 // the turn during which the daemon or the editor is killed
	if !w.fullDisk && oneIn(w.rng, 2) {
		blow = w.rng.IntN(turns)
	}
	for n := range turns {
		w.tally.add("turns")
		gone, err := w.turn(n == blow)
		if err != nil {
			return err
		}
		if gone {
			if err := w.start(w.script(turns - n)); err != nil {
				return fmt.Errorf("starting again: %w", err)
			}
		}
	}
	return w.finish()
}

// finish checks everything with a last daemon. It starts a new one on the run's files, unless the
// state is on a small disk.
func (w *world) finish() error {
	if w.fullDisk {
		w.freeDisk() // the state is lost when this daemon ends, so the same daemon must continue
	} else {
		if err := w.end(); err != nil {
			return err
		}
		if err := w.start([]string{`{"text":"Still here."}`, `{"text":"And here."}`,
			`{"text":"And here."}`, `{"text":"And here."}`, `{"text":"And here."}`}); err != nil {
			return fmt.Errorf("starting for the last time: %w", err)
		}
	}
	if err := w.lastTurn(); err != nil {
		return err
	}
	if err := w.check(); err != nil {
		return err
	}
	return w.end()
}

// lastTurn runs a turn that must succeed, whatever happened before.
func (w *world) lastTurn() error {
	for _, method := range []string{"agent/abort", "agent/queue/clear"} {
		if err := w.ed.Call(method, map[string]any{"sessionId": w.session}, nil); err != nil {
			return fmt.Errorf("%s: %w", method, err)
		}
	}
	if w.fullDisk { // the only daemon continues with its script
		w.fullDisk = false
		_, err := w.turn(false)
		return err
	}
	var res, turn struct{ MessageID, Status string }
	if err := w.ed.Call("agent/prompt",
		map[string]any{"sessionId": w.session, "prompt": "are you still there?"},
		&res); err != nil {
		return fmt.Errorf("the last prompt: %w", err)
	}
	wait := map[string]any{"sessionId": w.session, "messageId": res.MessageID,
		"timeoutMs": turnPatience.Milliseconds()}
	if err := w.ed.Call("agent/turn/wait", wait, &turn); err != nil || turn.Status != "completed" {
		return fmt.Errorf("the last turn is %q: %w", turn.Status, err)
	}
	return nil
}

// start starts a daemon, opens the documents, and loads or creates the session.
func (w *world) start(script []string) error {
	file := filepath.Join(w.dir, "model.jsonl")
	if err := os.WriteFile(file, []byte(strings.Join(script, "\n")+"\n"), 0o644); err != nil {
		return err
	}
	env := []string{"HOME=" + w.dir, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir()}
	if w.fullDisk {
		env = append(env, envSmallDisk+"="+w.state)
	}
	w.daemon, w.mark = startMarked(w.t, []string{"serve", "--script", file, "--state-dir", w.state},
		env, w.fullDisk)
	w.ed, w.read = rpctest.NewEditor(w.daemon.Stdout, w.daemon.Stdin), 0
	w.ed.Behave([]string{"", "", "", "", "late", "skip", "refuse", "deaf"}[w.rng.IntN(8)])
	if err := w.initialize(); err != nil {
		return err
	}
	for _, uri := range slices.Sorted(maps.Keys(w.buffers)) {
		if err := w.ed.Open(uri, "plaintext", w.buffers[uri]); err != nil {
			return err
		}
	}
	if w.session == "" {
		var made struct{ SessionID string }
		err := w.ed.Call("agent/session/new", map[string]any{}, &made)
		w.session = made.SessionID
		return err
	}
	return w.load()
}

// load resumes the session. The response includes all events up to its sequence number, including
// those that the last connection missed.
func (w *world) load() error {
	var loaded struct{ LastSeq int64 }
	if err := w.ed.Call("agent/session/load", map[string]any{"sessionId": w.session},
		&loaded); err != nil {
		return err
	}
	if before := w.order[w.session]; before > 0 {
		if loaded.LastSeq < before {
			return fmt.Errorf("the session's last number is %d, but %d had already been sent",
				loaded.LastSeq, before)
		}
		w.order[w.session] = loaded.LastSeq
	}
	return nil
}

func (w *world) initialize() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	uri := rpctest.URIOf(w.ws)
	params := map[string]any{
		"processId": os.Getpid(), "rootUri": uri,
		"workspaceFolders": []any{map[string]any{"uri": uri, "name": "ws"}},
		"capabilities":     json.RawMessage(rpctest.DefaultCapabilities),
		"initializationOptions": map[string]any{
			"editPolicy": w.policy, "permissions": map[string]any{"profile": []string{"ask",
				"workspace", "trust"}[w.rng.IntN(3)]}, "sandbox": "off",
			"mcpServers": map[string]any{"echo": map[string]any{"command": exe,
				"args": []string{mcpArg}, "env": map[string]any{mcptest.Variable: "plain"}}},
		},
	}
	if err := w.ed.Call("initialize", params, nil); err != nil {
		return err
	}
	return w.ed.Notify("initialized", map[string]any{})
}

// end shuts the daemon down as an editor does. None of its processes may remain.
func (w *world) end() error {
	if err := w.ed.Call("shutdown", nil, nil); err != nil {
		return fmt.Errorf("shutting down: %w", err)
	}
	if err := w.ed.Notify("exit", nil); err != nil {
		return err
	}
	code := w.daemon.Wait()
	if code != 0 {
		return fmt.Errorf("the daemon ended with %d", code)
	}
	return w.leave(false)
}

// leave saves the buffers for the next editor and checks the messages from the last connection.
func (w *world) leave(killed bool) error {
	defer w.keepLog()
	for uri := range w.buffers {
		if b := w.ed.Buffer(uri); b != nil {
			w.buffers[uri] = b.Text
		}
	}
	if wrong := rpctest.CheckOrder(w.ed.Log(0), w.order); len(wrong) > 0 {
		return errors.New("order of messages: " + strings.Join(wrong, "; "))
	}
	if killed {
		for id, n := range w.order {
			w.order[id] = -max(n, 1)
		}
	}
	return nil
}

package rpc

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
)

// noSettings are settings without any layers.
type noSettings struct{ host.Settings }

func (noSettings) Storable(own json.RawMessage) json.RawMessage { return own }

func (noSettings) Session(json.RawMessage) (config.Config, []string, error) {
	return config.Config{}, nil, nil
}

// oneSession returns a host with one session. Its notifications are sent to out.
func oneSession(t testing.TB, out *jsonrpc.Outbox) (h *host.Host, sessionID string) {
	t.Helper()
	library := session.Open(t.TempDir())
	t.Cleanup(func() { _ = library.Close() })
	h = host.New(host.Options{
		Library: library, Settings: noSettings{},
		Prepare: func(context.Context, host.SessionInfo) (agent.Options, error) {
			return agent.Options{}, nil
		},
	})
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	l, err := h.Create(t.Context(), host.NewSession{Cwd: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	h.Clients().Subscribe(&notifier{out: out})
	return h, l.ID
}

// slowClient returns a host whose client reads nothing at first. The returned function reads and
// returns everything that was sent.
func slowClient(t *testing.T) (*host.Host, string, *jsonrpc.Outbox, func() []toldParams) {
	t.Helper()
	r, w := io.Pipe()
	out := jsonrpc.NewOutbox(w)
	h, id := oneSession(t, out)
	return h, id, out, func() []toldParams {
		out.Close()
		go func() {
			<-out.Done()
			w.Close()
		}()
		return readTold(t, r)
	}
}

func readTold(t *testing.T, r io.Reader) (out []toldParams) {
	t.Helper()
	in := bufio.NewScanner(r)
	in.Buffer(nil, 64<<20)
	for in.Scan() { // each line is the body of a message, followed by the next header
		line := in.Text()
		if at := strings.Index(line, "{"); at == 0 {
			line, _, _ = strings.Cut(line, "Content-Length")
			var m struct{ Params toldParams }
			if err := json.Unmarshal([]byte(line), &m); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			out = append(out, m.Params)
		}
	}
	return out
}

func TestMergedFramesTakeOneNumber(t *testing.T) {
	h, id, _, sent := slowClient(t)
	emit := func(e agent.Event) { h.Emit(id, e) }
	emit(agent.TurnStarted{TurnID: "t"})
	emit(agent.ItemStarted{TurnID: "t", Item: agent.Item{ID: "a", Type: agent.ItemAssistant}})
	emit(agent.ItemStarted{TurnID: "t", Item: agent.Item{ID: "b", Type: agent.ItemReasoning}})
	for range 1000 {
		emit(agent.ItemDelta{TurnID: "t", ItemID: "a", Kind: agent.DeltaText, Text: "x"})
		emit(agent.ItemDelta{TurnID: "t", ItemID: "b", Kind: agent.DeltaReasoning, Text: "y"})
	}
	for range 100 {
		emit(agent.StateChanged{State: agent.State{Status: agent.SessionRunning}})
	}
	emit(agent.StateChanged{State: agent.State{Status: agent.SessionIdle}})
	texts := map[string]string{}
	all := sent()
	for i, p := range all {
		if p.Seq != int64(i+1) {
			t.Fatalf("notification %d has seq %d: %+v", i+1, p.Seq, p)
		}
		texts[p.ItemID] += p.Text
	}
	if texts["a"] != strings.Repeat("x", 1000) || texts["b"] != strings.Repeat("y", 1000) {
		t.Errorf("texts have %d and %d bytes", len(texts["a"]), len(texts["b"]))
	}
	if len(all) > 100 || all[len(all)-1].Status != "idle" {
		t.Errorf("%d notifications, the last %+v", len(all), all[len(all)-1])
	}
}

// TestADroppedDeltaLeavesAGap checks that if a delta is dropped because the client's queue is full,
// the sequence numbers have a gap.
func TestADroppedDeltaLeavesAGap(t *testing.T) {
	h, id, out, sent := slowClient(t)
	delta := func(text string) {
		h.Emit(id, agent.ItemDelta{TurnID: "t", ItemID: "a", Kind: agent.DeltaText, Text: text})
	}
	h.Emit(id, agent.ItemStarted{TurnID: "t", Item: agent.Item{ID: "a", Type: agent.ItemAssistant}})
	mib := strings.Repeat("x", 1<<20)
	for range jsonrpc.SoftLimit>>20 - 1 {
		out.PutEvent("other", []byte(mib)) // this notification is skipped when reading
	}
	delta("kept ")
	delta(mib)
	delta("late")
	var got []toldParams
	for _, p := range sent() {
		if p.SessionID == id {
			got = append(got, p)
		}
	}
	if last := got[len(got)-1]; len(got) != 3 || got[1].Text != "kept " || last.Text != "late" ||
		last.Seq != got[1].Seq+2 {
		t.Errorf(
			"a dropped delta resulted in %.2000s, want the text before it, a gap and the text after it",
			fmt.Sprintf("%+v", got),
		)
	}
}

func BenchmarkEmitDelta(b *testing.B) {
	out := jsonrpc.NewOutbox(io.Discard)
	h, id := oneSession(b, out)
	h.Emit(id, agent.ItemStarted{TurnID: "t", Item: agent.Item{ID: "a", Type: agent.ItemAssistant}})
	b.ReportAllocs()
	for b.Loop() {
		h.Emit(id, agent.ItemDelta{TurnID: "t", ItemID: "a", Kind: agent.DeltaText, Text: "token "})
	}
	out.Close()
	<-out.Done()
}

package rpc

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
)

// slowHub is a hub whose client reads nothing until the returned function is called, which
// gives everything that was sent then.
func slowHub(t *testing.T) (*hub, *stream, func() []toldParams) {
	t.Helper()
	library := session.Open(t.TempDir())
	t.Cleanup(func() { _ = library.Close() })
	store, err := library.Create(session.Meta{})
	if err != nil {
		t.Fatal(err)
	}
	r, w := io.Pipe()
	out := jsonrpc.NewOutbox(w)
	h := newHub(out, slog.New(slog.DiscardHandler))
	h.attach()
	return h, h.open(store), func() []toldParams {
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
	for in.Scan() { // headers and bodies are on lines of their own but for the next header
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
	h, st, sent := slowHub(t)
	emit := func(e agent.Event) { h.Emit(st.id, e) }
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

// TestADroppedDeltaLeavesAGap has text of an item come when no more may wait for a client that reads nothing.
func TestADroppedDeltaLeavesAGap(t *testing.T) {
	h, st, sent := slowHub(t)
	delta := func(text string) {
		h.Emit(st.id, agent.ItemDelta{TurnID: "t", ItemID: "a", Kind: agent.DeltaText, Text: text})
	}
	h.Emit(st.id, agent.ItemStarted{TurnID: "t", Item: agent.Item{ID: "a", Type: agent.ItemAssistant}})
	mib := strings.Repeat("x", 1<<20)
	for range jsonrpc.SoftLimit>>20 - 1 {
		h.out.PutEvent("other", []byte(mib)) // readTold passes over it
	}
	delta("kept ")
	delta(mib)
	delta("late")
	var got []toldParams
	for _, p := range sent() {
		if p.SessionID == st.id {
			got = append(got, p)
		}
	}
	if last := got[len(got)-1]; len(got) != 3 || got[1].Text != "kept " || last.Text != "late" || last.Seq != got[1].Seq+2 {
		t.Errorf("around a delta that was dropped came %.2000s, want the text before it, a gap and the text after it", fmt.Sprintf("%+v", got))
	}
}

func BenchmarkEmitDelta(b *testing.B) {
	library := session.Open(b.TempDir())
	store, err := library.Create(session.Meta{})
	if err != nil {
		b.Fatal(err)
	}
	out := jsonrpc.NewOutbox(io.Discard)
	h := newHub(out, slog.New(slog.DiscardHandler))
	h.attach()
	st := h.open(store)
	h.Emit(st.id, agent.ItemStarted{TurnID: "t", Item: agent.Item{ID: "a", Type: agent.ItemAssistant}})
	b.ReportAllocs()
	for b.Loop() {
		h.Emit(st.id, agent.ItemDelta{TurnID: "t", ItemID: "a", Kind: agent.DeltaText, Text: "token "})
	}
	out.Close()
	<-out.Done()
	_ = library.Close()
}

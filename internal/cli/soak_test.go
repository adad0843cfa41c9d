package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

const (
	// envSoak sets the duration of the soak test. soakBrief is just long enough to check that the
	// test works.
	envSoak   = "AGENT_LSP_SOAK_TIME"
	soakBrief = 2 * time.Second
	// soakSessions is the number of parallel sessions. Each session is deleted after soakTurns
	// turns and replaced by a new one.
	soakSessions = 20
	soakTurns    = 4
	soakSamples  = 60
	// soakLeast is the minimum number of samples, however slow the machine is.
	soakLeast = 12
	// soakChunks is the number of pieces of an answer.
	soakChunks = 200
)

// TestSoak runs 20 sessions at full speed and samples the daemon's memory, goroutines and open
// files. Their peak in the last third of the test must not be much higher than in the second third.
// The daemon runs in-process, so that its goroutines can be counted.
func TestSoak(t *testing.T) {
	budget := soakBrief
	if text := os.Getenv(envSoak); text != "" {
		var err error
		if budget, err = time.ParseDuration(text); err != nil {
			t.Fatalf("%s: %v", envSoak, err)
		}
	}
	model := httptest.NewServer(http.HandlerFunc(soakModel))
	defer model.Close()
	s := startSoak(t, model.URL)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var workers sync.WaitGroup
	for range soakSessions {
		workers.Go(func() { s.work(ctx, t) })
	}
	samples := s.sample(t, budget)
	cancel()
	workers.Wait()
	t.Logf("soak: %d sessions in parallel for %v, %d sessions, %d turns, %d deltas", soakSessions,
		budget, s.sessions.Load(), s.turns.Load(), s.deltas.Load())
	for _, of := range []struct {
		what, unit string
		slack      float64 // allowed variation
		value      func(soakSample) float64
	}{
		{"heap", "MiB", 16, func(s soakSample) float64 { return s.heap }},
		{"goroutines", "", 200, func(s soakSample) float64 { return s.goroutines }},
		{"open files", "", 60, func(s soakSample) float64 { return s.files }},
	} {
		early, late := soakPeaks(samples, of.value)
		t.Logf("%-10s %s  %.0f … %.0f %s", of.what, soakPlot(samples, of.value), early, late,
			of.unit)
		if late > early*1.5+of.slack {
			t.Errorf("%s grew from %.0f to %.0f %s", of.what, early, late, of.unit)
		}
	}
}

// soakSample is a sample of the process's resources.
type soakSample struct{ heap, goroutines, files float64 }

// sample takes samples until the budget is used up. It starts only after as many turns as there are
// parallel sessions, because growth before that is part of startup.
func (s *soak) sample(t *testing.T, budget time.Duration) (all []soakSample) {
	tick := time.NewTicker(budget / soakSamples)
	defer tick.Stop()
	for s.turns.Load() < soakSessions && !t.Failed() {
		<-tick.C
	}
	for began := time.Now(); (time.Since(began) < budget || len(all) < soakLeast) && !t.Failed(); {
		<-tick.C
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		files, _ := os.ReadDir("/proc/self/fd")
		all = append(all, soakSample{heap: float64(m.HeapAlloc) / (1 << 20),
			goroutines: float64(runtime.NumGoroutine()), files: float64(len(files))})
	}
	return all
}

// soakPeaks returns the maximum in the second third and the maximum in the last third of the
// samples.
func soakPeaks(all []soakSample, value func(soakSample) float64) (early, late float64) {
	n := len(all)
	for i, s := range all {
		switch {
		case i >= n/3 && i < 2*n/3:
			early = max(early, value(s))
		case i >= 2*n/3:
			late = max(late, value(s))
		}
	}
	return early, late
}

// soakPlot renders the values as a line of block characters.
func soakPlot(all []soakSample, value func(soakSample) float64) string {
	top := 1.0
	for _, s := range all {
		top = max(top, value(s))
	}
	var b strings.Builder
	for _, s := range all {
		b.WriteRune([]rune("▁▂▃▄▅▆▇█")[int(value(s)/top*7)])
	}
	return b.String()
}

// soakModel answers a prompt with a tool call, and answers the tool result with many deltas.
func soakModel(w http.ResponseWriter, r *http.Request) {
	var req struct{ Messages []struct{ Role string } }
	_ = json.NewDecoder(r.Body).Decode(&req)
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(delta, finish string) {
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n",
			delta, finish)
	}
	if n := len(req.Messages); n > 0 && req.Messages[n-1].Role == "user" {
		send(`{"role":"assistant","tool_calls":[{"index":0,"id":"c`+fmt.Sprint(n)+
			`","type":"function","function":{"name":"read","arguments":"{\"path\":\"a.txt\"}"}}]}`,
			`null`)
		send(`{}`, `"tool_calls"`)
	} else {
		for range soakChunks {
			send(`{"content":"word "}`, `null`)
		}
		send(`{}`, `"stop"`)
	}
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// soak is an in-process daemon with a client that stores nothing.
type soak struct {
	client                  *client
	sessions, turns, deltas atomic.Int64
}

func startSoak(t *testing.T, model string) *soak {
	dir, state := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"),
		[]byte(strings.Repeat("a line of text\n", 100)), 0o644); err != nil {
		t.Fatal(err)
	}
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	ended := make(chan int, 1)
	env := []string{"HOME=" + state, "PATH=" + os.Getenv("PATH")}
	go func() {
		code := run(context.Background(), []string{"serve", "--state-dir", state}, env, inR, outW,
			io.Discard)
		outW.Close()
		ended <- code
	}()
	s := &soak{}
	s.client = connect(context.Background(), outR, inW, &client{
		notify: func(method string, _ json.RawMessage) {
			if method == "agent/delta" {
				s.deltas.Add(1)
			}
		},
		request: func(context.Context, string, json.RawMessage) (any, error) { return nil, nil },
	})
	options := map[string]any{"provider": map[string]any{"baseUrl": model + "/v1",
		"apiKey": "none"}, "model": "soak"}
	if err := s.client.initialize(t.Context(), dir, options, true, false); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.client.shutdown(context.Background())
		inW.Close()
		if code := <-ended; code != 0 {
			t.Errorf("the daemon ended with %d", code)
		}
	})
	return s
}

// work runs turns in one session after another.
func (s *soak) work(ctx context.Context, t *testing.T) {
	for ctx.Err() == nil {
		var made wire.SessionNewResult
		if err := s.client.call(t.Context(), "agent/session/new", map[string]any{},
			&made); err != nil {
			t.Errorf("%v", err)
			return
		}
		s.sessions.Add(1)
		for range soakTurns {
			if err := s.turn(t.Context(), made.SessionID); err != nil {
				t.Errorf("%v", err)
				return
			}
		}
		var none struct{}
		if err := s.client.call(t.Context(), "agent/session/delete",
			map[string]any{"sessionId": made.SessionID}, &none); err != nil {
			t.Errorf("%v", err)
			return
		}
	}
}

func (s *soak) turn(ctx context.Context, session string) error {
	var started wire.PromptResult
	if err := s.client.call(ctx, "agent/prompt",
		map[string]any{"sessionId": session, "prompt": "go on"}, &started); err != nil {
		return err
	}
	var turn wire.Turn
	if err := s.client.call(ctx, "agent/turn/wait",
		map[string]any{"sessionId": session, "turnId": started.TurnID}, &turn); err != nil {
		return err
	}
	if turn.Status != "completed" {
		return fmt.Errorf("the turn is %s: %v", turn.Status, turn.Error)
	}
	s.turns.Add(1)
	return nil
}

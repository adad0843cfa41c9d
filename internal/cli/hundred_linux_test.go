package cli

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/rpc/rpctest"
)

const (
	// sessionsAtOnce is the number of parallel sessions in BenchmarkHundredSessions.
	sessionsAtOnce = 100
	// piecesEach is the number of pieces that each session receives, at intervals of piecePause.
	piecesEach = 50
	piecePause = 10 * time.Millisecond
)

// BenchmarkHundredSessions runs the program as a separate process and streams to a hundred sessions
// of one connection at the same time. Every reply begins when all sessions have sent their request.
// The benchmark reports:
//
//   - the peak of the daemon's memory per session (KiB/session; the target is at most 1 MiB)
//   - when the fastest and the slowest turn ended
//   - the longest silence in any session (a reply itself pauses for 10 ms)
//   - the smallest share of its deltas that any session had received when the first one ended
//     (1 means that all sessions were served equally)
func BenchmarkHundredSessions(b *testing.B) {
	bin := rpctest.Program(b)
	for b.Loop() {
		newHundred(b, bin).run()
	}
}

// hundred is the state of one run.
type hundred struct {
	b    *testing.B
	ed   *rpctest.Editor
	pid  int
	gate chan struct{} // closed when all sessions have sent their request
	mu   sync.Mutex
	came map[string][]piece // deltas that arrived, by session
	left int                // number of sessions that have not sent their request yet
}

// piece records how much of a reply had arrived at a given time. The daemon merges deltas that
// accumulate, so several pieces of the reply may arrive as one.
type piece struct {
	at    time.Time
	total int
}

// pieceText is the text of every piece that the provider sends.
const pieceText = "a piece of the answer "

func newHundred(b *testing.B, bin string) *hundred {
	h := &hundred{b: b, gate: make(chan struct{}), came: map[string][]piece{}, left: sessionsAtOnce}
	provider := httptest.NewServer(http.HandlerFunc(h.answer))
	b.Cleanup(provider.Close)
	home := b.TempDir()
	cmd := exec.Command(bin)
	cmd.Env = []string{"HOME=" + home, "XDG_STATE_HOME=" + home, "XDG_CONFIG_HOME=" + home,
		"PATH=" + os.Getenv("PATH"),
		"OPENAI_API_KEY=k", "OPENAI_BASE_URL=" + provider.URL, "OPENAI_MODEL=m"}
	d := startCommand(b, cmd, func() {})
	h.pid = cmd.Process.Pid
	seen, copied := io.Pipe()
	go h.watch(seen)
	h.ed = rpctest.NewEditor(io.TeeReader(d.Stdout, copied), d.Stdin)
	b.Cleanup(func() { _ = h.ed.CloseStdin(); d.Wait(); _ = copied.Close() })
	h.call("initialize", map[string]any{"rootUri": rpctest.URIOf(b.TempDir()),
		"capabilities": map[string]any{
			"experimental": map[string]any{"agentLsp": map[string]any{"version": 1}},
		}}, nil)
	_ = h.ed.Notify("initialized", map[string]any{})
	return h
}

// answer streams a reply in pieces. The reply to the prompt "warm up" starts immediately and has
// one piece. All other replies start when all sessions have sent their request.
func (h *hundred) answer(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	w.Header().Set("Content-Type", "text/event-stream")
	pieces := piecesEach
	if strings.Contains(string(body), `"content":"warm up"`) {
		pieces = 1
	} else {
		h.mu.Lock()
		if h.left--; h.left == 0 {
			close(h.gate)
		}
		h.mu.Unlock()
		<-h.gate
	}
	for range pieces {
		fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%q}}]}\n\n",
			pieceText)
		_ = http.NewResponseController(w).Flush()
		time.Sleep(piecePause)
	}
	fmt.Fprint(
		w,
		"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
	)
}

// watch records when each session receives a delta.
func (h *hundred) watch(src io.Reader) {
	r := bufio.NewReader(src)
	for {
		head, err := textproto.NewReader(r).ReadMIMEHeader()
		n, nerr := strconv.Atoi(head.Get("Content-Length"))
		if err != nil || nerr != nil {
			_, _ = io.Copy(io.Discard, r)
			return
		}
		body := make([]byte, n)
		if _, err := io.ReadFull(r, body); err != nil {
			return
		}
		var m struct {
			Method string
			Params struct{ SessionID, Text string }
		}
		if json.Unmarshal(body, &m) == nil && m.Method == "agent/delta" {
			h.mu.Lock()
			list := h.came[m.Params.SessionID]
			p := piece{time.Now(), len(m.Params.Text) / len(pieceText)}
			if len(list) > 0 {
				p.total += list[len(list)-1].total
			}
			h.came[m.Params.SessionID] = append(list, p)
			h.mu.Unlock()
		}
	}
}

func (h *hundred) call(method string, params, result any) {
	if err := h.ed.Call(method, params, result); err != nil {
		h.b.Errorf("%s: %v", method, err)
	}
}

// turn runs a turn in a new session.
func (h *hundred) turn(prompt string) {
	var s struct{ SessionID string }
	h.call("agent/session/new", map[string]any{}, &s)
	h.call("agent/prompt", map[string]any{"sessionId": s.SessionID, "prompt": prompt}, nil)
	var end struct{ Status string }
	h.call("agent/turn/wait", map[string]any{"sessionId": s.SessionID}, &end)
	if end.Status != "completed" {
		h.b.Errorf("a turn ended as %q", end.Status)
	}
}

func (h *hundred) run() {
	h.turn("warm up")
	base := h.memory("VmRSS:")
	h.mu.Lock()
	clear(h.came)
	h.mu.Unlock()
	var wg sync.WaitGroup
	for range sessionsAtOnce {
		wg.Go(func() { h.turn("go") })
	}
	<-h.gate
	began := time.Now()
	wg.Wait()
	peak := h.memory("VmHWM:")
	h.report(began, peak-base)
}

// report computes the figures from the messages that arrived after began.
func (h *hundred) report(began time.Time, memory int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.came) != sessionsAtOnce {
		h.b.Errorf("only %d sessions received anything", len(h.came))
		return
	}
	var ends []time.Time
	silence := time.Duration(0)
	for _, list := range h.came {
		last := began
		for _, p := range list {
			silence = max(silence, p.at.Sub(last))
			last = p.at
		}
		if got := list[len(list)-1].total; got != piecesEach {
			h.b.Errorf("a session got %d pieces", got)
		}
		ends = append(ends, last)
	}
	slices.SortFunc(ends, time.Time.Compare)
	least := piecesEach
	for _, list := range h.came {
		had := 0
		for _, p := range list {
			if !p.at.After(ends[0]) {
				had = p.total
			}
		}
		least = min(least, had)
	}
	h.b.ReportMetric(float64(memory)/1024/sessionsAtOnce, "KiB/session")
	h.b.ReportMetric(ends[0].Sub(began).Seconds()*1000, "ms/first-end")
	h.b.ReportMetric(ends[len(ends)-1].Sub(began).Seconds()*1000, "ms/last-end")
	h.b.ReportMetric(silence.Seconds()*1000, "ms/silence")
	h.b.ReportMetric(float64(least)/piecesEach, "least-served")
}

// memory returns a field of the daemon's /proc/PID/status, in bytes.
func (h *hundred) memory(field string) int {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.pid))
	_, value, found := strings.Cut(string(status), field)
	if err != nil || !found {
		h.b.Fatalf("the daemon's memory cannot be read: %v", err)
	}
	kib, err := strconv.Atoi(strings.Fields(value)[0])
	if err != nil {
		h.b.Fatal(err)
	}
	return kib << 10
}

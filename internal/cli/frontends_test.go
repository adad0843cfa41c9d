package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// frontEnd is the program, run in-process and used through one of its protocols. It handles
// messages as raw bytes, so that the benchmark measures only the program and not the client.
type frontEnd struct {
	b       *testing.B
	model   *model
	acp     bool
	in      io.Writer
	out     *bufio.Reader
	asked   int
	session string
	delta   []byte // text that identifies a delta
	ended   []byte // text that identifies the end of a turn
}

func newFrontEnd(b *testing.B, m *model, acp bool) *frontEnd {
	inR, inW, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	f := &frontEnd{b: b, model: m, acp: acp, in: inW, out: bufio.NewReaderSize(outR, 64<<10),
		delta: []byte(`"agent/delta"`), ended: []byte(`"agent/turn/completed"`)}
	if acp {
		f.delta, f.ended = []byte(`"agent_message_chunk"`), []byte(`"stopReason"`)
	}
	env := []string{"HOME=" + b.TempDir(), "PATH=" + os.Getenv("PATH"), "OPENAI_API_KEY=k",
		"OPENAI_BASE_URL=" + m.url, "OPENAI_MODEL=m"}
	state := filepath.Join(b.TempDir(), "state")
	code := make(chan int, 1)
	go func() {
		args := []string{"serve", "--state-dir", state}
		if acp {
			args[0] = "acp"
		}
		code <- run(context.Background(), args, env, inR, outW, io.Discard)
		outW.Close()
	}()
	b.Cleanup(func() {
		inW.Close()
		_, _ = io.Copy(io.Discard, outR)
		<-code
	})
	f.begin(b.TempDir())
	return f
}

func (f *frontEnd) begin(dir string) {
	if f.acp {
		f.ask("initialize", `{"protocolVersion":1}`)
		f.session = between(f.ask("session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, dir)),
			`"sessionId":"`)
		return
	}
	f.ask("initialize", fmt.Sprintf(`{"rootUri":"file://%s","capabilities":{"experimental":{"agentLsp":{"version":1}}}}`, dir))
	f.session = between(f.ask("agent/session/new", `{}`), `"sessionId":"`)
}

func between(body []byte, before string) string {
	_, rest, _ := strings.Cut(string(body), before)
	s, _, _ := strings.Cut(rest, `"`)
	return s
}

func (f *frontEnd) send(body string) {
	if f.acp {
		body += "\n"
	} else {
		body = "Content-Length: " + strconv.Itoa(len(body)) + "\r\n\r\n" + body
	}
	if _, err := io.WriteString(f.in, body); err != nil {
		f.b.Fatal(err)
	}
}

func (f *frontEnd) request(method, params string) (id string) {
	f.asked++
	f.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, f.asked, method,
		params))
	return fmt.Sprintf(`"id":%d,`, f.asked)
}

func (f *frontEnd) ask(method, params string) []byte {
	id := []byte(f.request(method, params))
	for {
		if m := f.next(); bytes.Contains(m, id) {
			return m
		}
	}
}

// next returns the next message. The message is valid until the next call.
func (f *frontEnd) next() []byte {
	line, err := f.out.ReadSlice('\n')
	if err != nil {
		f.b.Fatal(err)
	}
	if f.acp {
		return line
	}
	n, err := strconv.Atoi(strings.TrimSpace(strings.TrimPrefix(string(line), "Content-Length: ")))
	if err != nil {
		f.b.Fatalf("%q: %v", line, err)
	}
	body := make([]byte, n+2)
	if _, err := io.ReadFull(f.out, body); err != nil {
		f.b.Fatal(err)
	}
	return body
}

func (f *frontEnd) prompt() time.Time {
	began := time.Now()
	if f.acp {
		f.request("session/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":[{"type":"text",`+
			`"text":"hello"}]}`, f.session))
	} else {
		f.request("agent/prompt", fmt.Sprintf(`{"sessionId":%q,"prompt":"hello"}`, f.session))
	}
	return began
}

func (f *frontEnd) until(mark []byte) time.Time {
	for {
		if bytes.Contains(f.next(), mark) {
			return time.Now()
		}
	}
}

// toModel measures the time from a prompt until the model receives the request.
func (f *frontEnd) toModel() time.Duration {
	began := f.prompt()
	f.until(f.ended)
	return time.Unix(0, f.model.asked.Load()).Sub(began)
}

// fromModel measures the time from the end of the model's reply to the end of the turn.
func (f *frontEnd) fromModel() time.Duration {
	f.prompt()
	return f.until(f.ended).Sub(time.Unix(0, f.model.ended.Load()))
}

// stream measures the time from the first delta to the end of the stream.
func (f *frontEnd) stream() time.Duration {
	f.prompt()
	first := f.until(f.delta)
	return f.until(f.ended).Sub(first)
}

// abort measures the time from an abort to the end of the turn.
func (f *frontEnd) abort() time.Duration {
	f.prompt()
	f.until(f.delta)
	began := time.Now()
	if f.acp {
		f.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`,
			f.session))
	} else {
		f.request("agent/abort", fmt.Sprintf(`{"sessionId":%q}`, f.session))
	}
	return f.until(f.ended).Sub(began)
}

// model is a provider that records when it received its last request and when it finished the
// response.
type model struct {
	url          string
	asked, ended atomic.Int64 // Unix nanoseconds
}

// newModel returns a model that answers each call with the given number of deltas. If hang is set,
// the response never ends, so that it can be aborted.
func newModel(b *testing.B, deltas int, hang bool) *model {
	m := &model{}
	var body bytes.Buffer
	for i := range deltas {
		fmt.Fprintf(&body, "data: {\"choices\":[{\"delta\":{\"content\":\"this is piece %08d of it; \"}}]}\n\n", i)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			fmt.Fprint(w, `{"data":[{"id":"m"}]}`)
			return
		}
		m.asked.Store(time.Now().UnixNano())
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write(body.Bytes())
		if hang {
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
		m.ended.Store(time.Now().UnixNano())
	}))
	b.Cleanup(srv.Close)
	m.url = srv.URL
	return m
}

// facesBlock is the number of turns that one front end runs before the other one is measured. The
// processor time of such a block can be attributed to its front end.
const facesBlock = 10

// BenchmarkACPFace compares ACP with the native protocol, alternating between them in one run. The
// target is that a turn takes at most 10 % longer over ACP. The processor time of the program and
// the model together shows a difference even if the elapsed time does not.
func BenchmarkACPFace(b *testing.B) {
	for _, c := range []struct {
		name   string
		deltas int
		turns  int // number of turns that the session already has
		hang   bool
		do     func(*frontEnd) time.Duration
	}{
		{"prompt", 5, 0, false, (*frontEnd).toModel},
		{"grown", 200, 150, false, (*frontEnd).toModel},
		{"end", 5, 0, false, (*frontEnd).fromModel},
		{"stream", 2000, 0, false, (*frontEnd).stream},
		{"abort", 1, 0, true, (*frontEnd).abort},
	} {
		b.Run(c.name, func(b *testing.B) {
			m := newModel(b, c.deltas, c.hang)
			frontEnds := []*frontEnd{newFrontEnd(b, m, false), newFrontEnd(b, m, true)}
			for _, f := range frontEnds {
				for range c.turns + 1 {
					c.do(f)
				}
			}
			var took, cpu [2][]time.Duration
			for i := 0; b.Loop(); i++ {
				for j := range 2 { // alternate which front end goes first
					k := (i + j) % 2
					began := processorTime()
					for range facesBlock {
						took[k] = append(took[k], c.do(frontEnds[k]))
					}
					cpu[k] = append(cpu[k], (processorTime()-began)/facesBlock)
				}
			}
			reportFrontEnds(b, "", took)
			if cpu[0][0] > 0 {
				reportFrontEnds(b, "cpu-", cpu)
			}
		})
	}
}

// reportFrontEnds reports the medians of both front ends and their ratio.
func reportFrontEnds(b *testing.B, what string, took [2][]time.Duration) {
	lsp, acp := median(took[0]), median(took[1])
	b.ReportMetric(float64(lsp.Nanoseconds())/1000, what+"µs-lsp")
	b.ReportMetric(float64(acp.Nanoseconds())/1000, what+"µs-acp")
	b.ReportMetric(float64(acp)/float64(lsp), what+"acp/lsp")
}

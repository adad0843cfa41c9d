// Command bench measures coding agents that an editor can drive, side by side,
// against one scripted model server (cmd/mock).
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Record mirrors the mock's.
type Record struct {
	Seq      int    `json:"seq"`
	ID       string `json:"id"`
	Path     string `json:"path"`
	Kind     string `json:"kind"`
	Tool     string `json:"tool"`
	Turns    int    `json:"turns"`
	Bytes    int    `json:"bytes"`
	Arrive   int64  `json:"arrive"`
	First    int64  `json:"first"`
	End      int64  `json:"end"`
	Gone     int64  `json:"gone"`
	Sent     int    `json:"sent"`
	LastTool string `json:"last_tool"`
}

// Stat summarises a sample.
type Stat struct {
	N   int     `json:"n"`
	Min float64 `json:"min"`
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

func stat(v []float64) *Stat {
	if len(v) == 0 {
		return nil
	}
	s := append([]float64(nil), v...)
	sort.Float64s(s)
	q := func(p float64) float64 { // nearest rank
		i := int(math.Ceil(p*float64(len(s)))) - 1
		return round(s[max(0, min(i, len(s)-1))])
	}
	med := s[len(s)/2]
	if len(s)%2 == 0 {
		med = (s[len(s)/2-1] + s[len(s)/2]) / 2
	}
	return &Stat{len(s), round(s[0]), round(med), q(.9), q(.99), round(s[len(s)-1])}
}

func round(x float64) float64 { return math.Round(x*1000) / 1000 }

// Result is everything measured for one peer. Times are milliseconds unless named otherwise.
type Result struct {
	Name   string   `json:"name"`
	Info   Info     `json:"info"`
	Errors []string `json:"errors,omitempty"`

	FirstEverReadyMS float64 `json:"first_ever_ready_ms,omitempty"`   // with an empty home
	ColdInit         *Stat   `json:"cold_init_ms,omitempty"`          // spawn -> initialize answered
	ColdReady        *Stat   `json:"cold_ready_ms,omitempty"`         // spawn -> session usable
	ColdFirstRequest *Stat   `json:"cold_first_request_ms,omitempty"` // first prompt sent -> request at the model server
	SpawnToRequest   *Stat   `json:"spawn_to_request_ms,omitempty"`   // spawn -> that request
	Exit             *Stat   `json:"exit_ms,omitempty"`               // stdin closed -> process gone; -1 when it had to be killed

	WarmRequest *Stat `json:"warm_request_ms,omitempty"` // later prompts: sent -> request at the model server
	WarmTail    *Stat `json:"warm_tail_ms,omitempty"`    // model server done -> end of turn told to the client
	FirstToken  *Stat `json:"first_token_ms,omitempty"`  // first delta written by the model server -> read by the client
	RequestSize int   `json:"request_bytes,omitempty"`   // of a first turn
	Extra       int   `json:"extra_requests,omitempty"`  // other model requests in a first turn, such as for a title

	DeltaLatency  *Stat     `json:"delta_latency_ms,omitempty"` // paced stream, all runs pooled
	DeltaP50s     []float64 `json:"delta_p50_ms_by_run,omitempty"`
	DeltaP99s     []float64 `json:"delta_p99_ms_by_run,omitempty"`
	DeltaMessages *Stat     `json:"delta_messages,omitempty"` // notifications that carried the 2000 deltas
	StdoutBytes   *Stat     `json:"stdout_bytes_per_stream,omitempty"`
	StreamCPU     *Stat     `json:"cpu_ms_per_stream,omitempty"`
	Throughput    *Stat     `json:"deltas_per_s,omitempty"`     // unpaced stream
	BurstLatency  *Stat     `json:"burst_latency_ms,omitempty"` // latency of the deltas of the unpaced stream
	Missing       int       `json:"missing_deltas"`

	Idle        *Memory `json:"memory_idle,omitempty"`
	AfterStream *Memory `json:"memory_after_stream,omitempty"`  // after the first paced stream of 2000
	AfterAll    *Memory `json:"memory_after_streams,omitempty"` // after all streams
	AfterTurns  *Memory `json:"memory_after_turns,omitempty"`   // after the growth test
	IdleCPU     float64 `json:"idle_cpu_ms_per_10s"`

	BackgroundBusy float64 `json:"background_busy_pct"` // of all cores, in the 2 s before this peer was started
	Steal          float64 `json:"steal_pct"`           // CPU time taken by the host while this peer was measured

	ToolRead    *Stat    `json:"tool_read_ms,omitempty"`
	ToolReadBy  string   `json:"tool_read_by,omitempty"`
	ToolShell   *Stat    `json:"tool_shell_ms,omitempty"`
	ToolShellBy string   `json:"tool_shell_by,omitempty"`
	ToolSamples []string `json:"tool_result_samples,omitempty"` // starts of results, to see that the tools ran
	ToolsWorked bool     `json:"tools_worked"`

	AbortDone *Stat `json:"abort_done_ms,omitempty"` // abort sent -> end of turn told
	AbortGone *Stat `json:"abort_gone_ms,omitempty"` // abort sent -> the model server sees the hang-up

	Growth      []GrowthRow `json:"growth,omitempty"`
	GrowthTurns int         `json:"growth_turns,omitempty"`
	Crowds      []Crowd     `json:"crowds,omitempty"`            // many sessions at once
	Long        []GrowthRow `json:"long,omitempty"`              // one very long conversation, of our own daemon and the floor
	GrowthDisk  int64       `json:"growth_home_bytes,omitempty"` // what the home folder grew by
}

// GrowthRow is the overhead of a range of turns in one long conversation.
type GrowthRow struct {
	From    int     `json:"from"`
	To      int     `json:"to"`
	Request float64 `json:"request_ms"` // median, prompt sent -> request
	Tail    float64 `json:"tail_ms"`    // median, model server done -> end of turn told
	Bytes   int     `json:"request_bytes"`
}

type options struct {
	n, size, delayUS, streams, bursts, cold, warm, toolTurns, rounds, aborts, turns, long int
	crowds                                                                                bool
}

type bench struct {
	env *Env
	opt options
	seq int
	res *Result
	p   Peer
	l   Launch
}

var token = regexp.MustCompile(`t(\d{19});`)

func main() {
	log.SetFlags(log.Ltime)
	peersDir := flag.String("peers", "", "folder with the installed peers")
	work := flag.String("work", "", "scratch folder; not under /tmp, codex dislikes a home there")
	out := flag.String("out", "", "folder for results.json and results.md (default: the scratch folder)")
	only := flag.String("only", "", "comma separated names; default all")
	var o options
	flag.IntVar(&o.n, "n", 2000, "deltas per stream")
	flag.IntVar(&o.size, "size", 32, "bytes per delta")
	flag.IntVar(&o.delayUS, "delay", 1000, "microseconds between deltas of the paced stream")
	flag.IntVar(&o.streams, "streams", 3, "paced streams")
	flag.IntVar(&o.bursts, "bursts", 5, "unpaced streams")
	flag.IntVar(&o.cold, "cold", 7, "cold starts")
	flag.IntVar(&o.warm, "warm", 10, "warm prompts")
	flag.IntVar(&o.toolTurns, "tool-turns", 3, "turns with tools, of each kind")
	flag.IntVar(&o.rounds, "rounds", 10, "tool rounds per turn")
	flag.IntVar(&o.aborts, "aborts", 5, "aborted turns")
	flag.IntVar(&o.turns, "turns", 200, "turns of the growth test")
	flag.IntVar(&o.long, "long", 1000, "turns of the very long conversation, of our own daemon and the floor only")
	flag.BoolVar(&o.crowds, "crowds", true, "10 and 100 sessions at once, where a process serves several")
	wait := flag.Duration("quiet", time.Minute, "wait at most this long, before each peer, for a machine less than 10% busy")
	flag.Parse()
	if *out == "" {
		*out = *work
	}
	env := &Env{PeersDir: *peersDir, Work: *work, WS: filepath.Join(*work, "ws")}
	env.Node = glob1(*peersDir+"/node24/node_modules/node/bin/node", *peersDir+"/node24/node_modules/.bin/node")
	if env.Node == "" {
		env.Node, _ = exec.LookPath("node")
	}
	must(os.MkdirAll(env.WS, 0o755))
	must(writeFile(env.WS+"/a.txt", "MAGIC-4711 first line\n"+strings.Repeat("some text in a small file\n", 40)))
	must(writeFile(env.WS+"/README.md", "# workspace for the benchmark\n"))
	if fileSize(env.WS+"/.git/HEAD") == 0 {
		c := exec.Command("git", "init", "-q", env.WS)
		c.Run()
	}

	base, stop, err := startMock(filepath.Join(*work, "bin", "mock"))
	must(err)
	defer stop()
	env.BaseURL = base

	peers := []Peer{&codex{}, &pi{}, newOpencode(), newGemini(), &agentlsp{name: "agentlsp"}, newAgentLSPACP(), &agentlsp{name: "refdaemon"}}
	want := map[string]bool{}
	for _, n := range strings.Split(*only, ",") {
		if n != "" {
			want[n] = true
		}
	}
	doc := struct {
		When    string    `json:"when"`
		Machine string    `json:"machine"`
		Options string    `json:"options"`
		Peers   []*Result `json:"peers"`
	}{time.Now().UTC().Format(time.RFC3339), machine(), fmt.Sprintf("%+v", o), nil}
	save := func() {
		b, _ := json.MarshalIndent(doc, "", " ")
		must(os.WriteFile(filepath.Join(*out, "results.json"), append(b, '\n'), 0o644))
		must(os.WriteFile(filepath.Join(*out, "results.md"), []byte(markdown(doc.When, doc.Machine, doc.Options, doc.Peers)), 0o644))
	}
	if len(want) == 0 || want["direct"] {
		quiet(*wait)
		doc.Peers = append(doc.Peers, direct(env, o))
	}
	for _, p := range peers {
		if len(want) > 0 && !want[p.Name()] {
			continue
		}
		info, err := p.Find(env)
		if err != nil {
			log.Printf("%s: skipped: %v", p.Name(), err)
			doc.Peers = append(doc.Peers, &Result{Name: p.Name(), Errors: []string{"skipped: " + err.Error()}})
			continue
		}
		if n, err := os.ReadFile(filepath.Join(*peersDir, p.Name(), "NOTE")); err == nil {
			info.Note = strings.TrimPrefix(info.Note+"; "+strings.TrimSpace(string(n)), "; ")
		}
		b := &bench{env: env, opt: o, p: p, res: &Result{Name: p.Name(), Info: info}}
		doc.Peers = append(doc.Peers, b.res)
		t := time.Now()
		b.res.BackgroundBusy = quiet(*wait)
		c1 := cpuTimes()
		b.all()
		if r := b.res; r.Missing != 0 {
			b.fail("streams", fmt.Errorf("%d deltas did not arrive", r.Missing))
		}
		_, b.res.Steal = cpuTimes().since(c1)
		log.Printf("%s: done in %.0fs, %d errors", p.Name(), time.Since(t).Seconds(), len(b.res.Errors))
		save()
	}
	save()
	fmt.Print(markdown(doc.When, doc.Machine, doc.Options, doc.Peers))
}

// quiet waits for the machine to have little else to do; it returns how busy it was in the last 2 s.
func quiet(limit time.Duration) float64 {
	for end := time.Now().Add(limit); ; {
		c := cpuTimes()
		time.Sleep(2 * time.Second)
		busy, _ := cpuTimes().since(c)
		if busy < 10 || time.Now().After(end) {
			return busy
		}
	}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

func machine() string {
	var u syscall.Utsname
	syscall.Uname(&u)
	rel := []byte{}
	for _, c := range u.Release {
		if c == 0 {
			break
		}
		rel = append(rel, byte(c))
	}
	cpu := ""
	b, _ := os.ReadFile("/proc/cpuinfo")
	for _, l := range strings.Split(string(b), "\n") {
		if k, v, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(k) == "model name" {
			cpu = strings.TrimSpace(v)
			break
		}
	}
	return fmt.Sprintf("%d cores (%s), Linux %s, bench built with %s", runtime.NumCPU(), cpu, rel, runtime.Version())
}

func startMock(bin string) (string, func(), error) {
	cmd := exec.Command(bin, "-addr", "127.0.0.1:0")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Stderr = os.Stderr
	r, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	line, err := bufio.NewReader(r).ReadString('\n')
	addr := strings.TrimSpace(strings.TrimPrefix(line, "listening "))
	if err != nil || addr == "" {
		cmd.Process.Kill()
		return "", nil, fmt.Errorf("mock did not start: %v", err)
	}
	return "http://" + addr, func() { cmd.Process.Kill(); cmd.Wait() }, nil
}

// log of the mock for one id
func (e *Env) records(id string) []Record {
	r, err := http.Get(e.BaseURL + "/__log")
	if err != nil {
		return nil
	}
	defer r.Body.Close()
	var all, out []Record
	json.NewDecoder(r.Body).Decode(&all)
	for _, x := range all {
		if x.ID == id {
			out = append(out, x)
		}
	}
	return out
}

func (e *Env) reset() {
	if r, err := http.Post(e.BaseURL+"/__reset", "", nil); err == nil {
		r.Body.Close()
	}
}

func (b *bench) fail(what string, err error) {
	log.Printf("%s: %s: %v", b.p.Name(), what, err)
	b.res.Errors = append(b.res.Errors, what+": "+err.Error())
}

func (b *bench) id() string { b.seq++; return b.p.Name() + strconv.Itoa(b.seq) }

// Turn is one prompt and what came of it.
type Turn struct {
	Sent, Done int64
	Lat        []float64 // ms per delta
	FirstAt    int64
	LastAt     int64
	Msgs       int
	Bytes      int64
	Recs       []Record // without title requests
	Extra      int
	Failed     string
}

// turn runs one prompt to its end. abortAfter > 0 aborts it that long after the first delta.
func (b *bench) turn(c *Conn, script string, timeout, abortAfter time.Duration) (*Turn, int64, error) {
	id := b.id()
	t := &Turn{}
	start := c.bytes
	var err error
	for try := 0; ; try++ {
		t.Sent, err = b.p.Prompt(c, script+" id="+id)
		if err != nil {
			return t, 0, err
		}
		err = b.follow(c, t, timeout, abortAfter)
		if err == nil && t.Failed != "" && try < 20 && strings.Contains(t.Failed, "already processing") {
			time.Sleep(5 * time.Millisecond)
			t.Failed = ""
			continue
		}
		break
	}
	t.Bytes = c.bytes - start
	// The mock notes the end of a request just after its last write.
	for wait := 0; wait < 20; wait++ {
		t.Recs, t.Extra = nil, 0
		open := false
		for _, r := range b.env.records(id) {
			if r.Kind == "title" {
				t.Extra++
				continue
			}
			open = open || (r.End == 0 && r.Gone == 0)
			t.Recs = append(t.Recs, r)
		}
		if !open {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err == nil && t.Failed != "" {
		err = errors.New(t.Failed)
	}
	if err == nil && len(t.Recs) == 0 {
		err = errors.New("no request reached the model server")
	}
	if err == nil && abortAfter == 0 {
		// A driver that takes the wrong message for the end of a turn must not look fast.
		if last := t.Recs[len(t.Recs)-1]; last.End == 0 || t.Done < last.End-20e6 {
			err = errors.New("the turn was said to be over before the model server had ended its answer")
		}
	}
	return t, t.LastAt, err
}

func (b *bench) follow(c *Conn, t *Turn, timeout, abortAfter time.Duration) error {
	deadline := time.Now().Add(timeout)
	var buf []byte
	aborted := abortAfter == 0
	var abortAt time.Time
	for {
		d := deadline
		if !aborted && !abortAt.IsZero() {
			if !time.Now().Before(abortAt) {
				at, err := b.p.Abort(c)
				if err != nil {
					return err
				}
				aborted, t.LastAt = true, at
			} else {
				d = abortAt
			}
		}
		m, err := c.Next(d)
		if err == errTimeout && d.Before(deadline) {
			continue
		}
		if err != nil {
			return err
		}
		ev := b.p.Read(c, m)
		switch ev.Kind {
		case evDone:
			t.Done = m.At
			return nil
		case evFail:
			t.Done, t.Failed = m.At, ev.Text
			if abortAfter > 0 {
				t.Failed = "" // some peers end an aborted turn with an error
			}
			return nil
		case evDelta:
			t.Msgs++
			if t.FirstAt == 0 {
				t.FirstAt = m.At
				if abortAfter > 0 {
					abortAt = time.Now().Add(abortAfter)
				}
			}
			if abortAfter == 0 {
				t.LastAt = m.At
			}
			buf = append(buf, ev.Text...)
			end := 0
			for _, h := range token.FindAllSubmatchIndex(buf, -1) {
				ns, _ := strconv.ParseInt(string(buf[h[2]:h[3]]), 10, 64)
				t.Lat = append(t.Lat, float64(m.At-ns)/1e6)
				end = h[1]
			}
			if len(buf)-end > 21 {
				end = len(buf) - 21 // what is left can hold at most the start of a token
			}
			buf = append(buf[:0], buf[end:]...)
		}
	}
}

func ms(a, b int64) float64 { return float64(b-a) / 1e6 }

func (b *bench) open(home string) (*Conn, float64, float64, error) {
	l, err := b.p.Prepare(b.env, home)
	if err != nil {
		return nil, 0, 0, err
	}
	if l.Dir == "" {
		l.Dir = b.env.WS
	}
	l.Log = filepath.Join(b.env.Work, "logs", b.p.Name()+".stderr")
	os.MkdirAll(filepath.Dir(l.Log), 0o755)
	c, err := start(l)
	if err != nil {
		return nil, 0, 0, err
	}
	if err = b.p.Init(c); err != nil {
		c.Stop()
		return nil, 0, 0, fmt.Errorf("init: %w", err)
	}
	init := ms(c.spawn, now())
	if err = b.p.Session(c, b.env); err != nil {
		c.Stop()
		return nil, 0, 0, fmt.Errorf("session: %w", err)
	}
	return c, init, ms(c.spawn, now()), nil
}

func (b *bench) all() {
	r, o := b.res, b.opt
	b.env.reset()
	home := filepath.Join(b.env.Work, "home", b.p.Name())
	if err := os.RemoveAll(home); err != nil {
		b.fail("home", err)
		return
	}
	os.MkdirAll(home, 0o755)

	// First start ever, with an empty home; then cold starts.
	var init, ready, first, total, exit []float64
	for i := 0; i <= o.cold; i++ {
		c, in, re, err := b.open(home)
		if err != nil {
			b.fail("cold start", err)
			return
		}
		t, _, err := b.turn(c, "STREAM n=1 size=32 delay_us=0", 60*time.Second, 0)
		if err != nil {
			b.fail("cold prompt", err)
			c.Stop()
			return
		}
		if i == 0 {
			r.FirstEverReadyMS = round(re)
			r.RequestSize, r.Extra = t.Recs[0].Bytes, t.Extra
			c.Drain(time.Second) // let it write what it writes once
			c.Stop()
			continue
		}
		init, ready = append(init, in), append(ready, re)
		first = append(first, ms(t.Sent, t.Recs[0].Arrive))
		total = append(total, ms(c.spawn, t.Recs[0].Arrive))
		c.Drain(300 * time.Millisecond)
		exit = append(exit, c.Stop())
	}
	r.ColdInit, r.ColdReady, r.ColdFirstRequest, r.SpawnToRequest, r.Exit = stat(init), stat(ready), stat(first), stat(total), stat(exit)
	log.Printf("%s: cold start measured", b.p.Name())

	// One long-lived process for the rest.
	c, _, _, err := b.open(home)
	if err != nil {
		b.fail("start", err)
		return
	}
	pid := c.cmd.Process.Pid
	c.Drain(2 * time.Second)
	m := memory(pid)
	r.Idle = &m
	cpu0 := cpuMS(pid)
	time.Sleep(5 * time.Second)
	r.IdleCPU = (cpuMS(pid) - cpu0) * 2
	var req, tail, ft []float64
	for i := 0; i <= o.warm; i++ {
		t, _, err := b.turn(c, "STREAM n=5 size=32 delay_us=0", 60*time.Second, 0)
		if err != nil {
			b.fail("warm prompt", err)
			c.Stop()
			return
		}
		c.Drain(100 * time.Millisecond)
		if i == 0 {
			continue
		}
		req, tail = append(req, ms(t.Sent, t.Recs[0].Arrive)), append(tail, ms(t.Recs[0].End, t.Done))
		ft = append(ft, ms(t.Recs[0].First, t.FirstAt))
	}
	r.WarmRequest, r.WarmTail, r.FirstToken = stat(req), stat(tail), stat(ft)

	var pool, msgs, out, cpu []float64
	for i := 0; i < o.streams; i++ {
		cpu0 := cpuMS(pid)
		t, _, err := b.turn(c, fmt.Sprintf("STREAM n=%d size=%d delay_us=%d", o.n, o.size, o.delayUS), 90*time.Second, 0)
		if err != nil {
			b.fail("paced stream", err)
			c.Stop()
			return
		}
		c.Drain(300 * time.Millisecond)
		cpu = append(cpu, cpuMS(pid)-cpu0)
		r.Missing += o.n - len(t.Lat)
		if s := stat(t.Lat); s != nil {
			r.DeltaP50s, r.DeltaP99s = append(r.DeltaP50s, s.P50), append(r.DeltaP99s, s.P99)
		}
		pool, msgs, out = append(pool, t.Lat...), append(msgs, float64(t.Msgs)), append(out, float64(t.Bytes))
		if i == 0 {
			time.Sleep(500 * time.Millisecond)
			m := memory(pid)
			r.AfterStream = &m
		}
	}
	r.DeltaLatency, r.DeltaMessages, r.StdoutBytes, r.StreamCPU = stat(pool), stat(msgs), stat(out), stat(cpu)

	var rate, blat []float64
	for i := 0; i < o.bursts; i++ {
		t, last, err := b.turn(c, fmt.Sprintf("STREAM n=%d size=%d delay_us=0", o.n, o.size), 90*time.Second, 0)
		if err != nil {
			b.fail("unpaced stream", err)
			break
		}
		c.Drain(200 * time.Millisecond)
		r.Missing += o.n - len(t.Lat)
		if d := ms(t.Recs[0].First, last); d > 0 {
			rate = append(rate, float64(len(t.Lat))/d*1000)
		}
		blat = append(blat, t.Lat...)
	}
	r.Throughput, r.BurstLatency = stat(rate), stat(blat)
	m2 := memory(pid)
	r.AfterAll = &m2
	log.Printf("%s: streams measured", b.p.Name())
	c.Stop()

	// Tools, in a fresh session.
	if c, _, _, err = b.open(home); err != nil {
		b.fail("start", err)
		return
	}
	b.turn(c, "STREAM n=1 size=32 delay_us=0", 60*time.Second, 0)
	c.Drain(300 * time.Millisecond)
	r.ToolsWorked = true
	for _, kind := range []string{"read path=" + b.env.WS + "/a.txt", "shell cmd=true"} {
		var gap []float64
		by := ""
		for i := 0; i < o.toolTurns; i++ {
			t, _, err := b.turn(c, fmt.Sprintf("TOOL %s rounds=%d", kind, o.rounds), 120*time.Second, 0)
			if err != nil {
				b.fail("tool "+kind, err)
				break
			}
			c.Drain(100 * time.Millisecond)
			for j := 1; j < len(t.Recs); j++ {
				gap = append(gap, ms(t.Recs[j-1].End, t.Recs[j].Arrive))
			}
			by = t.Recs[0].Tool
			if strings.HasPrefix(kind, "read") {
				if len(t.Recs) < 2 || !strings.Contains(t.Recs[1].LastTool, "MAGIC-4711") {
					r.ToolsWorked = false
				}
			}
			if len(t.Recs) != o.rounds+1 {
				r.ToolsWorked = false
			}
			if i == 0 && len(t.Recs) > 1 {
				r.ToolSamples = append(r.ToolSamples, kind[:5]+": "+t.Recs[1].LastTool)
			}
		}
		if strings.HasPrefix(kind, "read") {
			r.ToolRead, r.ToolReadBy = stat(gap), by
		} else {
			r.ToolShell, r.ToolShellBy = stat(gap), by
		}
	}
	log.Printf("%s: tools measured", b.p.Name())

	// Aborts.
	var done, gone []float64
	for i := 0; i < o.aborts; i++ {
		t, at, err := b.turn(c, "STREAM n=5000 size=32 delay_us=2000", 30*time.Second, 200*time.Millisecond)
		if err != nil {
			b.fail("abort", err)
			break
		}
		done = append(done, ms(at, t.Done))
		if g := t.Recs[len(t.Recs)-1].Gone; g > 0 {
			gone = append(gone, ms(at, g))
		}
		c.Drain(300 * time.Millisecond)
	}
	r.AbortDone, r.AbortGone = stat(done), stat(gone)
	c.Stop()

	if o.crowds {
		b.crowds(home)
		log.Printf("%s: many sessions measured", b.p.Name())
	}
	if o.turns > 0 {
		r.Growth, r.GrowthTurns, r.GrowthDisk, r.AfterTurns = b.growth(home, o.turns)
	}
	if _, own := b.p.(*agentlsp); own && o.long > 0 {
		r.Long, _, _, _ = b.growth(home, o.long)
	}
}

// growth measures a conversation of so many turns in a fresh session: its four stretches, the turns that were run, what
// the home folder grew by, and the memory after them.
func (b *bench) growth(home string, turns int) (rows []GrowthRow, ran int, disk int64, after *Memory) {
	c, _, _, err := b.open(home)
	if err != nil {
		b.fail("start", err)
		return
	}
	defer c.Stop()
	disk0 := diskUse(home)
	var hs, ts []float64
	var sizes []int
	end := time.Now().Add(4 * time.Minute)
	for i := 0; i < turns && time.Now().Before(end); i++ {
		t, _, err := b.turn(c, "STREAM n=20 size=200 delay_us=0", 60*time.Second, 0)
		if err != nil {
			b.fail(fmt.Sprintf("growth turn %d", i+1), err)
			break
		}
		hs, ts = append(hs, ms(t.Sent, t.Recs[0].Arrive)), append(ts, ms(t.Recs[0].End, t.Done))
		sizes = append(sizes, t.Recs[len(t.Recs)-1].Bytes)
		if i%20 == 0 {
			b.env.reset()
		}
	}
	if n := len(hs); n >= 21 {
		for _, from := range []int{1, n / 3, 2 * n / 3, n - 20} { // the first turn is left out: it starts things up
			to := from + 20
			if k := len(rows); to > n || k > 0 && from < rows[k-1].To {
				continue
			}
			rows = append(rows, GrowthRow{from + 1, to, stat(hs[from:to]).P50, stat(ts[from:to]).P50, sizes[to-1]})
		}
	}
	m := memory(c.cmd.Process.Pid)
	return rows, len(hs), diskUse(home) - disk0, &m
}

// direct reads the mock's stream without an agent: the floor and the ceiling.
func direct(e *Env, o options) *Result {
	r := &Result{Name: "direct", Info: Info{Version: "-", Protocol: "the benchmark reads the model server itself", WireAPI: "chat"}, ToolsWorked: true}
	stream := func(n, delay int) ([]float64, float64, error) {
		body := fmt.Sprintf(`{"model":"mock-model","stream":true,"messages":[{"role":"user","content":"STREAM n=%d size=%d delay_us=%d id=direct"}]}`, n, o.size, delay)
		resp, err := http.Post(e.BaseURL+"/v1/chat/completions", "application/json", strings.NewReader(body))
		if err != nil {
			return nil, 0, err
		}
		defer resp.Body.Close()
		var lat []float64
		var first, last int64
		br := bufio.NewReaderSize(resp.Body, 1<<16)
		for {
			line, err := br.ReadSlice('\n')
			at := now()
			if h := token.FindSubmatch(line); h != nil {
				ns, _ := strconv.ParseInt(string(h[1]), 10, 64)
				lat = append(lat, float64(at-ns)/1e6)
				if first == 0 {
					first = ns
				}
				last = at
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				return lat, 0, err
			}
		}
		return lat, float64(len(lat)) / (float64(last-first) / 1e9), nil
	}
	var pool, rate, blat []float64
	for i := 0; i < o.streams; i++ {
		lat, _, err := stream(o.n, o.delayUS)
		if err != nil {
			r.Errors = append(r.Errors, err.Error())
		}
		s := stat(lat)
		if s != nil {
			r.DeltaP50s, r.DeltaP99s = append(r.DeltaP50s, s.P50), append(r.DeltaP99s, s.P99)
		}
		pool = append(pool, lat...)
		r.Missing += o.n - len(lat)
	}
	for i := 0; i < o.bursts; i++ {
		lat, d, err := stream(o.n, 0)
		if err != nil {
			r.Errors = append(r.Errors, err.Error())
		}
		rate, blat = append(rate, d), append(blat, lat...)
		r.Missing += o.n - len(lat)
	}
	r.DeltaLatency, r.Throughput, r.BurstLatency = stat(pool), stat(rate), stat(blat)
	return r
}

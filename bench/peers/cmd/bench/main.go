// Command bench measures coding agents that an editor can control, side by side, against one
// scripted model server (cmd/mock).
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

type options struct {
	n, size, delayUS, streams, bursts, cold, warm, toolTurns, rounds, aborts int
	turns, long, pairs, groups, cached                                       int
	cachedOnly                                                               bool
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
	flag.IntVar(&o.long, "long", 1000,
		"turns of the very long conversation, of our own daemon and the floor only")
	flag.IntVar(&o.pairs, "pairs", 0,
		"where just two programs are measured, let them take turns in so many pairs of processes, for all rows of time")
	flag.IntVar(&o.groups, "groups", 1,
		"groups of 10 and of 100 parallel sessions, where a process serves several; as many in each pair of processes")
	flag.IntVar(&o.cached, "cached", 50, "tool calls of the conversations over the Messages API")
	flag.BoolVar(&o.cachedOnly, "cached-only", false, "measure only that conversation")
	wait := flag.Duration("quiet", time.Minute,
		"wait at most this long, before each peer, for a machine less than 10% busy")
	flag.Parse()
	if *out == "" {
		*out = *work
	}
	env := &Env{PeersDir: *peersDir, Work: *work, WS: filepath.Join(*work, "ws")}
	env.Node = glob1(*peersDir+"/node24/node_modules/node/bin/node", *peersDir+
		"/node24/node_modules/.bin/node")
	if env.Node == "" {
		env.Node, _ = exec.LookPath("node")
	}
	must(os.MkdirAll(env.WS, 0o755))
	must(writeFile(env.WS+"/a.txt", "MAGIC-4711 first line\n"+
		strings.Repeat("some text in a small file\n", 40)))
	must(writeFile(env.WS+"/README.md", "# workspace for the benchmark\n"))
	if fileSize(env.WS+"/.git/HEAD") == 0 {
		c := exec.Command("git", "init", "-q", env.WS)
		c.Run()
	}

	base, stop, err := startMock(filepath.Join(*work, "bin", "mock"))
	must(err)
	defer stop()
	env.BaseURL = base

	peers := []Peer{&codex{}, &pi{}, newOpencode(), newGemini(), &agentlsp{name: "agentlsp"},
		newAgentLSPACP(), &agentlsp{name: "refdaemon"}}
	if os.Getenv(binVariables["agentlsp-before"]) != "" {
		peers = append(peers, &agentlsp{name: "agentlsp-before"})
	}
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
		must(os.WriteFile(filepath.Join(*out, "results.md"),
			[]byte(markdown(doc.When, doc.Machine, doc.Options, doc.Peers)), 0o644))
	}
	if !o.cachedOnly && (len(want) == 0 || want["direct"]) {
		quiet(*wait)
		doc.Peers = append(doc.Peers, direct(env, o))
	}
	var measured []*bench
	for _, p := range peers {
		if len(want) > 0 && !want[p.Name()] {
			continue
		}
		info, err := p.Find(env)
		if err != nil {
			log.Printf("%s: skipped: %v", p.Name(), err)
			doc.Peers = append(doc.Peers, &Result{Name: p.Name(),
				Errors: []string{"skipped: " + err.Error()}})
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
		if !o.cachedOnly {
			b.all()
		}
		if o.cached > 0 {
			b.cached(o.cached)
		}
		measured = append(measured, b)
		_, b.res.Steal = cpuTimes().since(c1)
		log.Printf("%s: done in %.0fs, %d errors", p.Name(), time.Since(t).Seconds(),
			len(b.res.Errors))
		save()
	}
	if o.pairs > 0 && len(measured) == 2 {
		alternate(measured[0], measured[1], o.pairs)
	}
	for _, b := range measured {
		if b.res.Missing != 0 {
			b.fail("streams", fmt.Errorf("%d deltas did not arrive", b.res.Missing))
		}
	}
	save()
	fmt.Print(markdown(doc.When, doc.Machine, doc.Options, doc.Peers))
}

// quiet waits until the machine has little other load, and returns the load of the last 2 s.
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
	return fmt.Sprintf("%d cores (%s), Linux %s, bench built with %s", runtime.NumCPU(), cpu, rel,
		runtime.Version())
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

// records returns the mock's log of one id.
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

package shell

import (
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// BenchmarkOverhead measures how much time the helper adds to /bin/true, and how much each sandbox
// adds to that. The variants alternate, so that load on the machine affects all of them equally. It
// reports medians and minimums in milliseconds. Other processes affect the minimums least.
func BenchmarkOverhead(b *testing.B) {
	r := newRunner(b)
	kinds := boxes(b)
	boxed := make([]*box, len(kinds))
	for i, s := range kinds {
		boxed[i] = newBox(b, s)
		// From now on, a helper is waiting for the next command.
		run(b, boxed[i].r, Command{Argv: []string{"/bin/true"}, Dir: boxed[i].work,
			Sandbox: boxed[i].plan()})
	}
	run(b, r, Command{Argv: []string{"/bin/true"}})
	var plain, helper []time.Duration
	walls := make([][]time.Duration, len(kinds))
	for b.Loop() {
		plain = append(plain, timed(func() { _ = exec.Command("/bin/true").Run() }))
		helper = append(helper, timed(func() { run(b, r, Command{Argv: []string{"/bin/true"}}) }))
		for i, x := range boxed {
			plan := x.plan()
			walls[i] = append(walls[i], timed(func() {
				run(b, x.r,
					Command{Argv: []string{"/bin/true"}, Dir: x.work, Sandbox: plan})
			}))
		}
		// Between two commands, the model needs time. During that time, the next helper starts.
		time.Sleep(20 * time.Millisecond)
	}
	reportCost(b, "plain", plain, []time.Duration{0})
	reportCost(b, "helper", helper, plain)
	for i, s := range kinds {
		reportCost(b, string(s.Kind), walls[i], helper)
	}
}

// BenchmarkPrepared measures how long /bin/true takes without a sandbox, in a sandbox that is
// created for it, and in a sandbox that was prepared while the model was thinking. The sandboxes
// contain the package caches of a session. The variants alternate. It reports medians and minimums
// in milliseconds.
func BenchmarkPrepared(b *testing.B) {
	x := ownBox(b)
	caches := []string{x.out + "/go-build", x.out + "/npm", x.out + "/cargo"}
	for _, dir := range caches {
		if err := os.Mkdir(dir, 0o755); err != nil {
			b.Fatal(err)
		}
	}
	plan, err := x.s.Plan(sandbox.Spec{
		Writable: []string{x.work}, Tmp: x.tmp, Layer: x.out + "/layer", Caches: caches,
	})
	if err != nil {
		b.Fatal(err)
	}
	once := *plan
	once.Session = "" // commands without a session get no prepared sandbox
	other := newRunner(b)
	run(b, other, Command{Argv: []string{"/bin/true"}})
	var plain, cold, prepared []time.Duration
	for b.Loop() {
		cost := func(r *Runner, plan *sandbox.Plan) (Result, time.Duration) {
			c := Command{Argv: []string{"/bin/true"}, Dir: x.work, Sandbox: plan}
			start := time.Now()
			res := run(b, r, c)
			return res, time.Since(start)
		}
		think := func() { time.Sleep(30 * time.Millisecond) }
		_, d := cost(other, nil)
		plain = append(plain, d)
		think()
		_, d = cost(other, &once)
		cold = append(cold, d)
		think()
		x.prepare(plan)
		x.waitPrepared()
		think()
		if res, d := cost(x.r, plan); res.Prepared {
			prepared = append(prepared, d)
		}
		think()
	}
	b.ReportMetric(milliseconds(median(plain)), "plain-ms")
	reportCost(b, "cold", cold, plain)
	reportCost(b, "prepared", prepared, plain)
	b.ReportMetric(float64(len(prepared))/float64(len(plain)), "prepared-share")
}

// reportCost reports how much longer one variant takes than another.
func reportCost(b *testing.B, name string, way, than []time.Duration) {
	b.ReportMetric(milliseconds(median(way)-median(than)), name+"-ms")
	b.ReportMetric(milliseconds(slices.Min(way)-slices.Min(than)), name+"-least-ms")
}

func timed(do func()) time.Duration {
	start := time.Now()
	do()
	return time.Since(start)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

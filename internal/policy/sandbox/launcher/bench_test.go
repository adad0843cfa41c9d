//go:build linux && (amd64 || arm64)

package launcher

import (
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"
	"time"
)

// BenchmarkColdStart measures how long /bin/true takes without a sandbox, and the additional time
// that each kind of sandbox needs. The variants alternate, so that the machine's load affects all
// of them equally. It reports medians in milliseconds.
func BenchmarkColdStart(b *testing.B) {
	x := newBox(b)
	readOnly, write, caches := x.spec, x.spec, x.spec
	readOnly.Write = false
	home := os.Getenv("HOME")
	caches.Home, caches.Readable, caches.Caches = home, HomeReadable(
		home,
		os.Getenv("PATH"),
	), homeCaches(
		home,
	)
	specs := map[string]Spec{"read-only": readOnly, "write": write, "write-caches": caches}
	var plain []time.Duration
	cost := map[string][]time.Duration{}
	for b.Loop() {
		plain = append(plain, timed(b, exec.Command("/bin/true")))
		for name, s := range specs {
			cost[name] = append(cost[name], timed(b, x.command(s, "/bin/true")))
		}
	}
	b.ReportMetric(milliseconds(median(plain)), "plain-ms")
	for name, c := range cost {
		b.ReportMetric(milliseconds(median(c)-median(plain)), name+"-ms")
	}
}

func (b *box) command(s Spec, argv ...string) *exec.Cmd {
	b.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		b.t.Fatal(err)
	}
	args, err := s.Args(exe, argv)
	if err != nil {
		b.t.Fatal(err)
	}
	c := exec.Command(args[0], args[1:]...)
	c.Dir, c.Env, c.SysProcAttr = b.work, b.env, &syscall.SysProcAttr{}
	Attr(c.SysProcAttr)
	return c
}

func timed(b *testing.B, c *exec.Cmd) time.Duration {
	start := time.Now()
	if err := c.Run(); err != nil {
		b.Fatal(err)
	}
	return time.Since(start)
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// BenchmarkChanges measures the cost of passing file changes to the broker. It creates and removes
// 2,000 files, with and without a sandbox, and reports microseconds per change.
func BenchmarkChanges(b *testing.B) {
	const files, script = 2000, `for i in $(seq 2000); do : > f$i; done; rm f*`
	x := newBox(b)
	var plain, brokered []time.Duration
	for b.Loop() {
		c := exec.Command("bash", "-c", script)
		c.Dir = x.work
		plain = append(plain, timed(b, c))
		c = x.command(x.spec, "bash", "-c", script)
		brokered = append(brokered, timed(b, c))
	}
	b.ReportMetric(milliseconds(median(plain))*1000/(2*files), "plain-µs/change")
	b.ReportMetric(milliseconds(median(brokered))*1000/(2*files), "brokered-µs/change")
}

//go:build unix

package search

import (
	"context"
	"go/build"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"
)

func usedTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// goTree returns the path of the source tree for which the published figures were measured.
func goTree() string { return filepath.Join(build.Default.GOROOT, "src") }

// BenchmarkGrep searches the Go source tree and, if ripgrep is installed, alternates with it. It
// reports the minimum processor time of each, because other load on the machine hardly affects it.
// It also reports the ratios of processor time and elapsed time.
func BenchmarkGrep(b *testing.B) {
	for _, pattern := range []string{"Unmarshal", "func.*Unmarshal", "Errorf|Sprintf",
		`\w+\s+\w+Error\(`, `[A-Z]{5}[0-9]+`, "(?i)unmarshal", "(?i)err != nil", "notfoundanywhere",
		`^\s+return$`, `\w{40}`} {
		b.Run(pattern, func(b *testing.B) {
			m, err := Compile(Pattern{Text: pattern})
			if err != nil {
				b.Fatal(err)
			}
			besideRipgrep(b, func() {
				if _, err := Grep(context.Background(), goTree(), Options{},
					Query{Matcher: m}); err != nil {
					b.Fatal(err)
				}
			}, "-n", pattern, goTree())
		})
	}
}

// BenchmarkWalk lists the files in the Go source tree and compares the time with that of rg
// --files.
func BenchmarkWalk(b *testing.B) {
	besideRipgrep(b, func() {
		_ = Walk(context.Background(), goTree(), Options{},
			func(string, []string) error { return nil })
	}, "--files", goTree())
}

func besideRipgrep(b *testing.B, ours func(), args ...string) {
	rg, err := exec.LookPath("rg")
	var own, other, ownWall, otherWall []time.Duration
	for b.Loop() {
		begin, wall := usedTime(), time.Now()
		ours()
		own, ownWall = append(own, usedTime()-begin), append(ownWall, time.Since(wall))
		if err != nil {
			continue
		}
		cmd := exec.Command(rg, args...)
		wall = time.Now()
		_, _ = cmd.Output()
		other, otherWall = append(other, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()),
			append(otherWall, time.Since(wall))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(milliseconds(slices.Min(own)), "cpu-ms")
	if err != nil {
		b.Log("ripgrep is not installed: nothing to compare with")
		return
	}
	b.ReportMetric(milliseconds(slices.Min(other)), "rg-cpu-ms")
	b.ReportMetric(float64(slices.Min(own))/float64(slices.Min(other)), "x-cpu")
	b.ReportMetric(float64(slices.Min(ownWall))/float64(slices.Min(otherWall)), "x-clock")
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

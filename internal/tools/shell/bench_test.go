package shell

import (
	"os/exec"
	"testing"
)

// BenchmarkPlain measures how long a command takes if it is started without this package.
func BenchmarkPlain(b *testing.B) {
	for b.Loop() {
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSupervised measures how long a command takes if it is started with its supervisor.
func BenchmarkSupervised(b *testing.B) {
	r := newRunner(b)
	for b.Loop() {
		run(b, r, Command{Argv: []string{"/bin/true"}})
	}
}

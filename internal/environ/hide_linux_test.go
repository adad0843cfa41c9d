package environ

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
)

const child = "AGENT_LSP_TEST_ENVIRON"

// TestMain also runs in the child process. There, it does what the variable child says: it checks a
// descriptor, or it prints the environment as seen in /proc and by os.Getenv, with or without
// wiping it first.
func TestMain(m *testing.M) {
	if os.Getenv(child) == "" {
		os.Exit(m.Run())
	}
	isOpen(os.Getenv(child))
	if os.Getenv(child) == "wipe" {
		if err := wipe(); err != nil {
			os.Stdout.WriteString(err.Error())
			os.Exit(1)
		}
	}
	shown, err := os.ReadFile("/proc/self/environ")
	if err != nil {
		os.Exit(1)
	}
	os.Stdout.Write(shown)
	os.Stdout.WriteString("|" + os.Getenv("A_KEY"))
	os.Exit(0)
}

func TestWipe(t *testing.T) {
	for _, how := range []string{"wipe", "keep"} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{child + "=" + how, "A_KEY=canary"}
		out, err := cmd.CombinedOutput()
		shown, own, _ := bytes.Cut(out, []byte("|"))
		if err != nil || string(own) != "canary" {
			t.Fatalf("%s: %v, %q", how, err, out)
		}
		if got := bytes.Contains(shown, []byte("canary")); got != (how == "keep") {
			t.Errorf("%s: /proc shows %q", how, shown)
		}
	}
}

func BenchmarkWipe(b *testing.B) {
	for b.Loop() {
		if err := wipe(); err != nil {
			b.Fatal(err)
		}
	}
}

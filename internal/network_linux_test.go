package internal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/rpc/rpctest"
)

// connected matches an attempt to connect to an Internet address in strace output.
var connected = regexp.MustCompile(`connect\(\d+, \{sa_family=(AF_INET6?), (.*?)\}, \d+`)

// TestNoConnectionButLoopback traces a complete run with a session, model calls, tools, an edit and
// an undo. It checks that the program connects only to loopback addresses, and therefore sends no
// telemetry and does not check for new versions. It counts attempts, so it is also valid on a
// machine without a network.
func TestNoConnectionButLoopback(t *testing.T) {
	t.Parallel()
	out := traced(t, "demo")
	lines := connected.FindAllStringSubmatch(out, -1)
	if len(lines) == 0 {
		t.Error(
			"no connection was traced, although the scripted model uses loopback: the trace sees nothing",
		)
	}
	checkLoopback(t, lines)
}

// checkLoopback fails the test if a match of connected is not a loopback address.
func checkLoopback(t *testing.T, lines [][]string) {
	t.Helper()
	for _, m := range lines {
		if !strings.Contains(m[2], `inet_addr("127.0.0.1")`) && !strings.Contains(m[2], `"::1"`) {
			t.Errorf("the program tries to connect to %s", m[0])
		}
	}
}

// TestABundleIsNotSent traces the command that collects a bug report. The command may connect only
// to the configured model, which uses a loopback address here, to check whether the model answers.
func TestABundleIsNotSent(t *testing.T) {
	t.Parallel()
	checkLoopback(t, connected.FindAllStringSubmatch(traced(t, "bundle", "bug.tar.gz"), -1))
}

// TestTheTraceSeesConnections checks that connected matches a connection to another address.
// Otherwise, the tests above could not fail.
func TestTheTraceSeesConnections(t *testing.T) {
	const elsewhere = `connect(7, {sa_family=AF_INET, sin_port=htons(443), sin_addr=inet_addr("192.0.2.1")}, 16) = -1 ENETUNREACH`
	if m := connected.FindStringSubmatch(elsewhere); m == nil ||
		!strings.Contains(m[2], "192.0.2.1") {
		t.Errorf("%q was not traced as a connection", elsewhere)
	}
}

// traced runs the program under strace in a network namespace that has only a loopback interface.
// It returns the trace.
func traced(t *testing.T, args ...string) string {
	t.Helper()
	for _, need := range []string{"strace", "unshare", "ip"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Fatalf("%s is missing; `make setup` installs it", need)
		}
	}
	bin := rpctest.Program(t)
	home := t.TempDir()
	trace := filepath.Join(home, "trace")
	line := append([]string{"-rn", "sh", "-c",
		`ip link set lo up && exec strace -f --seccomp-bpf -qq -e trace=connect -o "$0" "$@"`,
		trace, bin}, args...)
	cmd := exec.Command("unshare", line...)
	cmd.Dir, cmd.Env = home, homeEnv(t, home)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("running %v in a namespace: %v\n%s", args, err, out)
	}
	b, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

package app

import (
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// TestDoctorNamesASandboxWithoutHosts checks that doctor reports a sandbox in which commands cannot
// reach any host.
func TestDoctorNamesASandboxWithoutHosts(t *testing.T) {
	for _, c := range []struct {
		setting string
		kind    sandbox.Kind
		want    bool
	}{
		{"auto", sandbox.Landlock, true}, {"off", sandbox.Landlock, false},
		{"auto", sandbox.Own, false}, {"auto", sandbox.Bubblewrap, false},
		{"auto", sandbox.Namespace, false}, {"auto", sandbox.SandboxExec, true},
		{"auto", sandbox.None, false},
	} {
		box := sandbox.Support{Kind: c.kind, Exe: "/agent-lsp"}
		lines := describeHosts(&config.Config{Sandbox: c.setting}, box)
		got := strings.Contains(strings.Join(lines, "\n"),
			"commands in this sandbox cannot reach any host")
		if got != c.want {
			t.Errorf("sandbox %s, %s: %v, want %v", c.setting, c.kind, got, c.want)
		}
	}
}

func TestAQuestionAboutAHostNamesUnusualPorts(t *testing.T) {
	const title = "Let the running command connect to x.example"
	for port, want := range map[string]string{
		"80": title, "443": title, "22": title + ", port 22", "8443": title + ", port 8443",
	} {
		if got := connectTitle("x.example", port); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

package sandbox

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/agent-lsp/agent-lsp/internal/environ"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox/launcher"
)

// probeTimeout bounds each probe process.
const probeTimeout = 10 * time.Second

// detect tries agent-lsp's own sandbox first, because only this sandbox protects files that do not
// exist, and then the weaker kinds. Why lists the reasons why stronger kinds do not work.
func detect() Support { return choose(probes()) }

// probe is the test for one kind of sandbox. try returns the system's support for that kind, or the
// reason why the system lacks it.
type probe struct {
	kind Kind
	try  func() (s Support, why string)
}

// probes returns the tests for the kinds of sandbox on this system, the strongest first.
func probes() []probe {
	return []probe{
		{Own, probeOwn},
		{Bubblewrap, probeBubblewrap},
		{Namespace, probeNamespaces},
		{Landlock, probeLandlock},
	}
}

// choose returns the first kind that works. The result also contains the reasons why the kinds
// before it do not work.
func choose(all []probe) Support {
	var why []string
	for _, p := range all {
		s, reason := p.try()
		if reason == "" {
			s.Kind, s.Why = p.kind, strings.Join(why, "; ")
			return s
		}
		if !slices.Contains(why, reason) {
			why = append(why, reason)
		}
	}
	return Support{Kind: None, Why: strings.Join(why, "; ")}
}

func probeOwn() (Support, string) {
	exe, err := environ.Self()
	if err != nil {
		return Support{}, "agent-lsp's own sandbox: " + err.Error()
	}
	if err := launcher.Probe(exe); err != nil {
		return Support{}, "agent-lsp's own sandbox: " + err.Error()
	}
	return Support{Exe: exe, ABI: landlockABI()}, ""
}

func probeBubblewrap() (Support, string) {
	path, version, why := probeBwrap()
	exe, _ := os.Executable() // the proxy needs it
	return Support{Bwrap: path, Version: version, Exe: exe, ABI: landlockABI()}, why
}

func probeNamespaces() (Support, string) {
	s, why := probeLandlock()
	if why == "" {
		why = probeNamespace()
	}
	return s, why
}

func probeLandlock() (Support, string) {
	abi := landlockABI()
	if abi == 0 {
		return Support{}, "the kernel does not support Landlock"
	}
	return Support{ABI: abi}, ""
}

// landlockABI returns the version of the kernel's Landlock ABI, or 0 without Landlock.
func landlockABI() int {
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		return 0
	}
	return abi
}

// Kinds lists all kinds of sandbox that this system supports, the strongest first. Each kind works
// without the others.
func Kinds() []Support {
	var out []Support
	for _, p := range probes() {
		if s, why := p.try(); why == "" {
			s.Kind = p.kind
			out = append(out, s)
		}
	}
	return out
}

// probeBwrap runs bubblewrap with the options that agent-lsp uses for commands, because containers
// often forbid what some of these options do.
func probeBwrap() (path, version, why string) {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return "", "", "bubblewrap is not installed"
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	out, err := probeCommand(ctx, path, "--version").Output()
	if err != nil {
		return "", "", "bubblewrap does not run"
	}
	version = strings.TrimPrefix(strings.TrimSpace(string(out)), "bubblewrap ")
	args := append(bwrapPrefix(Support{Bwrap: path}, Spec{}), "/bin/true")
	msg, err := probeCommand(ctx, args...).CombinedOutput()
	if err != nil {
		return "", "", "bubblewrap is not allowed here: " + firstLine(string(msg), err)
	}
	return path, version, ""
}

// probeNamespace tries to create the namespaces that a command would run in.
func probeNamespace() string {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	c := probeCommand(ctx, "/bin/true")
	c.SysProcAttr = &syscall.SysProcAttr{}
	namespaceAttr(c.SysProcAttr)
	exe, err := environ.Self()
	if err == nil {
		err = launcher.Nest(c, exe)
	}
	if err == nil {
		err = c.Run()
	}
	if err != nil {
		return "user namespaces are not allowed here: " + err.Error()
	}
	return ""
}

// probeCommand returns a command without the environment of this process, which may contain keys.
func probeCommand(ctx context.Context, argv ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Env = []string{"PATH=" + os.Getenv("PATH")}
	return c
}

func namespaceAttr(a *syscall.SysProcAttr) {
	a.Cloneflags |= syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}}
	a.AmbientCaps = []uintptr{capNetAdmin}
}

func firstLine(s string, err error) string {
	if line, _, _ := strings.Cut(strings.TrimSpace(s), "\n"); line != "" {
		return line
	}
	return err.Error()
}

package sandbox

import (
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
)

// probeTimeout bounds each probe process.
const probeTimeout = 10 * time.Second

// detect prefers bubblewrap: it covers the most and is the most looked at.
func detect() Support {
	s := Support{Kind: None}
	if abi, err := ll.LandlockGetABIVersion(); err == nil {
		s.ABI = abi
	}
	bwrap, version, noBwrap := probeBwrap()
	if noBwrap == "" {
		s.Kind, s.Bwrap, s.Version = Bubblewrap, bwrap, version
		return s
	}
	if s.ABI == 0 {
		s.Why = noBwrap + "; the kernel has no Landlock"
		return s
	}
	s.Kind, s.Why = Namespace, noBwrap
	if noNamespace := probeNamespace(); noNamespace != "" {
		s.Kind, s.Why = Landlock, noBwrap+"; "+noNamespace
	}
	return s
}

// Kinds are all the ways that this machine has, the best first, each usable by itself.
func Kinds() []Support {
	var out []Support
	abi, err := ll.LandlockGetABIVersion()
	if err != nil {
		abi = 0
	}
	if bwrap, version, why := probeBwrap(); why == "" {
		out = append(out, Support{Kind: Bubblewrap, Bwrap: bwrap, Version: version, ABI: abi})
	}
	if abi > 0 && probeNamespace() == "" {
		out = append(out, Support{Kind: Namespace, ABI: abi})
	}
	if abi > 0 {
		out = append(out, Support{Kind: Landlock, ABI: abi})
	}
	return out
}

// probeBwrap runs the very command line that commands get; containers often forbid parts of it.
func probeBwrap() (path, version, why string) {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return "", "", "bubblewrap is not installed"
	}
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--version").Output()
	if err != nil {
		return "", "", "bubblewrap does not run"
	}
	version = strings.TrimPrefix(strings.TrimSpace(string(out)), "bubblewrap ")
	args := append(bwrapPrefix(path, Spec{}), "/bin/true")
	msg, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return "", "", "bubblewrap is not allowed here: " + firstLine(string(msg), err)
	}
	return path, version, ""
}

// probeNamespace tries to make the namespaces that a command would get.
func probeNamespace() string {
	ctx, cancel := context.WithTimeout(context.Background(), probeTimeout)
	defer cancel()
	c := exec.CommandContext(ctx, "/bin/true")
	c.SysProcAttr = &syscall.SysProcAttr{}
	namespaceAttr(c.SysProcAttr)
	if err := c.Run(); err != nil {
		return "user namespaces are not allowed here: " + err.Error()
	}
	return ""
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

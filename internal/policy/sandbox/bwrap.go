package sandbox

import (
	"sort"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox/launcher"
)

// keptInRun are folders under /run that contain programs, not sockets.
var keptInRun = []string{"/run/current-system", "/run/wrappers", "/run/opengl-driver"}

// kernelSettings are the files under /proc through which root can change the kernel's settings,
// even without capabilities. With core_pattern, for example, the kernel starts a program of the
// command's choice outside the sandbox. bubblewrap does not make them read-only if it drops all
// capabilities.
var kernelSettings = []string{"/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus",
	"/proc/fs", "/proc/acpi", "/proc/scsi", "/proc/mtrr"}

// bwrapPrefix returns the bubblewrap command line. It mounts the root read-only, replaces /run and
// /tmp (where the sockets of other programs are), and then binds the readable and writable paths.
// bubblewrap keeps the working folder in which it was started. If there is a proxy, bubblewrap
// starts this binary, which offers the proxy a listener and then becomes the command.
func bwrapPrefix(box Support, s Spec) []string {
	args := []string{box.Bwrap, "--unshare-pid", "--unshare-ipc", "--die-with-parent",
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run"}
	for _, p := range kernelSettings {
		args = append(args, "--ro-bind-try", p, p)
	}
	args = append(args, capArgs()...)
	if s.Network {
		args = append(args, "--ro-bind-try", "/run/systemd/resolve", "/run/systemd/resolve")
	} else {
		args = append(args, "--unshare-net")
	}
	for _, p := range keptInRun {
		args = append(args, "--ro-bind-try", p, p)
	}
	args = append(args, tmpArgs(s.Tmp)...)
	for _, r := range sorted(s.Readable) {
		args = append(args, "--ro-bind-try", r, r)
	}
	for _, w := range sorted(s.Writable) {
		args = append(args, "--bind-try", w, w)
	}
	for _, p := range sorted(s.Protected) {
		args = append(args, "--ro-bind-try", p, p)
	}
	if s.Proxy == nil || !box.Proxies() {
		return append(args, "--")
	}
	args = append(args, "--ro-bind", box.Exe, offerExe, "--")
	return append(args, launcher.OfferPrefix(offerExe)...)
}

// offerExe is the path of this binary in the sandbox, where its original folder may be hidden.
const offerExe = "/run/agent-lsp"

// capArgs drops every capability. Otherwise, bubblewrap leaves all capabilities to root, including
// the one that allows remounting.
func capArgs() []string { return []string{"--cap-drop", "ALL"} }

func tmpArgs(tmp string) []string {
	if tmp == "" {
		return []string{"--tmpfs", "/tmp"}
	}
	return []string{"--bind", tmp, "/tmp", "--bind", tmp, tmp}
}

// sorted puts parents before children, so a parent's bind does not hide a child's.
func sorted(paths []string) []string {
	out := append([]string(nil), paths...)
	sort.Strings(out)
	return out
}

package sandbox

import (
	"sort"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox/launcher"
)

// keptInRun are places under /run that hold programs, not sockets.
var keptInRun = []string{"/run/current-system", "/run/wrappers", "/run/opengl-driver"}

// bwrapPrefix is the bubblewrap command line. The root is read-only, /run and /tmp (where
// the sockets of other programs live) are replaced, then what may be seen and written is
// bound over. bubblewrap itself keeps the folder that it was started in. With a proxy, this binary
// offers it a listener before it becomes the command.
func bwrapPrefix(box Support, s Spec) []string {
	args := []string{box.Bwrap, "--unshare-pid", "--unshare-ipc", "--die-with-parent",
		"--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run"}
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

// offerExe is the path of this binary in the sandbox, where its own folder may be hidden.
const offerExe = "/run/agent-lsp"

// capArgs drops every capability. To root bubblewrap leaves all of them otherwise, and with
// them the power to remount.
func capArgs() []string { return []string{"--cap-drop", "ALL"} }

func tmpArgs(tmp string) []string {
	if tmp == "" {
		return []string{"--tmpfs", "/tmp"}
	}
	return []string{"--bind", tmp, "/tmp", "--bind", tmp, tmp}
}

// sorted puts parents before children, so that a child's bind is not hidden.
func sorted(paths []string) []string {
	out := append([]string(nil), paths...)
	sort.Strings(out)
	return out
}

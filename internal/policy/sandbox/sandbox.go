package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox/launcher"
	"github.com/agent-lsp/agent-lsp/internal/realpath"
)

// Setting is the value of the setting "sandbox".
type Setting string

// The values: Auto uses the sandbox that the system has, Require refuses to run without a sandbox,
// and Off uses none.
const (
	Auto    Setting = "auto"
	Require Setting = "require"
	Off     Setting = "off"
)

// Kind is a kind of sandbox.
type Kind string

// The kinds, from the strongest to none.
const (
	Own         Kind = "agent-lsp" // see package launcher
	Bubblewrap  Kind = "bubblewrap"
	Namespace   Kind = "namespace" // network namespace and Landlock
	Landlock    Kind = "landlock"
	SandboxExec Kind = "sandbox-exec"
	None        Kind = "none"
)

// Support describes the sandbox support of this system.
type Support struct {
	Kind    Kind
	Exe     string // path of this binary, for Own and for the proxy in Bubblewrap
	Bwrap   string // path of bubblewrap
	Version string // version of bubblewrap
	ABI     int    // ABI version of Landlock, 0 if the kernel does not support it
	Why     string // why no stronger sandbox is used; "" for the strongest
}

// Spec describes what a sandboxed command may do. Only agent-lsp's own sandbox restricts reading.
type Spec struct {
	// Writable lists the absolute paths of writable folders and files. Paths that do not exist are
	// skipped. If the list is empty, the command can only read.
	Writable []string
	// Readable lists folders that must stay visible even if they are in /tmp, /run or the home
	// folder.
	Readable []string
	// Caches are package caches. agent-lsp's own sandbox gives each cache a private layer. In
	// another sandbox, a command that may write changes the caches themselves.
	Caches []string
	Layer  string // folder for the layers, created if missing; "": deleted when the command ends
	// Lock is a file in an existing folder. While a command changes the workspace, the commands of
	// other sandboxes with the same Lock wait. Only agent-lsp's own sandbox needs it.
	Lock string
	// Secrets lists the secret files that stay readable. Links in the paths are resolved. Only
	// agent-lsp's own sandbox hides secret files.
	Secrets []string
	// Hidden lists agent-lsp's own data folders, and Settings the files and folders of the user's
	// own settings of agent-lsp. In agent-lsp's own sandbox, commands cannot read the data, and can
	// change neither. bubblewrap protects only the settings.
	Hidden    []string
	Settings  []string
	Protected []string // paths below Writable that stay read-only; bubblewrap only
	Tmp       string   // the command's temporary folder, absolute; created if missing
	Network   bool     // do not restrict the network
	Proxy     *Proxy   // nil: no network; always nil without a network namespace
}

// Plan describes what the supervisor does before the command starts. It is passed as JSON.
type Plan struct {
	Kind     Kind     `json:"kind"`
	Prefix   []string `json:"prefix,omitempty"`   // prepended to the command's argv
	Writable []string `json:"writable,omitempty"` // Landlock: writable folders
	Network  bool     `json:"network,omitempty"`
	ABI      int      `json:"abi,omitempty"`
	Env      []string `json:"env,omitempty"` // variables that are set for the command
	Proxy    *Proxy   `json:"proxy,omitempty"`
	// Session is the Spec's Tmp. It identifies the session of the command, so that a sandbox for
	// the session's next command can be prepared. It is "" if that is not possible.
	Session string `json:"session,omitempty"`
}

// Detect determines once which sandbox the system supports. It may start a short probe process.
var Detect = sync.OnceValue(detect)

// abiNet is the first Landlock ABI with rules for TCP.
const abiNet = 4

// Available reports whether there is any sandbox.
func (s Support) Available() bool { return s.Kind != None && s.Kind != "" }

// Enforces reports whether the sandbox prevents a command from doing anything that the user has not
// allowed, including reading secret files and the home, using Unix sockets, and creating files that
// start programs. Only agent-lsp's own sandbox does. In any other sandbox, a command requires the
// same approval as without a sandbox.
func (s Support) Enforces() bool { return s.Kind == Own }

// Plan returns the plan for a command. It fails if the system has no sandbox.
func (s Support) Plan(spec Spec) (*Plan, error) {
	if !s.Available() {
		return nil, fmt.Errorf("sandboxing a command: this machine has no sandbox (%s)", s.Why)
	}
	session := spec.Tmp
	spec, err := spec.resolved()
	if err != nil {
		return nil, err
	}
	if s.Kind == Own {
		p, err := ownPlan(s.Exe, spec)
		if err == nil {
			p.Session = session
		}
		return p, err
	}
	if len(spec.Writable) > 0 {
		spec.Writable = append(spec.Writable, spec.Caches...)
	}
	p := &Plan{Kind: s.Kind, Network: spec.Network, ABI: s.ABI}
	if s.Proxies() && spec.Proxy != nil {
		p.Proxy = spec.Proxy
		p.Env = proxyEnv()
	}
	if spec.Tmp != "" {
		p.Env = append(p.Env, "TMPDIR="+spec.Tmp, "TMP="+spec.Tmp, "TEMP="+spec.Tmp)
	}
	switch s.Kind {
	case Bubblewrap:
		if p.Proxy != nil {
			p.Env = append(p.Env, launcher.TokenVar+"="+p.Proxy.Token)
		}
		p.Prefix = bwrapPrefix(s, spec)
	case SandboxExec:
		p.Prefix = seatbeltPrefix(spec)
	default:
		p.Writable = spec.Writable
		if spec.Tmp != "" {
			p.Writable = append(p.Writable, spec.Tmp)
		}
	}
	return p, nil
}

// resolved resolves symlinks, because the sandbox works on real paths, and drops missing paths.
func (s Spec) resolved() (Spec, error) {
	out := Spec{Network: s.Network, Proxy: s.Proxy, Secrets: s.Secrets, Settings: s.Settings}
	var err error
	if out.Tmp, err = madeFolder(s.Tmp); err != nil {
		return out, fmt.Errorf("creating the sandbox's temporary folder: %w", err)
	}
	if out.Writable, err = realPaths(steady(s.Writable, s.Writable)); err != nil {
		return out, err
	}
	if out.Readable, err = realPaths(steady(s.Readable, s.Readable)); err != nil {
		return out, err
	}
	if out.Protected, err = realPaths(slices.Concat(s.Protected, s.Settings)); err != nil {
		return out, err
	}
	if out.Hidden, err = realPaths(s.Hidden); err != nil {
		return out, err
	}
	for _, c := range steady(s.Caches, slices.Concat(s.Writable, s.Readable)) {
		if real, err := realpath.Eval(c); err == nil {
			c = real
		}
		out.Caches = append(out.Caches, c)
	}
	out.Layer, out.Lock = s.Layer, s.Lock
	return out, nil
}

// steady returns the paths without those that lead through a link in one of the folders. A command
// can create such a link, and could otherwise choose which folder the sandbox opens.
func steady(paths, folders []string) []string {
	var out []string
	for _, p := range paths {
		if realpath.Plain(p) { // the usual case, which needs one system call
			out = append(out, p)
			continue
		}
		steps := launcher.Steps(p)
		if !slices.ContainsFunc(folders, func(dir string) bool {
			return slices.ContainsFunc(steps[1:len(steps)-1], func(link string) bool {
				return link != dir && launcher.Below(link, dir)
			})
		}) {
			out = append(out, p)
		}
	}
	return out
}

// madeFolder creates a private folder and returns its real path. If path is "", it returns "".
func madeFolder(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return "", err
	}
	return realpath.Eval(path)
}

func realPaths(paths []string) ([]string, error) {
	var out []string
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			return nil, fmt.Errorf("sandboxing a command: %s is not an absolute path", p)
		}
		if real, err := realpath.Eval(p); err == nil {
			out = append(out, real)
		}
	}
	return out, nil
}

// Wrap returns a command line with the plan's prefix before the command.
func (p *Plan) Wrap(argv []string) []string {
	if p == nil || len(p.Prefix) == 0 {
		return argv
	}
	return append(append([]string(nil), p.Prefix...), argv...)
}

// Describe returns the line for `agent-lsp doctor` and agent/status: what the sandbox covers and
// what it does not.
func (s Support) Describe() string {
	text := s.covers()
	if s.Available() && !s.Enforces() {
		text += "; commands need the same permissions as without a sandbox"
	}
	return text
}

func (s Support) covers() string {
	const write = "writes only to the workspace, its temporary folder and named caches"
	switch s.Kind {
	case Own:
		return "agent-lsp's own: writes only to the workspace and to private folders; network only through the proxy, no Unix sockets, no capabilities; secret files and the home folder are hidden, files that start programs are read-only"
	case Bubblewrap:
		return "bubblewrap " + s.Version + ": " + write + "; " + s.networkWords() +
			", own process and IPC namespaces; does not cover: reading files, creating files that start programs, Unix sockets outside /run and /tmp (" + s.Why + ")"
	case Namespace:
		return fmt.Sprintf(
			"network namespace and Landlock ABI %d: %s; network only through the proxy; does not cover: reading files, modes, owners, attributes and timestamps outside, Unix sockets by path (%s)",
			s.ABI,
			write,
			s.Why,
		)
	case Landlock:
		network, gap := "no network", ""
		if !filtersSockets() {
			network, gap = tcpWords(s.ABI), " UDP, MPTCP and raw sockets,"
		}
		return fmt.Sprintf(
			"Landlock ABI %d: %s; %s, not even loopback; does not cover: reading files, modes, owners, attributes and timestamps outside,%s Unix sockets by path (%s)",
			s.ABI,
			write,
			network,
			gap,
			s.Why,
		)
	case SandboxExec:
		return "sandbox-exec: " + write +
			"; no network; does not cover: reading files, processes that leave their group"
	}
	return "none: commands run without a sandbox (" + s.Why + ")"
}

// networkWords describes the network of a sandbox that has a network namespace.
func (s Support) networkWords() string {
	if s.Proxies() {
		return "network only through the proxy"
	}
	return "no network"
}

func tcpWords(abi int) string {
	if abi >= abiNet {
		return "no TCP"
	}
	return "network not limited"
}

// denials are messages that commands print when a sandbox stops them.
var denials = []struct{ text, what string }{
	{"Read-only file system", "a write outside the workspace"},
	{"Permission denied", "a write outside the workspace, or the network"},
	{"Operation not permitted", "a write outside the workspace, or the network"},
	{"Network is unreachable", "the network"},
	{"network is unreachable", "the network"},
	{"Temporary failure in name resolution", "the network"},
	{"Could not resolve host", "the network"},
	{"Name or service not known", "the network"},
	{"permission denied", "a write outside the workspace, or the network"},
	{"read-only file system", "a write outside the workspace"},
	{"EROFS", "a write outside the workspace"},
	{"EAI_AGAIN", "the network"},
	{"ENETUNREACH", "the network"},
}

// Enters reports whether Enter confines the calling thread. In other sandboxes, the plan's prefix
// confines the command.
func (p *Plan) Enters() bool { return p != nil && (p.Kind == Landlock || p.Kind == Namespace) }

// Stopped returns the part of the sandbox that probably stopped a failed command, or "" if none
// did. No system reports this reliably, so Stopped searches the output for typical messages.
func (p *Plan) Stopped(output string) string {
	if p == nil {
		return ""
	}
	for _, d := range denials {
		if strings.Contains(output, d.text) {
			return d.what
		}
	}
	return ""
}

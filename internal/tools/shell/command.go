package shell

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox"
)

// Limits and defaults of a command.
const (
	// Grace is the time between SIGTERM and SIGKILL (docs/reference/protocol/turns.md, 3.3).
	Grace = 1500 * time.Millisecond
	// defaultHead and defaultTail limit the output that is kept in memory.
	defaultHead = 32 << 10
	defaultTail = 96 << 10
	// defaultSpill limits the file that contains the complete output.
	defaultSpill = 256 << 20
	// maxScript is the maximum size of one argument on Linux, less a reserve.
	maxScript = 120 << 10
)

// Command describes what a Runner runs. Either Script or Argv is set.
type Command struct {
	Script string   // script that the shell runs
	Shell  string   // the program that runs Script; "": the machine's default (see shellArgv)
	Argv   []string // alternative to Script, run unchanged; Argv[0] is looked up in Env's PATH
	Dir    string   // absolute; must exist
	// Env is the complete environment. If it is nil, the command gets the daemon's environment.
	// Remove secrets first (see policy.Environment).
	Env     []string
	Timeout time.Duration // 0: none
	Sandbox *sandbox.Plan // nil: no sandbox
	Stdin   io.Reader     // nil: empty; used only by Run

	// Output receives stdout and stderr together while the command runs. It is called from one
	// goroutine, and a character is never split between two calls. It must not retain the bytes. It
	// must not block for long, because the command waits for it. Only for Run.
	Output func([]byte)
	// Stderr receives a long-lived child's stderr in the same way. Only for Start.
	Stderr func([]byte)

	HeadBytes  int    // bytes kept from the beginning; 0: 32 KiB
	TailBytes  int    // bytes kept from the end; 0: 96 KiB
	SpillDir   string // folder for complete outputs, created when needed; empty: the Runner's
	SpillBytes int64  // limit of that file; 0: 256 MiB; negative: no file
}

// Result describes how a command ended. A non-zero exit code is a result, not an error.
type Result struct {
	ExitCode  int    // -1 if a signal ended it or it never ended on its own
	Signal    string // signal that ended the command, "" if it exited
	TimedOut  bool
	Aborted   bool // the context ended
	Lost      bool // the supervisor was killed; the remaining processes have been terminated
	Prepared  bool // the sandbox was created before the command was known
	Lingered  int  // processes that the command left behind and that were terminated
	Head      []byte
	Tail      []byte // empty unless Truncated
	Total     int64  // bytes of output
	Truncated bool   // Head and Tail are not the complete output
	SpillPath string // file with the complete output (its first SpillBytes), if Truncated
	Spilled   int64  // size of that file in bytes
	Duration  time.Duration
	// SandboxDenied describes what the sandbox probably stopped, or is "".
	SandboxDenied string
}

// argv checks the command and returns its command line.
func (c *Command) argv() ([]string, error) {
	switch {
	case c.Script != "" && len(c.Argv) > 0:
		return nil, fmt.Errorf("starting a command: both a script and an argv are given")
	case c.Script == "" && len(c.Argv) == 0:
		return nil, fmt.Errorf("starting a command: it is empty")
	case strings.ContainsRune(c.Script, 0):
		return nil, fmt.Errorf("starting a command: it contains a NUL byte")
	case len(c.Script) > maxScript:
		return nil, fmt.Errorf("starting a command: it is %d bytes long, but the limit is %d; write it to a file and run the file", len(c.Script), maxScript)
	case c.Script != "":
		return shellArgv(c.Shell, c.Script), nil
	}
	return c.Argv, nil
}

func (c *Command) checkDir() error {
	if c.Dir == "" {
		return nil
	}
	fi, err := os.Stat(c.Dir)
	if err != nil {
		return fmt.Errorf("starting a command in %s: the folder does not exist", c.Dir)
	}
	if !fi.IsDir() {
		return fmt.Errorf("starting a command in %s: not a folder", c.Dir)
	}
	return nil
}

// environment returns the command's environment with the sandbox's variables. A variable of the
// sandbox replaces one with the same name, because shells differ in how they read duplicates.
func (c *Command) environment() []string {
	env := c.Env
	if env == nil {
		env = os.Environ()
	}
	if c.Sandbox == nil || len(c.Sandbox.Env) == 0 {
		return env
	}
	set := map[string]bool{}
	for _, kv := range c.Sandbox.Env {
		name, _, _ := strings.Cut(kv, "=")
		set[name] = true
	}
	out := make([]string, 0, len(env)+len(set))
	for _, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); !set[name] {
			out = append(out, kv)
		}
	}
	return append(out, c.Sandbox.Env...)
}

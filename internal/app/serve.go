package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/subagent"
	"github.com/agent-lsp/agent-lsp/internal/environ"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/rpc"
	"github.com/agent-lsp/agent-lsp/internal/rpc/acp"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
)

// Options are the inputs of a daemon. The caller owns the streams and closes them.
type Options struct {
	Version string
	Env     []string // nil means the environment of this process
	In      io.Reader
	Out     io.Writer
	Log     io.Writer // receives the log, without the secrets that the daemon knows
	Verbose bool      // whether to log more than warnings

	Script   string // the file of a scripted model that replaces the provider, or ""
	StateDir string // where sessions, checkpoints and grants are stored; "" means StateDir
	// WholeFolder means that the user allows the entire home folder, or the root of the file
	// system, as the workspace.
	WholeFolder bool
}

// RunHelper supervises commands, and does not return, if this process's parent started it for that
// purpose. Otherwise, it hides the environment and the memory of this process, which may contain
// keys, from other processes. It also prevents other processes from inheriting the open files of
// this process. The program calls it before anything else.
func RunHelper() {
	shell.MaybeHelper()
	if err := environ.KeepFiles(); err != nil {
		fmt.Fprintf(os.Stderr,
			"agent-lsp: other programs inherit the open files of this process: %v\n", err)
	}
	if err := environ.Hide(); err != nil {
		fmt.Fprintf(os.Stderr,
			"agent-lsp: other programs can read the keys of this process: %v\n", err)
	}
}

// ServeLSP serves LSP until the client disconnects or ctx ends. It returns nil when ctx ends.
func ServeLSP(ctx context.Context, o Options) error { return ServeLSPWith(ctx, o, nil) }

// ServeLSPWith is like ServeLSP, but accepts a function that changes the engine's options for the
// sessions of sub-agents. Tests use it to give sub-agents failing models and tools.
func ServeLSPWith(
	ctx context.Context,
	o Options,
	wrapChild func(agent.Options, subagent.Spawn) agent.Options,
) error {
	c := o.core()
	c.wrapChild = wrapChild
	err := rpc.Serve(ctx, rpc.Options{
		In: unblockedIn(o.In), Out: unblockedOut(o.Out), Log: c.log, Version: o.Version,
		Start: func(_ context.Context, init agentapi.Init) (*agentapi.Core, error) {
			return newCore(init, c)
		},
	})
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil
	}
	return err
}

// ServeACP serves the Agent Client Protocol until the client disconnects.
func ServeACP(ctx context.Context, o Options) error {
	c := o.core()
	start := func(init agentapi.Init, terminal acp.Terminal) (*agentapi.Core, error) {
		c := c
		c.terminal = terminal
		return newCore(init, c)
	}
	return acp.Serve(ctx, acp.Options{
		In: unblockedIn(o.In), Out: unblockedOut(o.Out), Log: c.log, Version: o.Version,
		Ahead: launchFolder(o.Env), Start: start,
	})
}

// core returns the components that all connections of one process share.
func (o Options) core() coreOptions {
	redact := NewRedactor(o.Env)
	level := slog.LevelWarn
	if o.Verbose {
		level = slog.LevelDebug
	}
	handler := slog.NewTextHandler(redacting{o.Log, redact}, &slog.HandlerOptions{Level: level})
	return coreOptions{
		log: slog.New(handler), redact: redact, env: osEnviron(o.Env), scriptFile: o.Script,
		stateDir: o.StateDir, whole: o.WholeFolder, starts: agent.NewStarts(runtime.GOMAXPROCS(0)),
	}
}

func unblockedIn(in io.Reader) io.Reader {
	if file, ok := in.(*os.File); ok {
		return rpc.UnblockedInput(file)
	}
	return in
}

func unblockedOut(out io.Writer) io.Writer {
	if file, ok := out.(*os.File); ok {
		return rpc.Unblocked(file)
	}
	return out
}

// redacting is a writer that removes secrets from each line of the log.
type redacting struct {
	w io.Writer
	r *policy.Redactor
}

func (r redacting) Write(b []byte) (int, error) {
	if _, err := r.w.Write(r.r.Bytes(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// launchFolder returns the working directory if it may be a project, or "". An editor that is
// started from a menu runs in the home folder or in the file system's root, and starts its agents
// there.
func launchFolder(env []string) string {
	dir, err := os.Getwd()
	if err != nil || TooLarge(dir, env) != "" {
		return ""
	}
	return dir
}

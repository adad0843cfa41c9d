package sandbox

import (
	"slices"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox/launcher"
)

// Prepared is a sandbox that waits for its command. Its methods are called by one goroutine at a
// time.
type Prepared struct{ box *launcher.Prepared }

// Prepares reports whether a sandbox like this one can be made before its command is known.
func (p *Plan) Prepares() bool { return p != nil && p.Kind == Own && p.Session != "" }

// Same reports whether a prepared sandbox of one plan is right for the command of the other.
func (p *Plan) Same(other *Plan) bool {
	return p != nil && other != nil && p.Kind == other.Kind && slices.Equal(p.Prefix, other.Prefix)
}

// Prepare starts to make the sandbox of a plan that Prepares. env is the environment of the process
// that waits. Discard ends it, and so does the end of this process.
func (p *Plan) Prepare(env []string) (*Prepared, error) {
	box, err := launcher.Prepare(p.Prefix, env)
	if err != nil {
		return nil, err
	}
	return &Prepared{box}, nil
}

// Start runs a command in the sandbox and returns the process whose end is the command's end. ok is
// false if the sandbox is not right for the plan, or was made before something changed that it
// depends on. Then nothing has run.
func (b *Prepared) Start(
	p *Plan,
	argv, env []string,
	dir string,
	output uintptr,
) (pid int, ok bool) {
	if !p.Prepares() {
		return 0, false
	}
	return b.box.Start(p.Prefix, launcher.Start{Argv: argv, Env: env, Dir: dir}, int(output))
}

// Wait waits for the command's end and returns its exit code. No process of the command is left
// then. ok is false if the process that Start returned ends in another way.
func (b *Prepared) Wait() (code int, ok bool) { return b.box.Wait() }

// Discard ends a sandbox without a command, and waits for its end.
func (b *Prepared) Discard() { b.box.Discard() }

// Release frees what is kept for a sandbox whose command has ended.
func (b *Prepared) Release() { b.box.Release() }

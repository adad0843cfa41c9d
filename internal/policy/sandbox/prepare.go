package sandbox

import (
	"slices"

	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox/launcher"
)

// Prepared is a sandbox that waits for its command. Only one goroutine may call its methods at a
// time.
type Prepared struct{ box *launcher.Prepared }

// Prepares reports whether a sandbox of this plan can be created before its command is known.
func (p *Plan) Prepares() bool { return p != nil && p.Kind == Own && p.Session != "" }

// Same reports whether a sandbox that was prepared for one of the plans can be used for a command
// with the other plan.
func (p *Plan) Same(other *Plan) bool {
	return p != nil && other != nil && p.Kind == other.Kind && slices.Equal(p.Prefix, other.Prefix)
}

// Prepare starts to create the sandbox of a plan for which Prepares is true. env is the environment
// of the process that waits. The sandbox ends when Discard is called or when this process ends.
func (p *Plan) Prepare(env []string) (*Prepared, error) {
	box, err := launcher.Prepare(p.Prefix, env)
	if err != nil {
		return nil, err
	}
	return &Prepared{box}, nil
}

// Start runs a command in the sandbox and returns the process that ends when the command ends. ok
// is false if the sandbox does not match the plan, or if something that it depends on has changed
// since it was created. In that case, nothing has run.
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

// Wait waits until the command and all its processes have ended, and returns the exit code. ok is
// false if the process that Start returned ends in another way.
func (b *Prepared) Wait() (code int, ok bool) { return b.box.Wait() }

// Discard ends a sandbox without a command, and waits until it has ended.
func (b *Prepared) Discard() { b.box.Discard() }

// Release frees the resources of a sandbox whose command has ended.
func (b *Prepared) Release() { b.box.Release() }

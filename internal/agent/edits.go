package agent

import (
	"context"
	"slices"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// editCall is what a call of a group of edits needs: consecutive edit calls of one assistant message,
// which are proposed together and wait for the user at the same time. Edits of the same file follow
// each other (protocol 6.2). A nil editCall belongs to no group.
type editCall struct {
	earlier []*editCall   // of its group
	blocked chan struct{} // closed when it first waits, for the user or for an earlier edit
	block   func()        // closes blocked; later calls do nothing
	ended   chan struct{} // closed when it has its result

	mu    sync.Mutex
	files []string // the locks that it takes; a hook may replace the arguments
}

// edits reports whether the call changes nothing but the files that it locks.
func (c *callRun) edits() bool {
	return c.early == nil && c.effect() == tool.Mutates && len(c.prepared.Locks) > 0
}

// editsEnd is where the group of edits ends that begins with call from; from if it is not an edit. A
// call that has its result already does not end the group.
func (b *batch) editsEnd(from int) int {
	to := from
	if !b.calls[from].edits() {
		return to
	}
	for to < len(b.calls) && (b.calls[to].early != nil || b.calls[to].edits()) {
		to++
	}
	return to
}

// runEdits starts the edits from up to to one after the other: each when the one before it waits or
// has ended. Their proposals come in call order, and an edit that waits for nobody ends before the
// next one begins.
func (b *batch) runEdits(from, to int) {
	var group []*editCall
	for _, c := range b.calls[from:to] {
		e := &editCall{
			earlier: group, blocked: make(chan struct{}), ended: make(chan struct{}),
		}
		e.block = sync.OnceFunc(func() { close(e.blocked) })
		if c.early == nil {
			e.files = c.prepared.Locks
		}
		group = append(group[:len(group):len(group)], e)
		c.edit = e
	}
	var running sync.WaitGroup
	for i, e := range group {
		running.Go(func() {
			defer close(e.ended)
			b.run(from + i)
		})
		select {
		case <-e.blocked:
		case <-e.ended:
		}
	}
	running.Wait()
}

// waits lets the next edit of the group start: this one waits for the user.
func (e *editCall) waits() {
	if e != nil {
		e.block()
	}
}

// locks notes what the call locks.
func (e *editCall) locks(names []string) {
	if e != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.files = names
	}
}

// awaitEarlier returns when the earlier edits of the same files have ended, or ctx has.
func (e *editCall) awaitEarlier(ctx context.Context) {
	if e == nil {
		return
	}
	for _, o := range e.earlier {
		select {
		case <-o.ended:
			continue
		default:
		}
		if !e.shares(o) {
			continue
		}
		e.block()
		select {
		case <-o.ended:
		case <-ctx.Done():
			return
		}
	}
}

func (e *editCall) shares(o *editCall) bool {
	mine, others := e.names(), o.names()
	return slices.ContainsFunc(mine, func(n string) bool { return slices.Contains(others, n) })
}

func (e *editCall) names() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.files
}

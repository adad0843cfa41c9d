package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/panics"
)

// Hook is a value that implements one or more of the hook interfaces below. Hooks are
// called in order, from the turn's goroutines, and must end when ctx ends. A hook that
// errs, panics or hangs fails closed where it may veto (BeforeRun, BeforeModel,
// BeforeTool, BeforePrompt) and is passed over, with a notice, where it may not. SessionOf
// says in which session it is called. The hooks of a session's life are in lifecycle.go.
type Hook interface{ HookName() string }

// The hook interfaces.
type (
	// RunHook sees a turn begin; an error ends it before the first model call.
	RunHook interface {
		BeforeRun(ctx context.Context, turnID string) error
	}
	// RunEndHook sees a turn end. It cannot change anything.
	RunEndHook interface {
		AfterRun(ctx context.Context, turn Turn) error
	}
	// ModelHook may rewrite what is sent; the request and its slices are its own, the
	// messages are not (Clone one to change it). An error ends the turn.
	ModelHook interface {
		BeforeModel(ctx context.Context, req *Request) error
	}
	// ModelEndHook sees a copy of a reply before it becomes history.
	ModelEndHook interface {
		AfterModel(ctx context.Context, req *Request, reply *Reply) error
	}
	// ToolHook may rewrite a call's arguments or answer in the tool's place. An error
	// denies the call with its text.
	ToolHook interface {
		BeforeTool(ctx context.Context, call *tool.Call, spec tool.Spec) (ToolOutcome, error)
	}
	// ToolEndHook may replace a result; nil keeps it.
	ToolEndHook interface {
		AfterTool(ctx context.Context, call *tool.Call, result *tool.Result) (*tool.Result, error)
	}
	// FinalHook may veto the end of a turn: a reason that is not empty goes to the model
	// as a hidden message, and the turn goes on.
	FinalHook interface {
		BeforeStop(ctx context.Context, turn Turn, answer string) (veto string, err error)
	}
	// MatchHook says which tools a ToolHook is about; without it a hook is about all.
	MatchHook interface{ Concerns(tool string) bool }
	// TimeoutHook bounds the hook's calls itself; 0 means DefaultHookTimeout.
	TimeoutHook interface{ HookTimeout() time.Duration }
)

// ToolOutcome is what a ToolHook decided. The zero value changes nothing.
type ToolOutcome struct {
	Args   json.RawMessage // replaces the arguments where set; validated again
	Result *tool.Result    // answers in the tool's place where set
}

// guard calls f within the hook's bound and returns its error, a panic as an error, or
// why it was abandoned. A hook that hangs is left behind; Close waits for it.
func (s *Session) guard(ctx context.Context, h Hook, f func(ctx context.Context) error) error {
	bound := DefaultHookTimeout
	if t, ok := h.(TimeoutHook); ok && t.HookTimeout() > 0 {
		bound = t.HookTimeout()
	}
	ctx, cancel := context.WithTimeoutCause(
		context.WithValue(ctx, sessionKey{}, s.info()),
		bound,
		fmt.Errorf("it did not end within %v", bound),
	)
	done := make(chan error, 1)
	s.wg.Go(func() {
		defer cancel()
		done <- panics.Catch(func() error { return f(ctx) })
	})
	var err error
	select {
	case err = <-done:
	case <-ctx.Done():
		err = lateAnswer(done, ctx)
	}
	if err != nil {
		return fmt.Errorf("hook %s: %w", h.HookName(), err)
	}
	return nil
}

// lateAnswer prefers an answer that came together with the context's end.
func lateAnswer(done chan error, ctx context.Context) error {
	select {
	case err := <-done:
		return err
	default:
		return context.Cause(ctx)
	}
}

// hookAs is a hook as one of the interfaces that it implements.
type hookAs[H any] struct {
	Hook
	As H
}

// hooksOf yields the hooks of the last step that implement H. The caller does not hold the
// session's lock.
func hooksOf[H any](s *Session) iter.Seq[hookAs[H]] {
	s.mu.Lock()
	hooks := s.hooks.list
	s.mu.Unlock()
	return func(yield func(hookAs[H]) bool) {
		for _, h := range hooks {
			if as, ok := h.(H); ok && !yield(hookAs[H]{h, as}) {
				return
			}
		}
	}
}

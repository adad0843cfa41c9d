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

// Hook is a value that implements one or more of the hook interfaces below. Hooks are called in
// order, on goroutines of the session, and must return when ctx ends. If a hook fails, panics or
// hangs in BeforeRun, BeforeModel, BeforeTool or BeforePrompt, this counts as a veto. In
// BeforeCompact, it prevents a reduction that is not necessary. In any other method, it only causes
// a notice. SessionOf returns the session for which a hook is called. The hooks for the lifecycle
// of a session are in lifecycle.go.
type Hook interface{ HookName() string }

// The hook interfaces.
type (
	// RunHook is called when a turn begins. An error ends the turn before the first model call.
	RunHook interface {
		BeforeRun(ctx context.Context, turnID string) error
	}
	// RunEndHook is called when a turn ends. It cannot change anything.
	RunEndHook interface {
		AfterRun(ctx context.Context, turn Turn) error
	}
	// ModelHook may change the request. It owns the request and its slices but not the messages, so
	// it must Clone a message to change it. An error ends the turn.
	ModelHook interface {
		BeforeModel(ctx context.Context, req *Request) error
	}
	// ModelEndHook receives a copy of a reply before it becomes part of the history.
	ModelEndHook interface {
		AfterModel(ctx context.Context, req *Request, reply *Reply) error
	}
	// ToolHook may change a call's arguments, or return a result so that the tool does not run. An
	// error denies the call, and its text is the reason.
	ToolHook interface {
		BeforeTool(ctx context.Context, call *tool.Call, spec tool.Spec) (ToolOutcome, error)
	}
	// ToolEndHook may replace a result. If it returns nil, the result stays.
	ToolEndHook interface {
		AfterTool(ctx context.Context, call *tool.Call, result *tool.Result) (*tool.Result, error)
	}
	// FinalHook may veto the end of a turn. A non-empty reason is sent to the model as a hidden
	// message, and the turn continues.
	FinalHook interface {
		BeforeStop(ctx context.Context, turn Turn, answer string) (veto string, err error)
	}
	// MatchHook reports which tools a ToolHook concerns. Questions about calls of other tools can
	// be asked in advance. Without it, a hook concerns all tools.
	MatchHook interface{ Concerns(tool string) bool }
	// TimeoutHook sets the time limit of the hook's calls. 0 means DefaultHookTimeout.
	TimeoutHook interface{ HookTimeout() time.Duration }
)

// ToolOutcome is the decision of a ToolHook. The zero value changes nothing.
type ToolOutcome struct {
	Args   json.RawMessage // if set, replaces the arguments, which are validated again
	Result *tool.Result    // if set, used instead of running the tool
}

// guard calls f within the hook's time limit. It returns the error of f, a panic as an error, or
// the reason why the hook was abandoned. A hook that hangs keeps running, and Close waits for it.
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

// lateAnswer returns the hook's answer if it arrived just as the context ended, and otherwise the
// reason why the context ended.
func lateAnswer(done chan error, ctx context.Context) error {
	select {
	case err := <-done:
		return err
	default:
		return context.Cause(ctx)
	}
}

// hookAs pairs a hook with one of the interfaces that it implements.
type hookAs[H any] struct {
	Hook
	As H
}

// hooksOf yields the hooks of the last step that implement H. The caller must not hold the
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

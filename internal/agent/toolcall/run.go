package toolcall

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/panics"
	"github.com/agent-lsp/agent-lsp/internal/pause"
)

const (
	// DefaultTimeout limits one run of a tool.
	DefaultTimeout = 10 * time.Minute
	// Grace is the time that a tool may take to end after an abort. Commands get SIGKILL after
	// 1.5 s, and a turn completes within 2 s of an abort.
	Grace = 1750 * time.Millisecond
	// Overtime is the time that a tool may take to end after its time limit. It is longer than
	// Grace, because the user does not wait for an abort, and the effect of an abandoned call is
	// unknown to the model.
	Overtime = 5 * time.Second
	// Retries is the maximum number of times that a read-only call is retried after a temporary
	// error.
	Retries = 2
	// RetryDelay is the pause before the first retry. It doubles for each further retry.
	RetryDelay = 500 * time.Millisecond

	// CancelledText is the result of a call that an abort ended or prevented from starting.
	CancelledText = "Tool execution cancelled."
)

// errTimeout is the cancellation cause of a tool's context when the time limit is reached.
var errTimeout = fmt.Errorf("the tool's time is up: %w", context.DeadlineExceeded)

// Timeout returns the smaller of the tool's own limit and the general limit. A result of 0 means no
// limit. A general limit of 0 means DefaultTimeout, and a negative one means no limit. The general
// limit does not apply to a bounded tool.
func Timeout(spec *tool.Spec, general time.Duration) time.Duration {
	own := spec.Timeout
	switch {
	case spec.Bounded:
		return max(own, 0)
	case general == 0:
		general = DefaultTimeout
	}
	if own <= 0 || general > 0 && general < own {
		return max(general, 0)
	}
	return own
}

// Run runs a prepared call until its tool returns, and returns a new result. The tool's context
// ends with ctx, or when the clock reaches its limit. outstayed is called once if the tool is still
// running at the end of the overtime after the limit. The caller may then abandon the call, while
// Run continues to wait. Run starts and stops the clock.
func Run(
	ctx context.Context,
	p *tool.Prepared,
	call *tool.Call,
	clock *Clock,
	outstayed func(),
) *tool.Result {
	toolCtx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	clock.up, clock.gone = func() { cancel(errTimeout) }, outstayed
	clock.start()
	defer clock.stop()
	r, err := attempts(toolCtx, p, call)
	if r == nil {
		r = &tool.Result{}
	}
	own := *r
	if err != nil {
		own.IsError = true
		if own.Text == "" {
			own.Text = err.Error()
		}
	}
	cause := context.Cause(toolCtx)
	switch {
	case cause == nil || !own.IsError || own.CutOff:
	case ctx.Err() != nil:
		own.Text = withPartial(CancelledText, r.Text)
	case cause == errTimeout:
		own.Text = withPartial(fmt.Sprintf("tool execution timed out after %s", clock.limit),
			r.Text)
	}
	return &own
}

func withPartial(head, partial string) string {
	if partial == "" {
		return head
	}
	return head + "\n" + partial
}

// attempts runs the tool, and runs it again after temporary errors. A panic becomes an error.
func attempts(
	ctx context.Context,
	p *tool.Prepared,
	call *tool.Call,
) (r *tool.Result, err error) {
	delay := RetryDelay
	for try := 0; ; try++ {
		r = nil
		err = panics.Catch(func() (err error) {
			r, err = p.Run(ctx, call)
			return err
		})
		var temporary *tool.TemporaryError
		if !errors.As(err, &temporary) || p.Effect != tool.ReadOnly || try == Retries {
			return r, err
		}
		call.Emit(fmt.Sprintf("%v; trying again in %v\n", err, delay))
		if pause.For(ctx, delay) != nil {
			return r, err
		}
		delay *= 2
	}
}

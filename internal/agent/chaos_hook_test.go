package agent

import (
	"context"
	"errors"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

func (c *chaos) Approve(ctx context.Context, req tool.ApprovalRequest) (tool.Decision, error) {
	switch c.n(6) {
	case 0:
		return tool.Decision{Reason: "policy"}, nil
	case 1, 2:
		req.Waiting()
		c.nap(ctx, time.Minute)
		return tool.Decision{Allow: c.n(2) == 0}, context.Cause(ctx)
	case 3:
		panic("approver")
	}
	return tool.Decision{Allow: true}, nil
}

func (c *chaos) Foresee(ctx context.Context, req tool.ApprovalRequest) *tool.Decision {
	switch c.n(6) {
	case 0:
		return nil
	case 1:
		panic("foreseer")
	}
	req.Waiting()
	c.nap(ctx, time.Minute)
	return &tool.Decision{Allow: c.n(3) > 0}
}

type chaosHook struct{ c *chaos }

func (h chaosHook) HookName() string           { return "chaos" }
func (h chaosHook) HookTimeout() time.Duration { return time.Second }
func (h chaosHook) trouble(ctx context.Context) error {
	switch h.c.n(30) {
	case 0:
		panic("hook")
	case 1:
		<-ctx.Done()
	case 2:
		return errors.New("hook says no")
	}
	return nil
}

func (h chaosHook) BeforeRun(ctx context.Context, _ string) error     { return h.trouble(ctx) }
func (h chaosHook) BeforeModel(ctx context.Context, _ *Request) error { return h.trouble(ctx) }
func (h chaosHook) BeforeTool(ctx context.Context, _ *tool.Call, _ tool.Spec) (ToolOutcome, error) {
	return ToolOutcome{}, h.trouble(ctx)
}
func (h chaosHook) AfterTool(ctx context.Context, _ *tool.Call, _ *tool.Result) (*tool.Result,
	error) {
	return nil, h.trouble(ctx)
}
func (h chaosHook) SessionStarts(ctx context.Context, _ SessionInfo) (string, error) {
	return "context", h.trouble(ctx)
}
func (h chaosHook) SessionEnds(ctx context.Context, _ SessionInfo) error { return h.trouble(ctx) }
func (h chaosHook) BeforePrompt(ctx context.Context, _ string, _ *message.Message) (string, error) {
	return []string{"", "reported"}[h.c.n(2)], h.trouble(ctx)
}
func (h chaosHook) BeforeCompact(ctx context.Context, _ CompactInfo) (string, error) {
	return "", h.trouble(ctx)
}
func (h chaosHook) AfterCompact(ctx context.Context, _ Compacted) error { return h.trouble(ctx) }
func (h chaosHook) BeforeStop(ctx context.Context, _ Turn, _ string) (string, error) {
	if h.c.n(5) == 0 {
		return "go on", nil
	}
	return "", h.trouble(ctx)
}

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/subagent"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/app"
)

// servePanics is like the serve command, but a sub-agent panics if its task asks for a panic. To
// use servePanics, a session script names it in the args section instead of serve.
const servePanics = "serve-panics"

// runTested is run with the additional command servePanics.
func runTested(ctx context.Context, args, env []string, in io.Reader, out, errs io.Writer) int {
	if len(args) == 0 || args[0] != servePanics {
		return run(ctx, args, env, in, out, errs)
	}
	err := app.ServeLSPWith(ctx, app.Options{
		Version: version, Env: env, In: in, Out: out, Log: errs,
		Script: app.Lookup(env, "AGENT_LSP_SCRIPT"),
	}, panickingChild)
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(errs, err)
		return exitFailed
	}
	return exitOK
}

// panickingChild gives a child a model that can panic and a tool that panics. Creating the agent
// "cursed" panics as well.
func panickingChild(o agent.Options, s subagent.Spawn) agent.Options {
	under := o.Environment
	o.Environment = agent.EnvironmentFunc(func(ctx context.Context,
		turn agent.TurnInfo) (agent.Step, error) {
		e, err := under.Next(ctx, turn)
		if err != nil {
			return e, err
		}
		for i, m := range e.Models {
			e.Models[i] = panickingModel{m}
		}
		if _, ok := e.Tools.Get("bomb"); !ok { // the same registry may be passed more than once
			err = e.Tools.Add(bomb{})
		}
		return e, err
	})
	if s.Agent.Name == "cursed" {
		panic("no such luck")
	}
	return o
}

// bomb is a tool that panics.
type bomb struct{}

func (bomb) Spec() tool.Spec {
	return tool.Spec{Name: "bomb", Description: "Goes off.", Effect: tool.ReadOnly,
		Schema: json.RawMessage(`{"type":"object"}`)}
}

func (bomb) Prepare(context.Context, *tool.Call) (*tool.Prepared, error) {
	return &tool.Prepared{Run: func(context.Context, *tool.Call) (*tool.Result,
		error) {
		panic("the bomb went off")
	}}, nil
}

// panickingModel panics if the prompt requests it.
type panickingModel struct{ agent.Model }

func (m panickingModel) Generate(ctx context.Context, req *agent.Request,
	on func(agent.Delta)) (*agent.Reply, error) {
	last := req.Messages[len(req.Messages)-1]
	if last.Role == message.RoleUser && strings.Contains(last.TextContent(), "lose your head") {
		panic("the model lost its head")
	}
	return m.Model.Generate(ctx, req, on)
}

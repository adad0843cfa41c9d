package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/subagent"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/rpc"
)

// servePanics is the program with sub-agents that panic when their task says so, for session scripts: its name stands in
// their section args instead of serve. The rest is the program's own.
const servePanics = "serve-panics"

// runTested is run, and servePanics.
func runTested(ctx context.Context, args, env []string, in io.Reader, out, errs io.Writer) int {
	if len(args) == 0 || args[0] != servePanics {
		return run(ctx, args, env, in, out, errs)
	}
	o := coreOptions{log: slog.New(slog.NewTextHandler(errs, nil)), redact: policy.NewRedactor(secretsIn(env)...), env: env, scriptFile: lookup(env, "AGENT_LSP_SCRIPT")}
	err := rpc.Serve(ctx, rpc.Options{In: in, Out: out, Log: o.log, Version: version, Start: func(_ context.Context, init rpc.Init) (*rpc.Core, error) {
		core, err := newCore(init, o)
		if err == nil {
			d := core.Jobs.(jobs).d
			d.subagents = subagent.New(subagent.Options{Child: d.panickingChild, Background: jobs{d}, Ended: func(id string) { d.closed(id, false) }})
			core.Agents = agents{d.subagents}
		}
		return core, err
	}})
	if err != nil && !errors.Is(err, context.Canceled) {
		fmt.Fprintln(errs, err)
		return exitFailed
	}
	return exitOK
}

// panickingChild is childOptions with a model that panics, a tool that does, and, for the agent "cursed", nothing but a panic.
func (d *daemon) panickingChild(ctx context.Context, s subagent.Spawn) (agent.Options, error) {
	o, err := d.childOptions(ctx, s)
	if err != nil {
		return o, err
	}
	under := o.Environment
	o.Environment = agent.EnvironmentFunc(func(ctx context.Context, turn agent.TurnInfo) (agent.Step, error) {
		e, err := under.Next(ctx, turn)
		if err != nil {
			return e, err
		}
		for i, m := range e.Models {
			e.Models[i] = panickingModel{m}
		}
		if _, ok := e.Tools.Get("bomb"); !ok { // the same registry may come again
			err = e.Tools.Add(agent.Func(agent.Spec{Name: "bomb", Description: "Goes off.", Effect: agent.ReadOnly},
				func(context.Context, *agent.Call, struct{}) (*agent.Result, error) { panic("the bomb went off") }))
		}
		return e, err
	})
	if s.Agent.Name == "cursed" {
		panic("no such luck")
	}
	return o, nil
}

// panickingModel panics where it is told to.
type panickingModel struct{ agent.Model }

func (m panickingModel) Generate(ctx context.Context, req *agent.Request, on func(agent.Delta)) (*agent.Reply, error) {
	last := req.Messages[len(req.Messages)-1]
	if last.Role == message.RoleUser && strings.Contains(last.TextContent(), "lose your head") {
		panic("the model lost its head")
	}
	return m.Model.Generate(ctx, req, on)
}

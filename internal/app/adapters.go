package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/subagent"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/tools"
	"github.com/agent-lsp/agent-lsp/internal/tools/mcp"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// questions asks the user on behalf of tools, the policy and MCP servers. A question from a
// sub-agent is shown in the user's session to which the sub-agent belongs.
type questions struct {
	*host.Questions
	sessions *liveSessions
	notices  *notices
}

// ask asks the user a question from the model.
func (q *questions) ask(ctx context.Context, call *tool.Call,
	question tools.Question) (tools.Answer, error) {
	session, _ := q.sessions.owner(call.SessionID, call.TurnID)
	p := host.Question{SessionID: session, Text: question.Text, Multi: question.Multi}
	for _, o := range question.Options {
		p.Options = append(p.Options, host.Option(o))
	}
	a, err := q.Put(ctx, p)
	if errors.Is(err, host.ErrUnsupported) {
		q.notices.send("warning", "The agent had a question, but this editor cannot show it: "+question.Text)
		return tools.Answer{Declined: true}, nil
	}
	return tools.Answer{Text: a.Text, Declined: a.Declined}, err
}

// The answers to askReload's question.
const (
	reloadLabel = "Reload from disk"
	keepLabel   = "Keep the buffer"
)

// askReload implements workspace.Options.AskReload.
func (q *questions) askReload(ctx context.Context, name string) workspace.ReloadAnswer {
	a, err := q.Put(ctx, host.Question{
		Text: name + " was changed on disk outside the editor, and its buffer has unsaved changes. " +
			"Which text do you want to keep?",
		Options: []host.Option{
			{Label: keepLabel, Description: "the file is overwritten when you save"},
			{Label: reloadLabel, Description: "a single undo restores your text"},
		},
	})
	switch {
	case err != nil || a.Declined:
		return ""
	case a.Text == reloadLabel:
		return workspace.ReloadDisk
	case a.Text == keepLabel:
		return workspace.KeepBuffer
	}
	return ""
}

var _ policy.Separate = (*questions)(nil)

// Ask asks the user permission questions.
func (q *questions) Ask(ctx context.Context, list []policy.Question) []policy.Reply {
	mine := append([]policy.Question(nil), list...)
	for i := range mine {
		mine[i].SessionID, mine[i].TurnID = q.sessions.owner(mine[i].SessionID, mine[i].TurnID)
	}
	return q.Questions.Ask(ctx, mine)
}

// elicit asks the user a question from an MCP server.
func (q *questions) elicit(ctx context.Context, e mcp.Elicitation) (string, map[string]any) {
	session, _ := q.sessions.owner(firstOf(e.SessionID, q.sessions.any()), "")
	return elicited(ctx, e, session, q.putField)
}

// putField asks the user for a field of a form.
func (q *questions) putField(ctx context.Context, question host.Question) (host.Answer, error) {
	question.Field = true
	return q.Put(ctx, question)
}

// questioner is a function that asks the user one question.
type questioner func(ctx context.Context, q host.Question) (host.Answer, error)

// grants lists and revokes the policy's grants for the client.
type grants struct{ engine *policy.Engine }

var _ agentapi.Grants = grants{}

func (g grants) List() []wire.Grant {
	out := []wire.Grant{}
	for _, gr := range g.engine.Grants() {
		out = append(out, wire.Grant{GrantID: gr.ID, Pattern: gr.Pattern(), Scope: string(gr.Scope),
			Uses: gr.Uses})
	}
	return out
}

func (g grants) Revoke(id string) error {
	found, err := g.engine.Revoke(id)
	if err == nil && !found {
		return fmt.Errorf("no grant %s: %w", id, agentapi.ErrNotFound)
	}
	return err
}

// jobs gives the client and the sub-agents access to the background jobs.
type jobs struct {
	jobs     *tools.Jobs
	sessions *liveSessions
	folders  *folders
	redact   *policy.Redactor
}

var _ agentapi.Jobs = jobs{}

func (j jobs) List(sessionID string) []wire.Job {
	out := []wire.Job{}
	for _, job := range j.jobs.List(sessionID) {
		out = append(out, wire.Job{JobID: job.ID, Kind: job.Kind, Title: job.Title,
			Status: job.Status, ExitCode: job.ExitCode, StartedAt: job.StartedAt})
	}
	return out
}

func (j jobs) Read(id string) (output, status string, err error) {
	job, output, err := j.jobs.Read(id)
	return output, job.Status, notFound(err)
}

func (j jobs) Kill(id string) error { return notFound(j.jobs.Kill(id)) }

func notFound(err error) error {
	if errors.Is(err, tools.ErrUnknownJob) {
		return fmt.Errorf("%w: %w", err, agentapi.ErrNotFound)
	}
	return err
}

// Start runs a sub-agent in the background as a job of the user's session to which the sub-agent
// belongs. The output is also stored in a file that the model's tools can read.
func (j jobs) Start(sessionID, title string,
	work func(ctx context.Context, out io.Writer) (string, error)) (string, string, error) {
	session, _ := j.sessions.owner(sessionID, "")
	file, err := j.outputFile(session)
	if err != nil {
		return "", "", err
	}
	job, err := j.jobs.Start(tools.Job{SessionID: session, Kind: "agent", Title: title},
		func(ctx context.Context, write func([]byte)) tools.JobEnd {
			defer file.Close()
			text, err := work(ctx, writerFunc(func(b []byte) {
				write(b)
				_, _ = file.Write(j.redact.Bytes(b))
			}))
			end := tools.JobEnd{Failed: err != nil, Text: text}
			if err != nil {
				end.Text = err.Error()
			}
			_, _ = file.Write(j.redact.Bytes([]byte(end.Text + "\n")))
			return end
		})
	if err != nil {
		file.Close()
	}
	return job.ID, file.Name(), err
}

func (j jobs) outputFile(session string) (*os.File, error) {
	dir := j.folders.spill(session)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return os.CreateTemp(dir, "agent-*.txt")
}

var _ subagent.Background = jobs{}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }

// agents sends requests to running sub-agents.
type agents struct{ tool *subagent.Tool }

var _ agentapi.Agents = agents{}

func (a agents) Steer(_, itemID string, r agent.SteerRequest) (agent.SteerOutcome, error) {
	out, ok, err := a.tool.Steer(itemID, r)
	if !ok {
		return out, fmt.Errorf("no sub-agent runs for item %s: %w", itemID, agentapi.ErrNotFound)
	}
	return out, err
}

func (a agents) Abort(_, itemID string, silent bool) (string, error) {
	if !a.tool.Abort(itemID, silent) {
		return agent.AbortIdle, nil
	}
	return agent.AbortAborting, nil
}

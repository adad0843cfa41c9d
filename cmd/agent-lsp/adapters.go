package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/subagent"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/rpc"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/tools"
	"github.com/agent-lsp/agent-lsp/internal/tools/mcp"
)

// ask puts a question of the model's to the user.
func (d *daemon) ask(ctx context.Context, call *agent.Call, q tools.Question) (tools.Answer, error) {
	session, _ := d.ownerOf(call.SessionID, call.TurnID)
	p := wire.AskParams{SessionID: session, Question: q.Text, Multi: q.Multi}
	for _, o := range q.Options {
		p.Options = append(p.Options, wire.AskOption{Label: o.Label, Description: o.Description})
	}
	res, err := d.peer.Question(ctx, p)
	if errors.Is(err, rpc.ErrUnsupported) {
		d.notice("warning", "The agent had a question, and this editor has no way to ask: "+q.Text)
		return tools.Answer{Declined: true}, nil
	}
	return tools.Answer{Text: res.Answer, Declined: res.Declined}, err
}

// ownerOf is the session, and its turn, that a client knows: a sub-agent's is that of the user's session above it.
func (d *daemon) ownerOf(session, turn string) (string, string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.sessions[session]; p != nil && p.user != "" {
		return p.user, p.ownerTurn
	}
	return session, turn
}

// asker asks for permissions in the session that the client knows.
type asker struct{ d *daemon }

var _ policy.Separate = asker{}

func (a asker) Separately() bool { return a.d.peer.Separately() }

func (a asker) Ask(ctx context.Context, questions []policy.Question) []policy.Reply {
	mine := append([]policy.Question(nil), questions...)
	for i := range mine {
		mine[i].SessionID, mine[i].TurnID = a.d.ownerOf(mine[i].SessionID, mine[i].TurnID)
	}
	return a.d.peer.Ask(ctx, mine)
}

// elicit asks the user what an MCP server wants to know.
func (d *daemon) elicit(ctx context.Context, q mcp.Elicitation) (string, map[string]any) {
	session, _ := d.ownerOf(firstOf(q.SessionID, d.anySession()), "")
	return elicited(ctx, q, session, d.peer.Question)
}

// questioner puts one question to the user.
type questioner func(ctx context.Context, q wire.AskParams) (wire.AskResult, error)

// elicited asks one question for each property of the schema. Without any the server wants no more than a yes.
func elicited(ctx context.Context, q mcp.Elicitation, session string, ask questioner) (string, map[string]any) {
	var s struct{ Properties map[string]property }
	b, err := json.Marshal(q.Schema)
	if err != nil || json.Unmarshal(b, &s) != nil {
		return "decline", nil
	}
	out := map[string]any{}
	if len(s.Properties) == 0 {
		yes := wire.AskParams{SessionID: session, Question: fmt.Sprintf("%s asks: %s", q.Server, q.Message),
			Options: []wire.AskOption{{Label: acceptLabel}, {Label: "Decline"}}}
		switch res, err := ask(ctx, yes); {
		case err != nil:
			return "cancel", nil
		case res.Declined || res.Answer != acceptLabel:
			return "decline", nil
		}
	}
	for _, name := range sortedKeys(s.Properties) {
		prop := s.Properties[name]
		question := fmt.Sprintf("%s asks: %s (%s)", q.Server, q.Message, firstOf(prop.Title, prop.Description, name))
		res, err := ask(ctx, wire.AskParams{SessionID: session, Question: question, Options: prop.options()})
		if err != nil {
			return "cancel", nil
		}
		if res.Declined {
			return "decline", nil
		}
		out[name] = typed(prop.Type, res.Answer)
	}
	return "accept", out
}

// acceptLabel is the answer that agrees to what an MCP server asks.
const acceptLabel = "Accept"

// property is one of the primitive properties that an elicitation's schema may have.
type property struct {
	Type, Title, Description string
	Enum                     []string
}

func (p property) options() []wire.AskOption {
	answers := p.Enum
	if p.Type == "boolean" {
		answers = []string{"true", "false"}
	}
	var out []wire.AskOption
	for _, a := range answers {
		out = append(out, wire.AskOption{Label: a})
	}
	return out
}

// typed reads an answer as the type that the schema wants, as text where it does not fit.
func typed(kind, answer string) any {
	var v any
	if kind != "" && kind != "string" && json.Unmarshal([]byte(answer), &v) == nil {
		return v
	}
	return answer
}

// grants are the policy's grants on the wire.
type grants struct{ engine *policy.Engine }

var _ rpc.Grants = grants{}

func (g grants) List() []wire.Grant {
	out := []wire.Grant{}
	for _, gr := range g.engine.Grants() {
		out = append(out, wire.Grant{GrantID: gr.ID, Pattern: gr.Pattern(), Scope: string(gr.Scope), Uses: gr.Uses})
	}
	return out
}

func (g grants) Revoke(id string) error {
	found, err := g.engine.Revoke(id)
	if err == nil && !found {
		return fmt.Errorf("no grant %s: %w", id, rpc.ErrNotFound)
	}
	return err
}

// jobs are the background jobs on the wire.
type jobs struct{ d *daemon }

var _ rpc.Jobs = jobs{}

func (j jobs) List(sessionID string) []wire.Job {
	out := []wire.Job{}
	for _, job := range j.d.jobs.List(sessionID) {
		out = append(out, wire.Job{JobID: job.ID, Kind: job.Kind, Title: job.Title, Status: job.Status, StartedAt: job.StartedAt})
	}
	return out
}

func (j jobs) Read(id string) (output, status string, err error) {
	job, output, err := j.d.jobs.Read(id)
	return output, job.Status, notFound(err)
}

func (j jobs) Kill(id string) error { return notFound(j.d.jobs.Kill(id)) }

func notFound(err error) error {
	if errors.Is(err, tools.ErrUnknownJob) {
		return fmt.Errorf("%w: %w", err, rpc.ErrNotFound)
	}
	return err
}

// Start runs a sub-agent in the background as a job of its user's session. What it writes is also kept in a file that the
// model's tools can read.
func (j jobs) Start(sessionID, title string, work func(ctx context.Context, out io.Writer) (string, error)) (string, string, error) {
	session, _ := j.d.ownerOf(sessionID, "")
	file, err := j.outputFile(session)
	if err != nil {
		return "", "", err
	}
	job, err := j.d.jobs.Start(tools.Job{SessionID: session, Kind: "agent", Title: title}, func(ctx context.Context, write func([]byte)) tools.JobEnd {
		defer file.Close()
		text, err := work(ctx, writerFunc(func(b []byte) {
			write(b)
			_, _ = file.Write(j.d.redact.Bytes(b))
		}))
		end := tools.JobEnd{Failed: err != nil, Text: text}
		if err != nil {
			end.Text = err.Error()
		}
		_, _ = file.Write(j.d.redact.Bytes([]byte(end.Text + "\n")))
		return end
	})
	if err != nil {
		file.Close()
	}
	return job.ID, file.Name(), err
}

func (j jobs) outputFile(session string) (*os.File, error) {
	dir := filepath.Join(j.d.stateDir, "spill", session)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return os.CreateTemp(dir, "agent-*.txt")
}

var _ subagent.Background = jobs{}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) { f(b); return len(b), nil }

// agents reach running sub-agents.
type agents struct{ tool *subagent.Tool }

var _ rpc.Agents = agents{}

func (a agents) Steer(_, itemID string, r agent.SteerRequest) (agent.SteerOutcome, error) {
	out, ok, err := a.tool.Steer(itemID, r)
	if !ok {
		return out, fmt.Errorf("no sub-agent runs for item %s: %w", itemID, rpc.ErrNotFound)
	}
	return out, err
}

func (a agents) Abort(_, itemID string, silent bool) (string, error) {
	if !a.tool.Abort(itemID, silent) {
		return agent.AbortIdle, nil
	}
	return agent.AbortAborting, nil
}

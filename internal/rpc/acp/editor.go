package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

var (
	_ host.Editor = (*core)(nil)
	_ host.Asker  = (*core)(nil)
)

// Features implements workspace.Client.
func (c *core) Features() workspace.ClientFeatures {
	writes := c.docs.writes()
	return workspace.ClientFeatures{DocumentChanges: true, Create: writes, WritesNew: writes}
}

// ApplyEdit implements workspace.Client with the client's files.
func (c *core) ApplyEdit(
	ctx context.Context,
	_ string,
	e workspace.WorkspaceEdit,
) (workspace.ApplyReply, error) {
	return c.docs.applyEdit(ctx, e)
}

// Notice implements host.Editor. The ACP has no messages outside of a session.
func (c *core) Notice(level, text string) {
	s := c.api.Loaded(c.api.Current())
	if s == nil {
		return
	}
	// A notice may be sent from an event handler of the session, which must not call the engine.
	c.a.background(func(context.Context) { s.Engine.Notice(level, text) })
}

// Save implements host.Editor.
func (c *core) Save(ctx context.Context, uris []string) (failed []string, offered bool, err error) {
	if !c.a.client.Fs.WriteTextFile {
		return nil, false, nil
	}
	return c.docs.save(ctx, uris), true, nil
}

// Open implements host.Editor.
func (c *core) Open(ctx context.Context, uri string) error { return c.docs.refresh(ctx, uri) }

// Query implements host.Editor. ACP clients do not give access to language servers.
func (c *core) Query(context.Context, host.EditorQuery) (json.RawMessage, error) {
	return nil, host.ErrUnsupported
}

// Separately implements host.Asker.
func (c *core) Separately() bool { return true }

// Ask implements host.Asker.
func (c *core) Ask(questions []*host.Open) {
	var wg sync.WaitGroup
	for _, o := range questions {
		wg.Go(func() { c.askUser(o) })
	}
	wg.Wait()
}

// askUser asks a question after all earlier notifications have been sent. It returns after the
// question and every repetition of it has been answered or withdrawn.
func (c *core) askUser(o *host.Open) {
	if settled := c.api.Host().Settled(c.sessionOf(o)); settled != nil {
		select {
		case <-settled:
		case <-o.Context().Done():
			return
		case <-c.ctx.Done():
			return
		}
	}
	var repeated sync.WaitGroup
	c.mu.Lock()
	c.asked[o] = &repeated
	c.mu.Unlock()
	c.put(jsonrpc.WhenQueued(o.Context(), nil), o)
	c.mu.Lock()
	delete(c.asked, o)
	c.mu.Unlock()
	repeated.Wait()
}

// sessionOf returns the session of a question. A question without a session belongs to the current
// session.
func (c *core) sessionOf(o *host.Open) string { return cmp.Or(o.SessionID, c.api.Current()) }

// askAgain repeats a session's open questions for a client that has loaded it again. When askAgain
// returns, the questions have been queued, so they precede the response to the load.
func (c *core) askAgain(sessionID string) {
	for _, queued := range c.repeat(sessionID) {
		<-queued
	}
}

func (c *core) repeat(sessionID string) (queued []<-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for o, repeated := range c.asked {
		if c.sessionOf(o) != sessionID || o.Context().Err() != nil {
			continue
		}
		sent := make(chan struct{})
		tell := sync.OnceFunc(func() { close(sent) })
		repeated.Go(func() {
			defer tell()
			c.put(jsonrpc.WhenQueued(o.Context(), tell), o)
		})
		queued = append(queued, sent)
	}
	return queued
}

// put asks the client once and passes the answer on.
func (c *core) put(ctx context.Context, o *host.Open) {
	ctx, done := context.WithCancel(ctx)
	defer done()
	defer context.AfterFunc(c.ctx, done)()
	if o.Permission != nil {
		reply := c.a.permission(ctx, agentapi.Permission(o.ID, o.Permission),
			agentapi.LastingAnswer(o.Permission))
		if ctx.Err() == nil {
			o.Reply(offered(reply, o.Permission.Options))
		}
		return
	}
	q := wire.AskParams{
		RequestID: o.ID, SessionID: c.sessionOf(o), Question: o.Question.Text,
		Multi: o.Question.Multi,
	}
	for _, option := range o.Question.Options {
		q.Options = append(q.Options, wire.AskOption(option))
	}
	answer, err := c.a.ask(ctx, q)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		o.Fail(err)
	default:
		o.Answer(answer)
	}
}

// offered returns the reply if it names one of the options. It treats any other reply as a refusal.
func offered(r policy.Reply, options []policy.Option) policy.Reply {
	for _, o := range options {
		if o.ID == r.OptionID {
			return r
		}
	}
	return policy.Reply{Cancelled: true, Feedback: r.Feedback}
}

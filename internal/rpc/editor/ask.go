package editor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/jsonrpc"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/conn"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/visible"
)

// asking is a question that the user has not answered yet.
type asking struct {
	id        string
	sessionID string
	method    string // "" if the client has no method for questions and agent.answer answers
	params    any
	reply     chan answer // buffered; only the first answer is used
	// sent counts the open requests. A request is added only while the question is pending.
	sent   sync.WaitGroup
	ctx    context.Context
	text   string   // the text of a window/showMessageRequest
	titles []string // the titles of its buttons
}

// answer is the client's response.
type answer struct {
	raw json.RawMessage
	err error
}

// askQuestion asks a question from a tool or a server. A question without a session belongs to the
// current session.
func (p *Peer) askQuestion(o *host.Open) {
	id := o.SessionID
	if id == "" {
		id = p.api.Current()
	}
	q := wire.AskParams{
		RequestID: o.ID, SessionID: id, Question: o.Question.Text, Multi: o.Question.Multi,
	}
	for _, option := range o.Question.Options {
		q.Options = append(q.Options, wire.AskOption(option))
	}
	res, err := p.question(o.Context(), q)
	switch {
	case o.Context().Err() != nil:
		if o.SessionID == "" {
			p.withdraw(id, o.ID)
		}
	case err != nil:
		p.failed(o, err)
	default:
		o.Answer(host.Answer{Text: res.Answer, Declined: res.Declined})
	}
}

// failed ends a question with an error, unless the client has disconnected.
func (p *Peer) failed(o *host.Open, err error) {
	if p.link.Context().Err() == nil {
		o.Fail(err)
	}
}

// question asks with agent/ask. It asks with a message if the client does not support agent/ask, or
// if the question belongs to no session.
func (p *Peer) question(ctx context.Context, q wire.AskParams) (wire.AskResult, error) {
	if !p.link.Client.Claims.Ask || q.SessionID == "" {
		return p.askByMessage(ctx, q)
	}
	raw, err := p.ask(
		ctx,
		&asking{id: q.RequestID, sessionID: q.SessionID, method: wire.MethodAsk, params: q},
	)
	if conn.MethodMissing(err) {
		return p.askByMessage(ctx, q)
	}
	if err != nil {
		return wire.AskResult{}, err
	}
	return answerFrom(raw), nil
}

// answerFrom decodes an answer. It also accepts a list of labels, which a client may send for a
// multiple-choice question.
func answerFrom(raw json.RawMessage) wire.AskResult {
	o := conn.ObjectFrom(raw)
	text := o.String("answer")
	if list := o.Strings("answer"); len(list) > 0 {
		text = strings.Join(list, ", ")
	}
	_, answered := o["answer"]
	if !answered || string(o["answer"]) == "null" || o.Has("declined") {
		return wire.AskResult{Declined: true}
	}
	return wire.AskResult{Answer: clip(text)}
}

func clip(s string) string {
	if len(s) <= maxReply {
		return s
	}
	return strings.ToValidUTF8(s[:maxReply], "")
}

// ask sends a question and waits for the first answer, which may also be the response to a
// repetition of the question (see AskAgain). When ask returns, the client has been notified that no
// further answer is needed.
func (p *Peer) ask(ctx context.Context, a *asking) (json.RawMessage, error) {
	ctx, done := context.WithCancel(ctx)
	defer a.sent.Wait() // never blocks: on cancellation, send only queues $/cancelRequest
	defer done()
	defer context.AfterFunc(p.link.Context(), done)()
	a.ctx, a.reply = ctx, make(chan answer, 1)
	after := p.delivered(a.sessionID)
	p.mu.Lock()
	p.pending[a.id] = a
	p.order = append(p.order, a.id)
	if a.method != "" {
		p.send(a, after)
	}
	p.mu.Unlock()
	defer p.drop(a.id)
	// The code actions that can answer the question now exist.
	if a.method == "" ||
		a.method == conn.MethodAskMessage && p.link.Client.Passive && p.link.Client.Actions {
		p.link.Message(conn.MessageWarning, "Agent asks: "+a.text+"\nAnswer with a code action.")
	}
	select {
	case got := <-a.reply:
		return got.raw, got.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// delivered returns a channel that is closed when the client has received everything that precedes
// a question in its session. This includes the response to the request that caused the question.
func (p *Peer) delivered(sessionID string) <-chan struct{} {
	if h := p.api.Host(); h != nil {
		return h.Settled(sessionID)
	}
	return nil
}

// send asks in a new goroutine, which ends with the question. If after is not nil, it waits for
// after first. queued is closed when the request is queued or will not be sent. The caller must
// hold mu.
func (p *Peer) send(a *asking, after <-chan struct{}) (queued <-chan struct{}) {
	a.sent.Add(1)
	done := make(chan struct{})
	tell := sync.OnceFunc(func() { close(done) })
	p.link.Go("asking "+a.method, func() {
		defer a.sent.Done()
		defer tell()
		if after != nil {
			select {
			case <-after:
			case <-a.ctx.Done():
				return
			}
		}
		if a.ctx.Err() != nil {
			return
		}
		var raw json.RawMessage
		err := p.link.Call(jsonrpc.WhenQueued(a.ctx, tell), a.method, a.params, &raw)
		if a.ctx.Err() != nil {
			return
		}
		select {
		case a.reply <- answer{raw, err}:
		default: // already answered
		}
	})
	return done
}

// withdraw reports that a question no longer needs an answer.
func (p *Peer) withdraw(sessionID, requestID string) {
	if h := p.api.Host(); h != nil {
		h.CloseQuestion(sessionID, requestID)
	}
}

// AskAgain repeats the session's open questions for a client that has loaded it again. The
// questions precede the response to the load.
func (p *Peer) AskAgain(sessionID string) {
	for _, queued := range p.sendAgain(sessionID) {
		<-queued // this never blocks, because the question is only queued
	}
}

func (p *Peer) sendAgain(sessionID string) (queued []<-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range p.order {
		if a := p.pending[id]; a != nil && a.method != "" && a.sessionID == sessionID &&
			a.ctx.Err() == nil {
			queued = append(queued, p.send(a, nil))
		}
	}
	return queued
}

// messageRequest asks with window/showMessageRequest. It returns the chosen title, or "" if the
// user chose none.
func (p *Peer) messageRequest(
	ctx context.Context,
	id, sessionID, text string,
	titles []string,
) (string, error) {
	actions := make([]any, len(titles))
	for i, t := range titles {
		actions[i] = map[string]any{"title": t}
	}
	raw, err := p.ask(ctx, &asking{
		id: id, sessionID: sessionID, method: conn.MethodAskMessage,
		params: map[string]any{"type": conn.MessageWarning, "message": text, "actions": actions},
		text:   text, titles: titles,
	})
	if conn.MethodMissing(err) {
		if !p.link.Plain() || !p.link.Client.Actions {
			return "", host.ErrUnsupported
		}
		raw, err = p.ask(ctx, &asking{id: id, sessionID: sessionID, text: text, titles: titles})
	}
	if err != nil {
		return "", err
	}
	return conn.ObjectFrom(raw).String("title"), nil
}

func (p *Peer) askByMessage(ctx context.Context, q wire.AskParams) (wire.AskResult, error) {
	if len(q.Options) == 0 {
		// A message has buttons but no text field, so it cannot ask a free-text question.
		return wire.AskResult{Declined: true}, host.ErrUnsupported
	}
	text := q.Question
	titles := make([]string, 0, len(q.Options))
	for _, o := range q.Options {
		titles = append(titles, o.Label)
		if o.Description != "" {
			text += fmt.Sprintf("\n%s: %s", o.Label, o.Description)
		}
	}
	title, err := p.messageRequest(ctx, q.RequestID, q.SessionID, visible.Lines(text), titles)
	if err != nil || title == "" {
		return wire.AskResult{Declined: true}, err
	}
	return wire.AskResult{Answer: title}, nil
}

// messages returns the unanswered questions of window/showMessageRequest, oldest first.
func (p *Peer) messages() (out []*asking) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, id := range p.order {
		if a := p.pending[id]; a != nil && a.titles != nil && a.ctx.Err() == nil {
			out = append(out, a)
		}
	}
	return out
}

// answerMessage answers an open question of window/showMessageRequest with a command instead of the
// client's response. It answers the named question, or else the oldest one.
func (p *Peer) answerMessage(id, title string) error {
	for _, a := range p.messages() {
		if id != "" && id != a.id {
			continue
		}
		if !slices.Contains(a.titles, title) {
			return agentapi.Invalid("text", "%q is not one of the answers %q", title, a.titles)
		}
		select {
		case a.reply <- answer{raw: agentapi.Encode(map[string]any{"title": title})}:
		default: // already answered
		}
		return nil
	}
	return agentapi.Fail(wire.CodeNotFound, "no question is waiting for an answer")
}

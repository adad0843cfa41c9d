package editor

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/conn"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/visible"
)

var _ host.Limited = (*Peer)(nil)

// Separately reports whether the client shows each permission separately.
func (p *Peer) Separately() bool { return p.link.Client.Claims.Permission }

// CanAsk reports whether the client can show questions. It can do so with agent/requestPermission,
// with window/showMessageRequest, or with code actions. `agent-lsp run` without a terminal refuses
// all questions.
func (p *Peer) CanAsk() bool {
	c := &p.link.Client
	if c.Name == "agent-lsp" && !c.Claims.Ask {
		return false
	}
	return c.Claims.Permission || !c.Passive || p.link.Plain() && c.Actions
}

// Ask shows questions to the user. A question that is not about a permission (Open.Question) comes
// alone. If the client claims agent/requestPermission, each permission is a separate request.
// Otherwise, one window/showMessageRequest combines all permissions that are requested together. A
// reply that is null, has the wrong type or does not name an option is a refusal.
func (p *Peer) Ask(questions []*host.Open) {
	if questions[0].Question != nil {
		p.askQuestion(questions[0])
		return
	}
	if !p.link.Client.Claims.Permission {
		p.askFolded(questions)
		return
	}
	var wg sync.WaitGroup
	for _, o := range questions {
		wg.Go(func() {
			if !p.askOne(o) {
				p.askFolded([]*host.Open{o})
			}
		})
	}
	wg.Wait()
}

// askOne sends one agent/requestPermission. It reports whether the client supports the request.
func (p *Peer) askOne(o *host.Open) (known bool) {
	q := o.Permission
	raw, err := p.ask(o.Context(), &asking{
		id: o.ID, sessionID: o.SessionID, method: wire.MethodRequestPermission,
		params: agentapi.Permission(o.ID, q),
	})
	switch {
	case conn.MethodMissing(err):
		return false
	case err != nil:
		p.failed(o, err)
	default:
		o.Reply(replyFrom(raw, q.Options))
	}
	return true
}

// replyFrom decodes an answer. An answer that is cancelled or does not name an option is a refusal.
func replyFrom(raw []byte, options []policy.Option) policy.Reply {
	o := conn.ObjectFrom(raw)
	id := o.String("optionId")
	for _, option := range options {
		if option.ID == id && !o.Has("cancelled") {
			return policy.Reply{OptionID: id, Feedback: clip(o.String("feedback"))}
		}
	}
	return policy.Reply{Cancelled: true, Feedback: clip(o.String("feedback"))}
}

// askFolded asks all questions with one message or, if the user prefers, with one message each.
func (p *Peer) askFolded(questions []*host.Open) {
	ctx, done := untilAllEnd(questions)
	defer done()
	text, titles := foldedMessage(permissionsOf(questions))
	first := questions[0]
	title, err := p.messageRequest(ctx, first.ID, first.SessionID, text, titles)
	for _, o := range questions {
		switch {
		case err != nil:
			p.failed(o, err)
		case title == eachTitle && len(questions) > 1:
			if o.Context().Err() == nil { // another answer may have made this question unnecessary
				p.askFolded([]*host.Open{o})
			}
		default:
			o.Reply(chosen(o.Permission.Options, title))
		}
	}
}

// untilAllEnd returns a context that ends when none of the questions needs an answer any longer.
func untilAllEnd(questions []*host.Open) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	var left atomic.Int64
	left.Store(int64(len(questions)))
	for _, o := range questions {
		context.AfterFunc(o.Context(), func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		})
	}
	return ctx, cancel
}

func permissionsOf(questions []*host.Open) []policy.Question {
	out := make([]policy.Question, len(questions))
	for i, o := range questions {
		out[i] = *o.Permission
	}
	return out
}

// foldedMessage returns the text and the buttons. A single question offers its own options. For
// several questions, it offers only the kinds of options that all of them have. Each button then
// applies to all questions.
func foldedMessage(questions []policy.Question) (text string, titles []string) {
	var texts []string
	for _, q := range questions {
		texts = append(texts, permissionText(q))
	}
	for _, o := range questions[0].Options {
		if inAll(questions, o) {
			titles = append(titles, optionTitle(o, len(questions) > 1))
		}
	}
	if len(questions) > 1 {
		titles = append(titles, eachTitle)
	}
	return strings.Join(texts, "\n\n"), titles
}

// eachTitle is the button of a combined message with which the user answers each question
// separately.
const eachTitle = "Allow one by one"

// permissionText returns the full text of a question. The title contains the exact command, so
// paths are listed only if there is no command.
func permissionText(q policy.Question) string {
	lines := []string{q.Title}
	if q.Subject.Command == "" {
		for _, path := range q.Subject.Paths {
			lines = append(lines, visible.Text(path))
		}
	}
	if q.Subject.Cwd != "" {
		lines = append(lines, "in "+visible.Text(q.Subject.Cwd))
	}
	if q.Reason != "" {
		lines = append(lines, q.Reason)
	}
	if q.Preview != "" {
		lines = append(lines, strings.TrimSuffix(q.Preview, "\n"))
	}
	if lasting := agentapi.LastingAnswer(&q); lasting != "" {
		lines = append(lines, lasting)
	}
	return strings.Join(lines, "\n")
}

// inAll reports whether every question has an option with the same kind and the same use of the
// sandbox as want.
func inAll(questions []policy.Question, want policy.Option) bool {
	for _, q := range questions {
		found := false
		for _, o := range q.Options {
			found = found || o.Kind == want.Kind && o.Outside() == want.Outside()
		}
		if !found {
			return false
		}
	}
	return true
}

// optionTitle returns the text of the button. It begins with Allow or Reject. An option whose name
// states what it allows keeps that name.
func optionTitle(o policy.Option, several bool) string {
	if strings.HasPrefix(o.Name, "Allow: ") || strings.HasPrefix(o.Name, "Reject: ") {
		return o.Name
	}
	all := ""
	if several {
		all = " all"
	}
	if o.Outside() {
		return "Allow" + all + " outside the sandbox"
	}
	switch o.Kind {
	case policy.AllowOnce:
		return "Allow" + all
	case policy.AllowSession:
		return "Allow" + all + " for this session"
	case policy.AllowAlways:
		return "Allow" + all + " always"
	case policy.RejectAlways:
		return "Reject" + all + " always"
	}
	return "Reject" + all
}

// chosen returns the option of the pressed button. If the user pressed no button, the reply is a
// refusal.
func chosen(options []policy.Option, title string) policy.Reply {
	for _, o := range options {
		if title != "" && (optionTitle(o, false) == title || optionTitle(o, true) == title) {
			return policy.Reply{OptionID: o.ID}
		}
	}
	return policy.Reply{Cancelled: true}
}

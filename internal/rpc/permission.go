package rpc

import (
	"context"
	"path/filepath"
	"strings"
	"sync"

	"go.lsp.dev/uri"

	"github.com/agent-lsp/agent-lsp/internal/policy"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

var _ policy.Separate = (*Peer)(nil)

// Separately says that the client shows each permission by itself.
func (p *Peer) Separately() bool { return p.s.client.claims.Permission }

// Ask shows permissions to the user: each by agent/requestPermission where the client claims
// that, else all of them, which are of one moment, folded into one window/showMessageRequest.
// A reply that is null, of the wrong shape or names no option is a refusal, and so is the
// error of a client that knows neither way; then the session says so.
func (p *Peer) Ask(ctx context.Context, questions []policy.Question) []policy.Reply {
	if !p.s.client.claims.Permission {
		return p.askFolded(ctx, questions)
	}
	replies := make([]policy.Reply, len(questions))
	missing := make([]bool, len(questions))
	var wg sync.WaitGroup
	for i, q := range questions {
		wg.Go(func() {
			if replies[i], missing[i] = p.askOne(ctx, q); !missing[i] {
				q.Answer(replies[i])
			}
		})
	}
	wg.Wait()
	for i, q := range questions {
		if missing[i] {
			replies[i] = p.askFolded(ctx, []policy.Question{q})[0]
		}
	}
	return replies
}

// askOne sends one agent/requestPermission; missing says that the client does not know it.
func (p *Peer) askOne(ctx context.Context, q policy.Question) (reply policy.Reply, missing bool) {
	ctx, done := untilGone(ctx, q)
	defer done()
	params := permissionTo(q)
	raw, err := p.ask(ctx, &asking{id: params.RequestID, sessionID: q.SessionID, method: wire.MethodRequestPermission, params: params})
	if err != nil {
		return policy.Reply{Cancelled: true}, methodMissing(err)
	}
	return replyFrom(raw, q.Options), false
}

// untilGone returns a context that also ends when nobody waits for the answer any more.
func untilGone(ctx context.Context, q policy.Question) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if q.Gone == nil {
		return ctx, cancel
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-q.Gone:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		cancel()
		<-ended
	}
}

func permissionTo(q policy.Question) wire.RequestPermissionParams {
	out := wire.RequestPermissionParams{
		RequestID: newID("req_"), SessionID: q.SessionID, TurnID: q.TurnID, ItemID: q.ItemID,
		Title: q.Title, Reason: q.Reason, Preview: q.Preview, Sandbox: string(q.Sandbox),
		Subject: wire.Subject{Kind: string(q.Subject.Kind), Command: q.Subject.Command, Cwd: pathToURI(q.Subject.Cwd), URIs: urisTo(q.Subject.Paths)},
		Options: make([]wire.PermissionOption, 0, len(q.Options)),
	}
	for _, o := range q.Options {
		out.Options = append(out.Options, wire.PermissionOption{OptionID: o.ID, Name: o.Name, Kind: string(o.Kind), Pattern: o.Pattern})
	}
	return out
}

func urisTo(paths []string) []string {
	var out []string
	for _, path := range paths {
		if u, err := uri.Parse(path); err == nil && !filepath.IsAbs(path) && len(u.Scheme()) > 1 {
			out = append(out, path)
			continue
		}
		out = append(out, string(uri.File(path)))
	}
	return out
}

// replyFrom reads an answer; whatever names no option is a refusal.
func replyFrom(raw []byte, options []policy.Option) policy.Reply {
	o := objectFrom(raw)
	id := o.string("optionId")
	for _, option := range options {
		if option.ID == id && !o.bool("cancelled") {
			return policy.Reply{OptionID: id, Feedback: clip(o.string("feedback"))}
		}
	}
	return policy.Reply{Cancelled: true, Feedback: clip(o.string("feedback"))}
}

// askFolded asks about all questions by one message, and about each by its own where the user wants that.
func (p *Peer) askFolded(ctx context.Context, questions []policy.Question) []policy.Reply {
	replies := make([]policy.Reply, len(questions))
	text, titles := foldedMessage(questions)
	title, err := p.messageRequest(ctx, newID("req_"), questions[0].SessionID, text, titles)
	if err == ErrUnsupported {
		p.noticeIn(questions[0].SessionID, "warning",
			"refused, because the editor has no way to ask you: "+questions[0].Title)
	}
	for i, q := range questions {
		if title == eachTitle && len(questions) > 1 {
			replies[i] = p.askAlone(ctx, q)
			continue
		}
		replies[i] = chosen(q.Options, title)
	}
	return replies
}

// askAlone asks about one of several questions, unless it needs no answer any more.
func (p *Peer) askAlone(ctx context.Context, q policy.Question) policy.Reply {
	ctx, done := untilGone(ctx, q)
	defer done()
	if ctx.Err() != nil {
		return policy.Reply{Cancelled: true}
	}
	reply := p.askFolded(ctx, []policy.Question{q})[0]
	q.Answer(reply)
	return reply
}

// foldedMessage says what is asked. One question offers its own options; of several only
// the kinds that all have are offered, each for all of them.
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

// eachTitle is the button of a folded message by which each question is asked by itself.
const eachTitle = "Allow one by one"

// permissionText holds the exact command.
func permissionText(q policy.Question) string {
	lines := []string{q.Title}
	if c := q.Subject.Command; c != "" && !strings.Contains(q.Title, c) {
		lines = append(lines, c)
	}
	if q.Subject.Command == "" {
		lines = append(lines, q.Subject.Paths...)
	}
	if q.Subject.Cwd != "" {
		lines = append(lines, "in "+q.Subject.Cwd)
	}
	if q.Reason != "" {
		lines = append(lines, q.Reason)
	}
	return strings.Join(lines, "\n")
}

// inAll reports whether every question has an option of the same kind, which leads to the same
// side of the sandbox.
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

// optionTitle is what stands on the button; it begins with Allow or Reject.
func optionTitle(o policy.Option, several bool) string {
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
		return "Allow" + all + " in this session"
	case policy.AllowAlways:
		return "Allow" + all + " always"
	case policy.RejectAlways:
		return "Reject" + all + " always"
	}
	return "Reject" + all
}

// chosen finds the option of the pressed button; no button is a refusal.
func chosen(options []policy.Option, title string) policy.Reply {
	for _, o := range options {
		if title != "" && (optionTitle(o, false) == title || optionTitle(o, true) == title) {
			return policy.Reply{OptionID: o.ID}
		}
	}
	return policy.Reply{Cancelled: true}
}

package policy

import (
	"context"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/policy/hosts"
	"github.com/agent-lsp/agent-lsp/internal/visible"
)

// Asker shows questions to the user. All questions of one call of Ask belong to the same session
// and arrived together, so they should be shown together. Ask returns the reply to each question at
// the question's index. A missing reply, a canceled reply or a reply that does not name an option
// is a refusal. Ask must return when ctx ends, and may drop a question whose Context has ended. If
// the Asker implements Separate and Separately returns true, Ask may be called again before it
// returns.
type Asker interface {
	Ask(ctx context.Context, questions []Question) []Reply
}

// Separate is an Asker that reports whether it shows each question separately. If it does, a new
// question need not wait until the questions on screen are answered.
type Separate interface {
	Asker
	Separately() bool
}

// OptionKind is the kind of an answer (protocol 5.1).
type OptionKind string

// The kinds of options.
const (
	AllowOnce    OptionKind = "allow_once"
	AllowSession OptionKind = "allow_session"
	AllowAlways  OptionKind = "allow_always"
	RejectOnce   OptionKind = "reject_once"
	RejectAlways OptionKind = "reject_always"
)

// Option is an answer that the user can choose.
type Option struct {
	ID      string
	Name    string
	Kind    OptionKind
	Pattern string // rule that the answer creates
}

// Outside reports whether the option lets a command leave the sandbox.
func (o Option) Outside() bool { return o.ID == allowOutside }

// Question is one permission request.
type Question struct {
	SessionID, TurnID, ItemID string
	Title                     string
	Reason                    string
	Subject                   tool.Subject
	Sandbox                   Place // where a command runs if it is allowed
	Preview                   string
	Options                   []Option
	Context                   context.Context // ends when no answer is needed; nil: never
	// Answered accepts this question's answer before the other questions are answered. It may be
	// nil.
	Answered func(Reply)
}

// Wider returns the rule that an answer for the session or the workspace creates, if this rule
// allows more than the text of the question says. Otherwise, it returns "".
func (q Question) Wider() string {
	for _, o := range q.Options {
		lasting := o.Kind == AllowSession || o.Kind == AllowAlways
		switch s := q.Subject; {
		case !lasting || o.Pattern == "":
		case s.Kind == tool.SubjectMCP, s.Kind == tool.SubjectCommand &&
			o.Pattern != showPatterns("bash", []string{"=" + s.Command}):
			return o.Pattern
		}
	}
	return ""
}

// Answer passes on the answer as soon as it is known. The reply that Ask returns for this question
// is then ignored.
func (q Question) Answer(r Reply) {
	if q.Answered != nil {
		q.Answered(r)
	}
}

// Reply is the user's answer.
type Reply struct {
	OptionID  string
	Feedback  string // the user's comment for the model
	Cancelled bool
}

// ask asks the user about a request and records the grant that the answer contains. It returns nil
// if a grant given in the meantime already allows the request.
func (e *Engine) ask(ctx context.Context, req *tool.ApprovalRequest,
	v verdict) (*tool.Decision, error) {
	opts := e.options(req, v)
	p := newPending(ctx, req, Question{
		SessionID: req.SessionID, TurnID: req.TurnID, ItemID: req.ItemID, Title: title(req),
		Reason:  visible.Lines(v.reason),
		Subject: *req.Subject, Sandbox: v.place, Options: opts,
	})
	if req.Preview != nil {
		p.question.Preview = visibleDiff(req.Preview(ctx))
	}
	if len(v.secrets) > 0 {
		p.question.Subject.Paths = v.secrets
	}
	if v.place == Outside {
		p.question.Title = "Outside the sandbox: " + p.question.Title
	}
	p.settled = func() bool { return e.check(req).action == Allow }
	p.take = func(r Reply) tool.Decision { return e.answer(req, v, opts, r) }
	return e.asks.await(p, e.family(req.SessionID))
}

// title returns the text of the question. It contains the complete command, which the label of the
// call may shorten, or the complete call of an MCP tool.
func title(req *tool.ApprovalRequest) string {
	switch s := req.Subject; {
	case s.Kind == tool.SubjectCommand && s.Command != "":
		return "Run " + visible.Lines(s.Command)
	case s.Kind == tool.SubjectMCP && s.Command != "":
		return visible.Lines(label(req) + ": " + s.Command)
	}
	return visible.Lines(label(req))
}

// visibleDiff is like visible.Lines, but keeps tabs, because a diff of code contains many of them.
func visibleDiff(text string) string {
	parts := strings.Split(text, "\t")
	for i, part := range parts {
		parts[i] = visible.Lines(part)
	}
	return strings.Join(parts, "\t")
}

func label(req *tool.ApprovalRequest) string {
	if req.Subject.Title != "" {
		return req.Subject.Title
	}
	return req.Tool.Name
}

// answer turns a reply into a decision. Every reply that does not clearly allow the request refuses
// it.
func (e *Engine) answer(req *tool.ApprovalRequest, v verdict, opts []Option,
	r Reply) tool.Decision {
	var chosen *Option
	for i := range opts {
		if opts[i].ID == r.OptionID && !r.Cancelled {
			chosen = &opts[i]
		}
	}
	if chosen == nil {
		return tool.Decision{Reason: unanswered(r.Feedback)}
	}
	allow := chosen.Kind == AllowOnce || chosen.Kind == AllowSession || chosen.Kind == AllowAlways
	if g, ok := e.grantFor(req, *chosen, v); ok {
		if err := e.remember(g); err != nil && allow {
			return tool.Decision{Allow: true, Secrets: v.secrets,
				Reason: "the answer applies to this session only: " + err.Error()}
		}
	}
	if !allow {
		return tool.Decision{Reason: refusal(userRefused, r.Feedback)}
	}
	// The policy may have become stricter in the meantime. An answer does not overrule a deny.
	if now := e.check(req); now.action == Deny {
		return e.settle(now)
	}
	return tool.Decision{Allow: true, Unboxed: chosen.Outside(), Secrets: v.secrets}
}

// The beginnings of the reasons that the model receives for a refused request.
const (
	notAllowed  = "not allowed: "
	userRefused = "the user refused this"
	noAnswer    = "the user did not allow this"
)

// Refused reports whether the result of a call says that the call was refused.
func Refused(result string) bool {
	return strings.HasPrefix(result, notAllowed) || strings.HasPrefix(result, userRefused) ||
		strings.HasPrefix(result, noAnswer)
}

// unanswered returns the reason that the model receives if the user did not answer. why is the
// client's explanation.
func unanswered(why string) string {
	if why = strings.TrimSpace(why); why != "" {
		return noAnswer + ": " + why
	}
	return noAnswer
}

func refusal(what, feedback string) string {
	if feedback = strings.TrimSpace(feedback); feedback != "" {
		return what + " and says: " + feedback
	}
	return what
}

// options returns the possible answers to a request. Leaving the sandbox has an option of its own,
// which applies only once and only to this command.
func (e *Engine) options(req *tool.ApprovalRequest, v verdict) []Option {
	if v.place == Outside {
		return []Option{
			{ID: allowOutside, Name: "Allow once, outside the sandbox", Kind: AllowOnce},
			{ID: "reject_once", Name: "Reject", Kind: RejectOnce},
		}
	}
	opts := []Option{{ID: "allow_once", Name: "Allow once", Kind: AllowOnce}}
	patterns, whole := patternsFor(req, v)
	if pattern := showPatterns(ruleTool(req), patterns); pattern != "" && !e.ruled(req) {
		opts = append(opts, Option{ID: "allow_session", Name: "Allow for this session",
			Kind: AllowSession, Pattern: pattern})
		if !whole && e.storable(pattern) {
			opts = append(opts, Option{ID: "allow_always", Name: "Always allow in this workspace",
				Kind: AllowAlways, Pattern: pattern})
		}
	}
	opts = append(opts, Option{ID: "reject_once", Name: "Reject", Kind: RejectOnce})
	if exact := exactPattern(req); exact != "" && e.storable(exact) {
		opts = append(opts, Option{ID: "reject_always", Name: "Always reject in this workspace",
			Kind: RejectAlways, Pattern: showPatterns(ruleTool(req), []string{exact})})
	}
	return opts
}

// storable reports whether a pattern may be stored, because it contains no secret.
func (e *Engine) storable(pattern string) bool {
	return e.opts.Redactor == nil || e.opts.Redactor.Text(pattern) == pattern
}

// ruled reports whether an ask rule matches a request. Grants do not override ask rules, so the
// question for such a request does not offer a grant.
func (e *Engine) ruled(req *tool.ApprovalRequest) bool {
	s := e.Settings(req.SessionID)
	held := s
	held.Profile, held.Plan, held.Network = ProfileTrust, false, hosts.All()
	return held.classify(e.machine(s), s.Rules, req).action == Ask
}

func ruleTool(req *tool.ApprovalRequest) string {
	if req.Subject.Kind == tool.SubjectCommand {
		return "bash"
	}
	return string(req.Subject.Kind)
}

// patternsFor returns the patterns that the answer "always" would allow. If whole is true, the
// answer is not offered, because the patterns would allow only an identical request.
func patternsFor(req *tool.ApprovalRequest, v verdict) (patterns []string, whole bool) {
	switch req.Subject.Kind {
	case tool.SubjectCommand:
		if v.class != nil && (v.enforced || bounded(*v.class)) {
			return Propose(req.Subject.Command, *v.class)
		}
		return []string{"=" + req.Subject.Command}, true
	case tool.SubjectEdit, tool.SubjectRead:
		for _, p := range req.Subject.Paths {
			patterns = appendNew(patterns, "="+localPath(p))
		}
		return patterns, false
	case tool.SubjectMCP, tool.SubjectNetwork:
		if req.Subject.Name != "" {
			return []string{"=" + req.Subject.Name}, false
		}
	}
	return nil, true
}

func exactPattern(req *tool.ApprovalRequest) string {
	switch {
	case req.Subject.Kind == tool.SubjectCommand:
		return "=" + req.Subject.Command
	case req.Subject.Name != "":
		return "=" + req.Subject.Name
	case len(req.Subject.Paths) == 1:
		return "=" + localPath(req.Subject.Paths[0])
	}
	return ""
}

func showPatterns(tool string, patterns []string) string {
	return Grant{Tool: tool, Patterns: patterns}.Pattern()
}

// grantFor returns the grant that an answer creates.
func (e *Engine) grantFor(req *tool.ApprovalRequest, o Option, v verdict) (Grant, bool) {
	patterns, _ := patternsFor(req, v)
	g := Grant{Tool: ruleTool(req), Patterns: patterns, Scope: ScopeAlways,
		Root: rootOf(e.Settings(req.SessionID)), Files: v.files}
	switch o.Kind {
	case AllowSession:
		// A sub-agent's questions are asked in the user's session.
		g.Scope, g.Session, g.Root = ScopeSession, e.family(req.SessionID), ""
	case RejectAlways:
		g.Deny, g.Files, g.Patterns = true, nil, []string{exactPattern(req)}
	case AllowAlways:
	default:
		return Grant{}, false
	}
	return g, true
}

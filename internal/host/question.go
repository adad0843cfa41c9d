package host

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/policy"
)

// ErrUnsupported reports that no client can ask the user questions, or that the editor does not
// support a request.
var ErrUnsupported = errors.New("the editor does not support this")

// Question is a question from a tool, an MCP server or the daemon to the user.
type Question struct {
	SessionID string // "" means no session; a client may use its current one
	Text      string
	Options   []Option // if empty, the answer is free text
	Multi     bool     // the user may choose several options
	Field     bool     // the question is a form field, for which an empty answer is valid
}

// Option is one of the offered answers.
type Option struct{ Label, Description string }

// Answer is the user's answer.
type Answer struct {
	Text     string
	Declined bool
}

// Asker is a client that can ask its user questions.
type Asker interface {
	// Ask shows several questions together and answers each of them (Open.Answer, Open.Reply,
	// Open.Fail). It returns when this client has answered each question or the question's context
	// has ended. By then, the client has been notified of questions that were answered elsewhere or
	// withdrawn.
	Ask(questions []*Open)
	// Separately reports whether the client shows each permission separately. If so, a new
	// permission need not wait until the visible ones have been answered.
	Separately() bool
}

// Limited is an Asker that may be unable to ask its user.
type Limited interface {
	Asker
	// CanAsk reports whether the client can probably show questions. This is certain only after it
	// has shown one.
	CanAsk() bool
}

// Questions holds the open questions to the user and the clients that can ask them. Every client is
// asked, the first answer is used, and the other clients are notified. Questions is safe for
// concurrent use. Only Ask and Put block.
type Questions struct {
	host *Host // notifies the subscribers; set by New

	mu     sync.Mutex
	askers []Asker
	rounds []*round // the open rounds, oldest first
}

var _ policy.Separate = (*Questions)(nil)

// NewQuestions returns a Questions without clients, for one host (Options.Questions).
func NewQuestions() *Questions { return &Questions{} }

// round is a set of questions that are asked together. Questions.mu guards its fields.
type round struct {
	questions []*Open
	several   bool // several clients were asked
	asking    int  // Asker.Ask calls that have not returned
	over      chan struct{}
}

// Open is an open question to the clients. Its methods may be called from any goroutine. The
// exported fields do not change.
type Open struct {
	ID        string
	SessionID string
	// Either Permission or Question is set.
	Permission *policy.Question
	Question   *Question

	ctx  context.Context // canceled when the question ends
	end  context.CancelFunc
	mu   sync.Mutex
	done bool // the question has been answered
	// reply is the answer to Permission, and answer is the answer to Question.
	reply  policy.Reply
	answer Answer
	err    error
}

func newOpen(ctx context.Context, sessionID string) *Open {
	o := &Open{ID: "req_" + strings.ToLower(rand.Text()[:16]), SessionID: sessionID}
	o.ctx, o.end = context.WithCancel(ctx)
	return o
}

// Context returns a context that ends when the question no longer needs an answer. This happens
// when the question is answered or its caller has stopped waiting.
func (o *Open) Context() context.Context { return o.ctx }

// Reply answers a permission question. Only the first answer has an effect.
func (o *Open) Reply(r policy.Reply) {
	o.settle(func() { o.reply = r }, func() { o.Permission.Answer(r) })
}

// Answer answers any other question. Only the first answer has an effect.
func (o *Open) Answer(a Answer) { o.settle(func() { o.answer = a }, func() {}) }

// Fail ends a question for which the client returned an error. After ErrUnsupported, other clients
// can still answer.
func (o *Open) Fail(err error) {
	if errors.Is(err, ErrUnsupported) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if !o.done {
			o.reply, o.answer, o.err = policy.Reply{Cancelled: true}, Answer{Declined: true}, err
		}
		return
	}
	o.settle(func() {
		o.reply, o.answer, o.err = policy.Reply{Cancelled: true}, Answer{Declined: true}, err
	}, func() {})
}

func (o *Open) settle(put, tell func()) {
	o.mu.Lock()
	first := !o.done && o.ctx.Err() == nil
	if first {
		o.done, o.err = true, nil
		put()
	}
	o.mu.Unlock()
	if first {
		tell()
		o.end()
	}
}

func (o *Open) settled() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.done
}

// Attach adds a client, which is also asked the questions that other clients already show. detach
// removes the client and does not wait for a running Ask.
func (q *Questions) Attach(a Asker) (detach func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.askers = append(q.askers, a)
	for _, r := range q.rounds {
		q.askLocked(r, a)
	}
	return func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.askers = slices.DeleteFunc(q.askers, func(o Asker) bool { return o == a })
	}
}

// askLocked asks an additional client. The caller must hold mu.
func (q *Questions) askLocked(r *round, a Asker) {
	r.several = r.several || r.asking > 0
	r.asking++
	go func() {
		a.Ask(r.questions)
		q.mu.Lock()
		defer q.mu.Unlock()
		if r.asking--; r.asking == 0 {
			q.rounds = slices.DeleteFunc(q.rounds, func(o *round) bool { return o == r })
			close(r.over)
		}
	}()
}

// put asks all clients and waits until their Ask calls have returned.
func (q *Questions) put(questions ...*Open) {
	r := &round{questions: questions, over: make(chan struct{})}
	q.mu.Lock()
	for _, a := range q.askers {
		q.askLocked(r, a)
	}
	if r.asking > 0 {
		q.rounds = append(q.rounds, r)
	} else {
		close(r.over)
		for _, o := range questions {
			o.Fail(ErrUnsupported)
		}
	}
	q.mu.Unlock()
	for _, o := range questions {
		defer q.reportEnd(r, o)()
	}
	<-r.over
}

// reportEnd notifies the subscribers as soon as a question no longer needs an answer while a client
// still shows it. wait ends the question and returns when the subscribers have been notified.
func (q *Questions) reportEnd(r *round, o *Open) (wait func()) {
	var once sync.Once
	report := func() {
		if (!o.settled() || q.sharedBy(r)) && q.host != nil {
			q.host.CloseQuestion(o.SessionID, o.ID)
		}
	}
	stop := context.AfterFunc(o.ctx, func() { once.Do(report) })
	return func() {
		stop()
		if o.ctx.Err() != nil {
			once.Do(report) // if report is already running, Do waits until it has finished
		}
		o.end()
	}
}

// sharedBy reports whether several clients were asked.
func (q *Questions) sharedBy(r *round) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return r.several
}

// Put asks a question. If there is no usable answer, the result is Declined. The error is
// ErrUnsupported if no client can ask, ctx's cause if ctx ended first, the client's error, or
// another error if the clients disconnected before an answer. Put and Ask block, so they must not
// be called from a subscriber or while a lock is held.
func (q *Questions) Put(ctx context.Context, question Question) (Answer, error) {
	o := newOpen(ctx, question.SessionID)
	o.Question = &question
	q.put(o)
	switch {
	case !o.done && ctx.Err() != nil:
		return Answer{Declined: true}, context.Cause(ctx)
	case !o.done && o.err == nil:
		return Answer{Declined: true}, errLeft
	case o.err != nil:
		return Answer{Declined: true}, o.err
	}
	if o.answer.Text == "" && !question.Field {
		o.answer.Declined = true
	}
	return o.answer, nil
}

// errLeft is the error for a question whose clients disconnected before an answer.
var errLeft = errors.New("the client disconnected before it answered")

// Separately implements policy.Separate. It returns true if there are clients and each of them
// shows every permission separately.
func (q *Questions) Separately() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, a := range q.askers {
		if !a.Separately() {
			return false
		}
	}
	return len(q.askers) > 0
}

// CanAsk reports whether a client can ask its user.
func (q *Questions) CanAsk() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return slices.ContainsFunc(q.askers, func(a Asker) bool {
		l, limited := a.(Limited)
		return !limited || l.CanAsk()
	})
}

// Ask implements policy.Asker. A permission that no client answers is refused.
func (q *Questions) Ask(ctx context.Context, permissions []policy.Question) []policy.Reply {
	open := make([]*Open, len(permissions))
	for i := range permissions {
		p := permissions[i]
		// If the question outlived its call, a client could show it after the end of the turn.
		waits := p.Context
		if waits == nil {
			waits = ctx
		}
		open[i] = newOpen(waits, p.SessionID)
		open[i].Permission = &p
		defer context.AfterFunc(ctx, open[i].end)()
	}
	q.put(open...)
	replies := make([]policy.Reply, len(open))
	for i, o := range open {
		if replies[i] = o.reply; !o.done {
			replies[i] = policy.Reply{Cancelled: true}
		}
		if errors.Is(o.err, ErrUnsupported) {
			q.noteRefused(o)
		}
	}
	return replies
}

// noteRefused shows the user why a permission was refused.
func (q *Questions) noteRefused(o *Open) {
	if q.host == nil {
		return
	}
	if s := q.host.Loaded(o.SessionID); s != nil {
		s.Engine.Notice("warning",
			"refused because the editor cannot ask you: "+o.Permission.Title)
	}
}

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

// ErrUnsupported says that no client has a way to ask its user.
var ErrUnsupported = errors.New("the editor does not offer this")

// Question is what a tool, an MCP server or the daemon itself asks the user.
type Question struct {
	SessionID string // "": of no session; a client may take its current one
	Text      string
	Options   []Option // none: the answer is free text
	Multi     bool     // several options may be chosen
	Field     bool     // of a form: an empty answer counts as an answer
}

// Option is one answer on offer.
type Option struct{ Label, Description string }

// Answer is what the user said.
type Answer struct {
	Text     string
	Declined bool
}

// Asker is a client that can put questions to its user.
type Asker interface {
	// Ask shows questions of one moment and answers each (Open.Answer, Open.Reply, Open.Fail). It
	// returns when each has an answer from here or its context has ended. By then the client has
	// been notified of those that need no answer.
	Ask(questions []*Open)
	// Separately says that each permission is shown on its own, so that one that comes while
	// others are shown need not wait.
	Separately() bool
}

// Questions are the open questions to the user and the clients that can put them. Every client is
// asked, the first answer counts, and the other clients are notified. Safe for concurrent use; only
// Ask and Put block.
type Questions struct {
	host *Host // notifies the subscribers; set by New

	mu     sync.Mutex
	askers []Asker
	rounds []*round // those that are asked, oldest first
}

var _ policy.Separate = (*Questions)(nil)

// NewQuestions returns questions without a client. They serve one host (Options.Questions).
func NewQuestions() *Questions { return &Questions{} }

// round is questions of one moment. mu of Questions guards its fields.
type round struct {
	questions []*Open
	several   bool // clients were asked
	asking    int  // Asker.Ask calls that have not returned
	over      chan struct{}
}

// Open is a question that the clients are asked. Its methods may be called from any goroutine; the
// exported fields do not change.
type Open struct {
	ID        string
	SessionID string
	// Permission or Question is set.
	Permission *policy.Question
	Question   *Question

	ctx  context.Context // ends with the question
	end  context.CancelFunc
	mu   sync.Mutex
	done bool // there is an answer
	// one of these is the answer
	reply  policy.Reply
	answer Answer
	err    error
}

func newOpen(ctx context.Context, sessionID string) *Open {
	o := &Open{ID: "req_" + strings.ToLower(rand.Text()[:16]), SessionID: sessionID}
	o.ctx, o.end = context.WithCancel(ctx)
	return o
}

// Context ends when the question no longer needs an answer: it has one, or its caller has left.
func (o *Open) Context() context.Context { return o.ctx }

// Reply answers a permission. Only the first answer counts, and none that comes after the end.
func (o *Open) Reply(r policy.Reply) {
	o.settle(func() { o.reply = r }, func() { o.Permission.Answer(r) })
}

// Answer answers another question. Only the first answer counts, and none that comes after the end.
func (o *Open) Answer(a Answer) { o.settle(func() { o.answer = a }, func() {}) }

// Fail ends a question whose client answered with an error. ErrUnsupported leaves it to the others.
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

// Attach begins to ask a client, also what others are being asked. detach ends that; it does not
// wait for an Ask that runs.
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

// askLocked has one more client asked. The caller holds mu.
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

// put asks all clients and waits for the answers or the ends of the questions' contexts.
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

// reportEnd notifies the subscribers as soon as a question needs no answer although a client still
// shows it. wait ends the question and returns when they were notified.
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
			once.Do(report) // waits for one that has begun
		}
		o.end()
	}
}

// sharedBy says whether several clients were asked.
func (q *Questions) sharedBy(r *round) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return r.several
}

// Put asks a question. The answer is Declined where there is no usable one. The error is
// ErrUnsupported where no client can ask, and ctx's cause where that ended first.
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

// errLeft is the error of a question whose client left.
var errLeft = errors.New("the client left before it answered")

// Separately implements policy.Separate: every client shows each permission on its own.
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

// Ask implements policy.Asker: it asks for permissions. A question that no client answers is
// refused.
func (q *Questions) Ask(ctx context.Context, permissions []policy.Question) []policy.Reply {
	open := make([]*Open, len(permissions))
	for i := range permissions {
		p := permissions[i]
		open[i] = newOpen(ctx, p.SessionID)
		open[i].Permission = &p
		if p.Gone != nil {
			defer endWith(p.Gone, open[i])()
		}
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
			"refused, because the editor has no way to ask you: "+o.Permission.Title)
	}
}

// endWith ends a question when its caller has left (gone). stop ends it now.
func endWith(gone <-chan struct{}, o *Open) (stop func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-gone:
			o.end()
		case <-o.ctx.Done():
		}
	}()
	return func() {
		o.end()
		<-ended
	}
}

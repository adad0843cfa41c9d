package host

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/policy"
)

// user is a client that passes the questions it receives to the test.
type user struct {
	asked    chan []*Open
	returned chan struct{} // receives a value whenever a call of Ask returns
	left     chan struct{} // closed when the client disconnects
}

func newUser() *user {
	return &user{make(chan []*Open, 8), make(chan struct{}, 8), make(chan struct{})}
}

func (u *user) Ask(questions []*Open) {
	defer func() { u.returned <- struct{}{} }()
	u.asked <- questions
	for _, q := range questions {
		select {
		case <-q.Context().Done():
		case <-u.left:
			return
		}
	}
}

func (u *user) Separately() bool { return true }

// mute is a client that cannot ask its user questions.
type mute struct{}

func (mute) CanAsk() bool { return false }

func (mute) Separately() bool { return false }
func (mute) Ask(questions []*Open) {
	for _, q := range questions {
		q.Fail(ErrUnsupported)
	}
}

// ask asks a question and returns the channel on which its answer will arrive.
func ask(ctx context.Context, q *Questions, question Question) chan Answer {
	out := make(chan Answer, 1)
	go func() {
		a, err := q.Put(ctx, question)
		if err != nil {
			a.Text = err.Error()
		}
		out <- a
	}()
	return out
}

// closedIn records the IDs of the questions that subscribers see as closed.
func closedIn(h *Host) *closings {
	c := &closings{}
	h.Clients().Subscribe(c)
	return c
}

type closings struct {
	recorder
	ids []string
}

func (c *closings) Notify(n Notification) {
	if e, ok := n.Event.(QuestionClosed); ok {
		c.ids = append(c.ids, e.RequestID)
	}
}

// Two clients of a session are asked the same question, even if one of them joined later. The first
// answer applies to both. The question is then closed in the other client, and every subscriber is
// notified.
func TestOneAnswersForAll(t *testing.T) {
	h, s := oneSession(t)
	reported := closedIn(h)
	one, two := newUser(), newUser()
	q := h.Questions()
	q.Attach(one)
	answer := ask(t.Context(), q, Question{SessionID: s.ID, Text: "Which?"})
	first := (<-one.asked)[0]
	detach := q.Attach(two)
	second := (<-two.asked)[0]
	if first != second || second.Question.Text != "Which?" {
		t.Fatalf("asked %+v and %+v", first, second)
	}
	second.Answer(Answer{Text: "that"})
	first.Answer(Answer{Text: "too late"})
	if a := <-answer; a != (Answer{Text: "that"}) {
		t.Errorf("answered %+v", a)
	}
	<-one.returned
	<-two.returned
	if !slices.Equal(reported.ids, []string{first.ID}) {
		t.Errorf("informed of %q, want %q", reported.ids, first.ID)
	}
	detach()
	answer = ask(t.Context(), q, Question{SessionID: s.ID, Text: "Alone?"})
	(<-one.asked)[0].Answer(Answer{})
	if a := <-answer; !a.Declined {
		t.Errorf("an empty answer gave %+v", a)
	}
	if len(reported.ids) != 1 || len(two.asked) != 0 {
		t.Error("a client was notified of its own answer, or a client that had left was asked")
	}
}

// Either client can answer a permission request, but only once. Other requests that were asked
// together with it stay open.
func TestOnePermissionForAll(t *testing.T) {
	h, s := oneSession(t)
	reported := closedIn(h)
	one, two := newUser(), newUser()
	q := h.Questions()
	q.Attach(one)
	q.Attach(two)
	if !q.Separately() {
		t.Error("permission requests are not shown separately")
	}
	waits, gone := context.WithCancel(t.Context())
	answered := make(chan policy.Reply, 2)
	list := []policy.Question{
		{SessionID: s.ID, Title: "a", Answered: func(r policy.Reply) { answered <- r }},
		{SessionID: s.ID, Title: "b", Context: waits},
	}
	replies := make(chan []policy.Reply)
	go func() { replies <- q.Ask(t.Context(), list) }()
	open := <-one.asked
	<-two.asked
	open[0].Reply(policy.Reply{OptionID: "yes"})
	if r := <-answered; r.OptionID != "yes" {
		t.Errorf("the caller got %+v", r)
	}
	gone() // the caller of the second question no longer waits
	got := <-replies
	if got[0].OptionID != "yes" || !got[1].Cancelled {
		t.Errorf("replies %+v", got)
	}
	if len(reported.ids) != 2 {
		t.Errorf("informed of %q, want both", reported.ids)
	}
}

// If a client disconnects or cannot ask its user, the question stays open for the other clients.
func TestAClientLeavesTheQuestionToOthers(t *testing.T) {
	h, s := oneSession(t)
	q := h.Questions()
	one, two := newUser(), newUser()
	q.Attach(mute{})
	q.Attach(one)
	q.Attach(two)
	answer := ask(t.Context(), q, Question{SessionID: s.ID, Text: "Which?"})
	open := (<-one.asked)[0]
	<-two.asked
	close(one.left)
	<-one.returned
	open.Answer(Answer{Text: "two's"})
	if a := <-answer; a.Text != "two's" {
		t.Errorf("answered %+v", a)
	}
}

// If no client can ask the user, a question returns an error immediately, a permission request is
// refused, and the session reports the reason.
func TestNoClientCanAsk(t *testing.T) {
	for _, attach := range []bool{false, true} {
		h, s := oneSession(t)
		notices := make(chan string, 1)
		h.Clients().Watch(func(_ string, e agent.Event) {
			if e, ok := e.(agent.ItemCompleted); ok && e.Item.Type == agent.ItemNotice {
				notices <- e.Item.Text
			}
		})
		q := h.Questions()
		if attach {
			q.Attach(mute{})
		}
		if q.CanAsk() {
			t.Error("a client can ask")
		}
		_, err := q.Put(t.Context(), Question{SessionID: s.ID})
		if !errors.Is(err, ErrUnsupported) {
			t.Errorf("asked although no client can: %v", err)
		}
		r := q.Ask(t.Context(), []policy.Question{{SessionID: s.ID, Title: "Run it"}})
		if !r[0].Cancelled {
			t.Errorf("permitted although no client can ask: %+v", r)
		}
		if n := <-notices; !strings.Contains(n, "Run it") {
			t.Errorf("the session says %q", n)
		}
		if q.Attach(newUser()); !q.CanAsk() {
			t.Error("a client with a user cannot ask")
		}
	}
}

// If the context of a question ends, the question is closed. Subscribers are notified, and a later
// answer has no effect.
func TestAQuestionEndsWithItsContext(t *testing.T) {
	h, s := oneSession(t)
	reported := closedIn(h)
	one := newUser()
	q := h.Questions()
	q.Attach(one)
	ctx, cancel := context.WithCancelCause(t.Context())
	answer := ask(ctx, q, Question{SessionID: s.ID})
	open := (<-one.asked)[0]
	cancel(errors.New("the turn was aborted"))
	open.Answer(Answer{Text: "too late"})
	if a := <-answer; a.Text != "the turn was aborted" || !a.Declined {
		t.Errorf("answered %+v", a)
	}
	if !slices.Equal(reported.ids, []string{open.ID}) {
		t.Errorf("informed of %q", reported.ids)
	}
}

// If the only client disconnects without answering, the caller does not wait forever.
func TestTheOnlyClientLeaves(t *testing.T) {
	h, s := oneSession(t)
	one := newUser()
	h.Questions().Attach(one)
	answer := ask(t.Context(), h.Questions(), Question{SessionID: s.ID})
	<-one.asked
	close(one.left)
	if a := <-answer; !a.Declined || a.Text != errLeft.Error() {
		t.Errorf("answered %+v", a)
	}
}

package policy

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// asks batches questions. While questions of a session are shown, new questions of that session
// wait and are then shown together. If the asker shows each question separately, a new question is
// shown immediately.
type asks struct {
	asker Asker
	bound time.Duration // how long gather waits; 0 means gatherTime
	mu    sync.Mutex
	busy  map[string]bool
	queue map[string][]*pending
}

// gatherTime bounds how long a question waits for the other questions of its batch, which hooks or
// previews may delay.
const gatherTime = time.Second

// pending is a question that has no answer yet.
type pending struct {
	parent  context.Context // context of the call
	ctx     context.Context // ends when parent ends or the question is answered
	end     context.CancelFunc
	waiting func() // reports that agent-lsp is waiting for the user
	index   int    // position among the questions that were asked together
	// gathered is closed when the other questions of the batch are queued too. It is nil if there
	// are no others.
	gathered <-chan struct{}
	question Question
	settled  func() bool               // reports whether a newer grant answers the question
	take     func(Reply) tool.Decision // turns the reply into a decision and stores its grants
	once     sync.Once
	decision chan *tool.Decision // receives the decision, or nil if a grant answers the question
}

func newPending(ctx context.Context, req *tool.ApprovalRequest, q Question) *pending {
	p := &pending{parent: ctx, waiting: req.Waiting, index: req.Index, gathered: req.Gathered,
		decision: make(chan *tool.Decision, 1)}
	p.ctx, p.end = context.WithCancel(ctx)
	p.question = q
	p.question.Context = p.ctx
	return p
}

// reply decides the question with the first answer. An answer that arrives after the call has ended
// grants nothing.
func (p *pending) reply(r Reply) {
	p.once.Do(func() {
		if p.parent.Err() == nil {
			d := p.take(r)
			p.decision <- &d
		}
		p.end()
	})
}

// settle ends a question that a grant has answered in the meantime.
func (p *pending) settle() bool {
	if p.ctx.Err() != nil || !p.settled() {
		return false
	}
	p.once.Do(func() {
		p.decision <- nil
		p.end()
	})
	return true
}

// separately reports whether each question is shown separately.
func (a *asks) separately() bool {
	s, ok := a.asker.(Separate)
	return ok && s.Separately()
}

// put queues a question. The first question of a queue starts the goroutine that shows them all in
// turn.
func (a *asks) put(queue string, p *pending) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.busy == nil {
		a.busy, a.queue = map[string]bool{}, map[string][]*pending{}
	}
	a.queue[queue] = append(a.queue[queue], p)
	if !a.busy[queue] {
		a.busy[queue] = true
		go a.show(queue) // show ends when the queue is empty
	}
}

// next removes and returns all waiting questions.
func (a *asks) next(queue string) []*pending {
	a.mu.Lock()
	defer a.mu.Unlock()
	batch := a.queue[queue]
	slices.SortStableFunc(batch, func(a, b *pending) int { return cmp.Compare(a.index, b.index) })
	delete(a.queue, queue)
	if len(batch) == 0 {
		delete(a.busy, queue)
	}
	return batch
}

// gather waits until all questions of a batch are queued.
func (a *asks) gather(queue string) {
	bound := time.NewTimer(cmp.Or(a.bound, gatherTime))
	defer bound.Stop()
	for i := 0; ; i++ {
		p := a.queued(queue, i)
		if p == nil {
			return
		}
		if p.gathered == nil {
			continue
		}
		select {
		case <-p.gathered:
		case <-p.ctx.Done():
		case <-bound.C:
			return
		}
	}
}

// queued returns question i of the queue, or nil if there is none.
func (a *asks) queued(queue string, i int) *pending {
	a.mu.Lock()
	defer a.mu.Unlock()
	if q := a.queue[queue]; i < len(q) {
		return q[i]
	}
	return nil
}

func (a *asks) show(queue string) {
	for {
		a.gather(queue)
		batch := a.next(queue)
		if len(batch) == 0 {
			return
		}
		open := slices.DeleteFunc(batch,
			func(p *pending) bool { return p.ctx.Err() != nil || p.settle() })
		switch {
		case len(open) == 0:
		case a.separately():
			go a.showBatch(open)
		default:
			a.showBatch(open)
		}
	}
}

// showBatch asks the questions. It returns early when none of them needs an answer any longer.
func (a *asks) showBatch(open []*pending) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var left sync.WaitGroup
	questions := make([]Question, len(open))
	for i, p := range open {
		questions[i] = p.question
		questions[i].Answered = func(r Reply) {
			p.reply(r)
			for _, other := range open {
				other.settle()
			}
		}
		left.Add(1)
		defer p.end()
		context.AfterFunc(p.ctx, left.Done)
	}
	// This goroutine ends when all questions have ended, at the latest after the last reply below.
	go func() {
		left.Wait()
		cancel()
	}()
	replies := a.asker.Ask(ctx, questions)
	for i, p := range open {
		r := Reply{Cancelled: true}
		if i < len(replies) {
			r = replies[i]
		}
		p.reply(r)
	}
}

// await asks the question and waits for the decision or for the end of the call. The decision is
// nil if a grant made in the meantime answers the question. Before the question is shown, the
// call's item reports that the call is waiting. The last question of a batch to report this
// releases the others, so every question must be queued by then.
func (a *asks) await(p *pending, queue string) (*tool.Decision, error) {
	defer p.end()
	if a.separately() {
		queue = p.question.SessionID
	}
	if p.waiting != nil && p.gathered == nil {
		p.waiting()
	}
	a.put(queue, p)
	if p.waiting != nil && p.gathered != nil {
		p.waiting()
	}
	select {
	case <-p.parent.Done():
		return nil, context.Cause(p.parent)
	case d := <-p.decision:
		return d, nil
	}
}

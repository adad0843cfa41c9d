package editor

import (
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/rpc/conn"
)

// progressBacklog is the maximum number of reports that wait for the client. Further reports are
// dropped.
const progressBacklog = 32

// progress shows running turns to a client that does not support agent/*. Each turn has one
// $/progress with a cancel button.
type progress struct {
	s *Features

	mu    sync.Mutex
	turns map[string]*turnProgress // keyed by token
}

// waitsForYou is the beginning of a report about an edit that waits for the user.
const waitsForYou = "waiting for your decision: "

type turnProgress struct {
	sessionID, turnID, token string
	reports                  chan string
	last                     string // first line of the last answer
}

// watch is called with every event when it is delivered. It never blocks.
func (p *progress) watch(sessionID string, e agent.Event) {
	switch e := e.(type) {
	case agent.TurnStarted:
		p.begin(sessionID, e.TurnID)
	case agent.ItemStarted:
		p.report(e.TurnID, e.Item)
	case agent.ItemUpdated:
		p.report(e.TurnID, e.Item)
	case agent.ItemCompleted:
		if e.Item.Type == agent.ItemAssistant {
			p.remember(e.TurnID, e.Item.Text)
		}
	case agent.TurnCompleted:
		p.end(&e.Turn)
	}
}

func tokenOf(turnID string) string { return "agent-lsp/" + turnID }

func (p *progress) begin(sessionID, turnID string) {
	t := &turnProgress{
		sessionID: sessionID,
		turnID:    turnID,
		token:     tokenOf(turnID),
		reports:   make(chan string, progressBacklog),
	}
	p.mu.Lock()
	p.turns[t.token] = t
	p.mu.Unlock()
	p.s.link.Go("showing progress", func() { p.show(t) })
}

func (p *progress) report(turnID string, it agent.Item) {
	if it.Call == nil {
		return
	}
	label := it.Call.Label
	if it.Status == agent.StatusAwaitingReview {
		label = waitsForYou + label
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.turns[tokenOf(turnID)]; t != nil {
		select {
		case t.reports <- label:
		default: // the client is slow, so the report is dropped
		}
	}
}

func (p *progress) remember(turnID, text string) {
	line := firstLine(text, maxToast)
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.turns[tokenOf(turnID)]; t != nil {
		t.last = line
	}
}

func (p *progress) end(turn *agent.Turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.turns[tokenOf(turn.TurnID)]; t != nil {
		delete(p.turns, t.token)
		close(t.reports)
		p.s.tellEnd(turn, t.last)
	}
}

// show sends reports until the turn ends.
func (p *progress) show(t *turnProgress) {
	if !p.s.link.Client.Progress {
		p.log(t)
		return
	}
	err := p.s.link.Call(
		p.s.link.Context(),
		conn.MethodNewProgress,
		map[string]any{"token": t.token},
		nil,
	)
	if err != nil {
		return // the client refused the progress, so its reports are dropped
	}
	tell := func(value map[string]any) {
		p.s.link.Notify(conn.MethodProgress, map[string]any{"token": t.token, "value": value})
	}
	tell(
		map[string]any{
			"kind":        "begin",
			"title":       "Agent",
			"cancellable": true,
			"message":     "working",
		},
	)
	for reporting := true; reporting; {
		select {
		case label, more := <-t.reports:
			if reporting = more; more {
				tell(map[string]any{"kind": "report", "cancellable": true, "message": label})
			}
		case <-p.s.link.Context().Done():
			return
		}
	}
	end := map[string]any{"kind": "end"}
	if t.last != "" {
		end["message"] = t.last
	}
	tell(end)
}

// log writes the reports to the log of a client that does not show progress. If the turn waits for
// the user, log shows a message.
func (p *progress) log(t *turnProgress) {
	for {
		select {
		case label, more := <-t.reports:
			switch {
			case !more:
				return
			case strings.HasPrefix(label, waitsForYou):
				p.s.link.Message(conn.MessageInfo, "Agent: "+label)
			default:
				p.s.link.Log(conn.MessageInfo, "Agent: "+label)
			}
		case <-p.s.link.Context().Done():
			return
		}
	}
}

// cancel handles the cancel button. It aborts the turn.
func (p *progress) cancel(token string) {
	p.mu.Lock()
	t := p.turns[token]
	p.mu.Unlock()
	if t == nil {
		return
	}
	if l := p.s.api.Loaded(t.sessionID); l != nil {
		// The turn may already have ended.
		_, _ = l.Engine.Abort(agent.AbortRequest{TurnID: t.turnID})
	}
}

// CancelProgress aborts the turn of a progress token.
func (s *Features) CancelProgress(token string) { s.progress.cancel(token) }

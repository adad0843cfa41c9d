package host

import (
	"encoding/json"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// Session is a loaded session: its engine, its store and its notifications. It is safe for
// concurrent use. The exported fields do not change.
type Session struct {
	ID     string
	Cwd    string // absolute
	Engine *agent.Session
	Store  *session.Session

	feed       *feed
	configured func(sessionID string) // Options.Configured

	mu     sync.Mutex
	own    json.RawMessage // the session's own layer of settings
	config config.Config   // effective
	puts   int             // number of changes to own and config
	warned map[string]bool // warnings that were already shown; each is shown only once
}

// Config returns the effective configuration.
func (s *Session) Config() config.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config
}

// Configure applies f to the session's own configuration and puts the result into effect. If
// another call changed the configuration in the meantime, f runs again, so that the other change is
// not lost.
func (s *Session) Configure(
	f func(own json.RawMessage) (json.RawMessage, config.Config, error),
) error {
	for {
		s.mu.Lock()
		puts, own := s.puts, s.own
		s.mu.Unlock()
		own, effective, err := f(own)
		if err != nil {
			return err
		}
		if s.setConfigAfter(puts, own, effective) {
			s.Engine.SetQueueLimit(effective.MaxQueue)
			if s.configured != nil {
				s.configured(s.ID)
			}
			return nil
		}
	}
}

func (s *Session) setConfigAfter(puts int, own json.RawMessage, effective config.Config) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.puts != puts {
		return false
	}
	s.own, s.config, s.puts = own, effective, puts+1
	return true
}

// Warn shows problems in the settings to the user. Each message is shown only once per session.
func (s *Session) Warn(notices []string) {
	for _, n := range s.unsaid(notices) {
		s.Engine.Notice("warning", n)
	}
}

func (s *Session) unsaid(notices []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.warned == nil {
		s.warned = map[string]bool{}
	}
	var out []string
	for _, n := range notices {
		if !s.warned[n] {
			s.warned[n] = true
			out = append(out, n)
		}
	}
	return out
}

func (s *Session) ownConfig() json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.own
}

// TellConfig notifies the subscribers of the effective configuration.
func (s *Session) TellConfig() {
	changed := ConfigChanged{State: s.Engine.State(), Config: s.Config()}
	s.feed.put(func() { s.feed.tell(changed) })
}

// TellState notifies the subscribers of the session's state, even if it has not changed.
func (s *Session) TellState() {
	changed := agent.StateChanged{State: s.Engine.State()}
	s.feed.put(func() { s.feed.changed(changed) })
}

// Settled returns a channel that is closed when the subscribers have been notified of all events up
// to now.
func (s *Session) Settled() <-chan struct{} { return s.feed.settled() }

// Replay sends past events to one subscriber: the completed items with numbers greater than the
// given one, the open items with their text so far, and the pending proposals. The caller passes
// the pending proposals. Replay returns the last number used. The caller must have held back the
// notifications (Host.HoldFor).
func (s *Session) Replay(
	to Subscriber,
	items []session.Item,
	since int64,
	pending []workspace.ProposalEvent,
) int64 {
	return s.feed.replay(to, items, since, pending)
}

// Busy reports whether a turn is open or the context is being reduced. A turn is also open while it
// waits for the user or for the end of a pause.
func (s *Session) Busy() bool {
	st := s.Engine.State()
	return st.Status == agent.SessionRunning || st.TurnID != ""
}

// coming is a session whose engine may not exist yet. Functions that are passed to tell before the
// engine exists run when it has been made. Its methods may be called from any goroutine.
type coming struct {
	mu     sync.Mutex
	engine *agent.Session
	later  []func(*agent.Session)
}

func (c *coming) tell(f func(*agent.Session)) {
	c.mu.Lock()
	engine := c.engine
	if engine == nil {
		c.later = append(c.later, f)
	}
	c.mu.Unlock()
	if engine != nil {
		f(engine)
	}
}

func (c *coming) made(engine *agent.Session) {
	c.mu.Lock()
	later := c.later
	c.engine, c.later = engine, nil
	c.mu.Unlock()
	for _, f := range later {
		f(engine)
	}
}

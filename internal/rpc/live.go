package rpc

import (
	"encoding/json"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// live is a session that is loaded: its engine, its store and its stream of notifications.
type live struct {
	id     string
	cwd    string // absolute
	engine *agent.Session
	store  *session.Session
	stream *stream

	mu     sync.Mutex
	own    json.RawMessage // the session's own part of the configuration
	config wire.Config     // in effect
	puts   int             // how often the two were put
	warned map[string]bool // what the settings were warned of; said once
}

// Config returns the configuration in effect.
func (l *live) Config() wire.Config {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.config
}

// configure puts into effect what f makes of the session's own configuration; f runs again where another change came
// meanwhile, which would be lost.
func (l *live) configure(f func(own json.RawMessage) (json.RawMessage, wire.Config, error)) error {
	for {
		l.mu.Lock()
		puts, own := l.puts, l.own
		l.mu.Unlock()
		own, config, err := f(own)
		if err != nil {
			return err
		}
		if l.setConfigAfter(puts, own, config) {
			l.engine.SetQueueLimit(config.MaxQueue)
			return nil
		}
	}
}

func (l *live) setConfigAfter(puts int, own json.RawMessage, config wire.Config) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.puts != puts {
		return false
	}
	l.own, l.config, l.puts = own, config, puts+1
	return true
}

// warn tells the user what is wrong with the settings, each thing once in a session.
func (l *live) warn(notices []string) {
	for _, n := range l.unsaid(notices) {
		l.engine.Notice("warning", n)
	}
}

func (l *live) unsaid(notices []string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.warned == nil {
		l.warned = map[string]bool{}
	}
	var out []string
	for _, n := range notices {
		if !l.warned[n] {
			l.warned[n] = true
			out = append(out, n)
		}
	}
	return out
}

func (l *live) ownConfig() json.RawMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.own
}

// tellConfig announces the configuration in effect.
func (l *live) tellConfig() {
	state, config := l.engine.State(), encode(l.Config())
	l.stream.put(func() {
		l.stream.tell(wire.MethodSessionUpdated, func(s wire.Stamp) any {
			u := updatedFrom(state)
			u.Stamp, u.Config = s, config
			return u
		})
	})
}

// coming is a session whose engine may still be on its way: what it is told meanwhile, from any goroutine, waits.
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

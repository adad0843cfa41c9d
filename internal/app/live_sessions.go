package app

import (
	"strings"
	"sync"
)

// liveSessions contains the loaded sessions, including those of sub-agents. It is safe for
// concurrent use.
type liveSessions struct {
	mu   sync.Mutex
	byID map[string]*sessionParts
}

func newLiveSessions() *liveSessions { return &liveSessions{byID: map[string]*sessionParts{}} }

func (l *liveSessions) add(p *sessionParts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byID[p.info.ID] = p
}

// get returns nil if the session is not loaded.
func (l *liveSessions) get(id string) *sessionParts {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byID[id]
}

// remove returns the session that it removed, or nil.
func (l *liveSessions) remove(id string) *sessionParts {
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.byID[id]
	delete(l.byID, id)
	return p
}

// any returns a session in which a question that belongs to no session can be shown. It returns ""
// if no session is loaded.
func (l *liveSessions) any() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for id := range l.byID {
		if !strings.Contains(id, "/") {
			return id
		}
	}
	return ""
}

// owner returns the session and turn that the client knows. A sub-agent's session belongs to the
// user's session above it.
func (l *liveSessions) owner(session, turn string) (string, string) {
	if p := l.get(session); p != nil && p.user != "" {
		return p.user, p.ownerTurn
	}
	return session, turn
}

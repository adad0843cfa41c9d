package app

import (
	"log/slog"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/policy"
)

// notices shows the user the notices of a connection. It shows each warning about a session's
// settings only once. It is safe for concurrent use.
type notices struct {
	log    *slog.Logger
	redact *policy.Redactor
	show   func(level, text string) // sends to the client

	mu      sync.Mutex
	greeted bool
	early   [][2]string
	shown   map[string]bool
}

func newNotices(
	log *slog.Logger,
	redact *policy.Redactor,
	show func(level, text string),
) *notices {
	return &notices{log: log, redact: redact, show: show, shown: map[string]bool{}}
}

// send shows a notice that belongs to no session. The server must not send anything to the client
// before it answers initialize, so notices wait until the first turn starts.
func (n *notices) send(level, text string) {
	text = n.redact.Text(text)
	n.log.Warn(text, "level", level)
	n.mu.Lock()
	early := !n.greeted
	if early {
		n.early = append(n.early, [2]string{level, text})
	}
	n.mu.Unlock()
	if !early {
		n.show(level, text)
	}
}

// flush shows the waiting notices in a session whose turn is about to start.
func (n *notices) flush(info host.SessionInfo) {
	n.mu.Lock()
	early := n.early
	n.early, n.greeted = nil, true
	n.mu.Unlock()
	for _, e := range early {
		info.Notice(e[0], e[1])
	}
}

// once shows the warnings that no session has shown yet.
func (n *notices) once(info host.SessionInfo, warnings []string) {
	for _, w := range warnings {
		n.mu.Lock()
		shown := n.shown[w]
		n.shown[w] = true
		n.mu.Unlock()
		if !shown {
			info.Notice("warning", w)
		}
	}
}

package session

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// passageContext is how many bytes a passage shows on each side of what was found.
const passageContext = 400

// Passages returns stretches of the session's own messages that hold text, newest first: also
// of those that a compaction took out of the model's sight.
func (s *Session) Passages(ctx context.Context, text string, limit int) ([]string, error) {
	s.mu.Lock()
	path := s.log.path()
	in := &itemReader{nodes: s.log.nodes[:len(s.log.nodes):len(s.log.nodes)]}
	s.mu.Unlock()
	f, err := os.Open(s.lib.logPath(s.id))
	if err != nil {
		return nil, fmt.Errorf("searching session %s: %w", s.id, err)
	}
	defer f.Close()
	in.file = f
	needle := foldedJSON(text)
	var found []string
	for i := len(path) - 1; i >= 0 && len(found) < limit; i-- {
		if err := ctx.Err(); err != nil {
			return found, err
		}
		n := in.nodes[path[i]]
		raw, err := in.raw(n.off, n.n)
		if err != nil || !bytes.Contains(bytes.ToLower(raw), needle) {
			continue
		}
		rec, err := in.record(n.off, n.n)
		if err != nil || rec.Message == nil || rec.Message.Hidden {
			continue
		}
		if p := passage(rec.Message, text); p != "" {
			found = append(found, p)
		}
	}
	return found, nil
}

// passage returns the place of a text in a message with what stands around it.
func passage(m *message.Message, text string) string {
	full := m.TextContent()
	at := strings.Index(strings.ToLower(full), strings.ToLower(text))
	if at < 0 || at > len(full) {
		return ""
	}
	from, to := max(at-passageContext, 0), min(at+len(text)+passageContext, len(full))
	who := string(m.Role)
	if m.Name != "" {
		who += " " + m.Name
	}
	return fmt.Sprintf("[%s, %s] %s", who, m.Time.Format("2006-01-02 15:04"), strings.ToValidUTF8(full[from:to], ""))
}

package session

import (
	"bufio"
	"bytes"
	"os"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// matches reports whether a session's title or one of its messages contains text.
func (l *Library) matches(e Entry, text string) bool {
	if containsFold(e.Title, text) {
		return true
	}
	f, err := os.Open(l.logPath(e.ID))
	if err != nil {
		return false
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || l.tooLarge(info.Size()) {
		return false
	}
	needle := foldedJSON(text)
	r := bufio.NewReaderSize(f, 64<<10)
	for {
		line, _, err := readLine(r)
		if err != nil {
			return false
		}
		if bytes.Contains(bytes.ToLower(line), needle) && messageHolds(line, text) {
			return true
		}
	}
}

// foldedJSON returns text as it is encoded in a line of JSON, in lower case. A line that does not
// contain it need not be decoded.
func foldedJSON(text string) []byte {
	b, err := marshal(text)
	if err != nil {
		return nil
	}
	return bytes.ToLower(b[1 : len(b)-1])
}

// messageHolds reports whether line is a message that is not hidden and contains text outside its
// reasoning.
func messageHolds(line []byte, text string) bool {
	var rec agent.Record
	if decode(line, &rec) != nil || rec.Type != agent.RecordMessage || rec.Message == nil ||
		rec.Message.Hidden {
		return false
	}
	for i := range rec.Message.Content {
		b := &rec.Message.Content[i]
		if b.Type != message.Reasoning && containsFold(b.Text, text) {
			return true
		}
	}
	return false
}

func containsFold(s, sub string) bool {
	return strings.Contains(strings.ToLower(s), strings.ToLower(sub))
}

package toolcall

import (
	"cmp"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// DefaultMaxResult limits the bytes of a tool result that the model gets.
const DefaultMaxResult = 50 << 10

// Limit shortens the text of r if it is too long for the model. The limit is the argument own if it
// is not 0, otherwise the argument general if it is not 0, and otherwise DefaultMaxResult. A
// negative limit means no limit. spill stores the whole text and returns the path at which a tool
// can read it. If spill is nil, the rest is lost.
func Limit(r *tool.Result, own, general int, spill func(text string) (path string, err error)) {
	limit := cmp.Or(own, general, DefaultMaxResult)
	if limit < 0 || len(r.Text) <= limit {
		return
	}
	where := ""
	if r.Meta.Spill == "" && spill != nil {
		if path, err := spill(r.Text); err == nil {
			r.Meta.Spill = path
		}
	}
	if r.Meta.Spill != "" {
		where = "; the full text is in " + r.Meta.Spill
	}
	r.Text = HeadTail(r.Text, limit, where)
}

// HeadTail shortens text to about limit bytes, half from its beginning and half from its end. It
// cuts at a nearby line break if there is one, and never within a rune. The note between the two
// parts ends with the last argument, which describes the location of the whole text.
func HeadTail(text string, limit int, where string) string {
	if len(text) <= limit {
		return text
	}
	head, tail := text[:limit/2], text[len(text)-limit/2:]
	if i := strings.LastIndexByte(head, '\n'); i > len(head)/2 {
		head = head[:i+1]
	}
	if i := strings.IndexByte(tail, '\n'); i >= 0 && i < len(tail)/2 {
		tail = tail[i+1:]
	}
	head, tail = trimBroken(head), strings.TrimLeftFunc(tail,
		func(r rune) bool { return r == utf8.RuneError })
	return fmt.Sprintf("%s\n... (truncated: %d of %d bytes omitted%s) ...\n%s", head,
		len(text)-len(head)-len(tail), len(text), where, tail)
}

// trimBroken cuts an incomplete rune off the end.
func trimBroken(s string) string {
	for i := 0; i < utf8.UTFMax && len(s) > 0; i++ {
		if r, n := utf8.DecodeLastRuneInString(s); r != utf8.RuneError || n > 1 {
			break
		}
		s = s[:len(s)-1]
	}
	return s
}

package editor

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/conn"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// aiComment is a comment addressed to the agent. Its text begins or ends with AI! (an instruction)
// or AI? (a question).
type aiComment struct {
	line     uint32
	text     string
	question bool
}

// commentText matches the text of a comment. This is the text after a comment marker, or a line of
// prose that begins with AI! or AI?.
var commentText = lazyregexp.New(
	`(?:^|\s)(?://+|#+|--+|;+|%+|/?\*+|<!--|"|')\s*(\S.*)$|^\s*((?i:AI[!?]).*)$`,
)

var aiMark = lazyregexp.New(`^(?i:AI([!?]))(?:[\s:]|$)|(?:^|\s)(?i:AI([!?]))$`)

// maxComments limits how many comments of one document are used.
const maxComments = 50

// aiComments finds the comments in text and returns those that are addressed to the agent.
func aiComments(text string) (out []aiComment) {
	if !strings.Contains(text, "!") && !strings.Contains(text, "?") {
		return nil
	}
	n := uint32(0)
	for line := range strings.Lines(text) {
		if c, ok := aiCommentOf(strings.TrimSpace(line)); ok && len(out) < maxComments {
			c.line = n
			out = append(out, c)
		}
		n++
	}
	return out
}

func aiCommentOf(line string) (aiComment, bool) {
	if upper := strings.ToUpper(line); !strings.Contains(upper, "AI!") &&
		!strings.Contains(upper, "AI?") {
		return aiComment{}, false
	}
	m := commentText().FindStringSubmatch(line)
	if m == nil {
		return aiComment{}, false
	}
	text := m[1] + m[2]
	for _, end := range []string{"*/", "-->"} {
		text = strings.TrimSpace(strings.TrimSuffix(text, end))
	}
	mark := aiMark().FindStringSubmatch(text)
	if mark == nil {
		return aiComment{}, false
	}
	return aiComment{text: line, question: mark[1]+mark[2] == "?"}, true
}

func (c aiComment) span() workspace.Range {
	return workspace.Range{
		Start: workspace.Position{Line: c.line},
		End:   workspace.Position{Line: c.line + 1},
	}
}

// within returns the comments on the lines of a range.
func within(comments []aiComment, span workspace.Range) (out []aiComment) {
	for _, c := range comments {
		if c.line >= span.Start.Line && c.line <= span.End.Line {
			out = append(out, c)
		}
	}
	return out
}

// commentPrompt returns the prompt for a list of comments.
func commentPrompt(comments []aiComment) string {
	var do, answer []string
	for _, c := range comments {
		line := fmt.Sprintf("line %d: %s", c.line+1, c.text)
		if c.question {
			answer = append(answer, line)
		} else {
			do = append(do, line)
		}
	}
	var parts []string
	if len(do) > 0 {
		parts = append(
			parts,
			"Follow the instructions in the comments marked AI!, then remove these comments:\n"+strings.Join(
				do,
				"\n",
			),
		)
	}
	if len(answer) > 0 {
		parts = append(
			parts,
			"Answer the comments marked AI? without changing any files:\n"+strings.Join(
				answer,
				"\n",
			),
		)
	}
	return strings.Join(parts, "\n\n")
}

// commentActions offers actions for the comments in a range. If the document contains more
// comments, it also offers one action for all of them.
func (s *Features) commentActions(p *DocumentParams) (out []codeAction) {
	text, _, ok := s.core.Workspace.TextAt(p.TextDocument.URI, nil)
	if !ok || s.api.IsSecret(p.TextDocument.URI) {
		return nil
	}
	all := aiComments(text)
	here := within(all, p.Range)
	for _, c := range here {
		title := "Agent: follow this comment"
		if c.question {
			title = "Agent: answer this comment"
		}
		out = append(
			out,
			codeAction{
				Title:   title,
				Kind:    "quickfix",
				Command: promptAbout(p, title, commentPrompt([]aiComment{c}), c.span()),
			},
		)
	}
	if len(all) > 1 && len(here) > 0 {
		title := fmt.Sprintf("Agent: follow all %d AI comments in this file", len(all))
		whole := workspace.Range{
			Start: workspace.Position{Line: all[0].line},
			End:   workspace.Position{Line: all[len(all)-1].line + 1},
		}
		out = append(
			out,
			codeAction{
				Title:   title,
				Kind:    "quickfix",
				Command: promptAbout(p, title, commentPrompt(all), whole),
			},
		)
	}
	return out
}

// saved records, for each document, the comments for which a save has already sent a prompt.
type saved struct {
	mu       sync.Mutex
	reported map[string]map[string]bool
}

// fresh returns the comments that are new since the last save, and records all comments.
func (t *saved) fresh(uri string, comments []aiComment) (out []aiComment) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := map[string]bool{}
	for _, c := range comments {
		if !t.reported[uri][c.text] && !now[c.text] {
			out = append(out, c)
		}
		now[c.text] = true
	}
	t.reported[uri] = now
	return out
}

// savedComments sends a prompt for the comments of a saved document if the settings require that.
// It returns immediately.
func (s *Features) savedComments(uri string) {
	text, _, ok := s.core.Workspace.TextAt(uri, nil)
	if !ok || s.commentsOn() != "save" || s.api.IsSecret(uri) {
		return
	}
	comments := s.saved.fresh(uri, aiComments(text))
	if len(comments) == 0 {
		return
	}
	turn := s.link.Queue.Take()
	s.link.Go("prompting with a comment", func() {
		turn.Enter()
		defer turn.Leave()
		p := &wire.PromptParams{
			Prompt:  textPrompt(commentPrompt(comments)),
			Context: &wire.PromptContext{URI: uri},
		}
		_, err := agentapi.Turns{API: s.api}.Prompt(s.link.Context(), p)
		if err != nil {
			s.link.Message(conn.MessageError, "agent-lsp: "+agentapi.WireError(err).Error())
		}
	})
}

// commentsOn returns the effective value of the setting aiComments.
func (s *Features) commentsOn() string {
	if l := s.api.Loaded(s.api.Current()); l != nil {
		return l.Config().AIComments
	}
	config, _, err := s.core.Settings.Session(nil)
	if err != nil {
		return ""
	}
	return config.AIComments
}

// impliedPrompt returns the prompt for agent.prompt or agent.steer without text. It consists of the
// AI comments of the range or of the document, or else the selected text.
func (s *Features) impliedPrompt(
	ctx context.Context,
	uri string,
	span *workspace.Range,
) (string, error) {
	if uri != "" && s.api.IsSecret(uri) {
		return "", agentapi.Invalid("text", "is missing; the text of a file that usually contains "+
			"secrets is sent only with a prompt of your own, after a question")
	}
	text, _, ok := s.core.Workspace.TextAt(uri, nil)
	if ok {
		all := aiComments(text)
		if span != nil && len(within(all, *span)) > 0 {
			all = within(all, *span)
		}
		if len(all) > 0 {
			return commentPrompt(all), nil
		}
	}
	if ok && span != nil {
		if text, _, _ = s.core.Workspace.TextAt(uri, span); strings.TrimSpace(text) != "" {
			return text, nil
		}
	}
	return "", agentapi.Invalid(
		"text",
		"is missing; send one, select text, or write a comment that ends in AI!",
	)
}

package app

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/clip"
	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

const (
	// titleTimeout is the time limit of the request for a title.
	titleTimeout = time.Minute
	// titleSource is the maximum number of bytes of the prompt, and of the answer, that the model
	// receives.
	titleSource = 4000
	// titlePrompt is the system prompt of the request.
	titlePrompt = "Write a title for the conversation below, in its language: at most six words, " +
		"without quotation marks and without a full stop. Reply with the title only. Do not answer " +
		"the conversation."
)

// titles requests titles for sessions, in the background, from the model in the setting titleModel.
// A failure is only logged. titles is safe for concurrent use.
type titles struct {
	d    *daemon
	ctx  context.Context
	stop context.CancelFunc

	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup
}

func newTitles(d *daemon) *titles {
	t := &titles{d: d}
	t.ctx, t.stop = context.WithCancel(context.Background())
	return t
}

// watch starts the request after the first turn of a session. It is called while the end of the
// turn is delivered, so it must not block.
func (t *titles) watch(id string, e agent.Event) {
	if _, ended := e.(agent.TurnCompleted); !ended {
		return
	}
	p := t.d.sessions.get(id)
	if p == nil || p.user != "" || !p.titleDue.CompareAndSwap(true, false) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.running.Go(func() { t.name(p) })
	}
}

// close cancels the running requests and waits for them to end.
func (t *titles) close() {
	t.mu.Lock()
	t.closed = true
	t.mu.Unlock()
	t.stop()
	t.running.Wait()
}

// name sets a session's title, unless the user has set one.
func (t *titles) name(p *sessionParts) {
	c := p.info.Config()
	if c.TitleModel == "" || p.info.Store.Entry().Titled {
		return
	}
	s := t.d.host.Loaded(p.info.ID)
	if s == nil {
		return
	}
	title, err := t.ask(p, s.Engine.Messages())
	if err == nil {
		var named bool
		if named, err = p.info.Store.SuggestTitle(title); named {
			s.Engine.UpdateTitle(func() string { return p.info.Store.Entry().Title })
		}
	}
	if err != nil && t.ctx.Err() == nil {
		t.d.log.Warn("requesting a session title: " + t.d.redact.Text(err.Error()))
	}
}

// ask requests a title, without tools. The result of the request does not affect the provider's
// circuit breaker.
func (t *titles) ask(p *sessionParts, history []*message.Message) (string, error) {
	ctx, cancel := context.WithTimeout(t.ctx, titleTimeout)
	defer cancel()
	c := p.info.Config()
	c = c.WithModel(c.TitleModel)
	r, err := t.d.providers.refer(ctx, &c, c.Model)
	if err == nil {
		err = t.d.providers.mayPrompt(r.at)
	}
	if err != nil {
		return "", err
	}
	source := titleText(history)
	if source == "" {
		return "", errors.New("the conversation has no text")
	}
	reply, err := t.d.providers.model(r.at, &c, r.id).Generate(ctx, &agent.Request{
		System:   []agent.SystemBlock{{Text: titlePrompt}},
		Messages: []*message.Message{message.NewText(message.RoleUser, source)},
		Thinking: agent.Thinking{Level: "off"},
	}, func(agent.Delta) {})
	if err != nil {
		return "", err
	}
	title := cleanTitle(t.d.redact.Text(reply.Message.TextContent()))
	if title == "" {
		return "", errors.New(c.Model + " replied with no title")
	}
	return title, nil
}

// titleText returns the beginning of the first prompt and of the last answer.
func titleText(history []*message.Message) string {
	var prompt, answer string
	for _, m := range history {
		switch {
		case m.Role == message.RoleUser && prompt == "" && !m.Hidden && m.App == "":
			prompt = m.ShownText()
		case m.Role == message.RoleAssistant && m.TextContent() != "":
			answer = m.TextContent()
		}
	}
	if prompt = strings.TrimSpace(prompt); prompt == "" {
		return ""
	}
	text := "User: " + clip.Bytes(prompt, titleSource)
	if answer != "" {
		text += "\n\nAssistant: " + clip.Bytes(answer, titleSource)
	}
	return text
}

var (
	// thought matches the reasoning that some local models write into their reply.
	thought = lazyregexp.New(`(?s)<think>.*?(</think>|$)`)
	// titleLabel matches a label that models write before a title.
	titleLabel = lazyregexp.New(`(?i)^\W*title\W*:\s*`)
)

// cleanTitle returns the first line of a reply without decoration and limits its length.
func cleanTitle(reply string) string {
	reply = strings.TrimSpace(thought().ReplaceAllString(reply, ""))
	line, _, _ := strings.Cut(reply, "\n")
	line = titleLabel().ReplaceAllString(line, "")
	line = strings.Trim(strings.Join(strings.Fields(line), " "), "\"'`*#“”„«» ")
	return session.ShortTitle(strings.TrimSuffix(line, "."))
}

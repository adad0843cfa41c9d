package app

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
)

const (
	// maxKept is the maximum number of attachment texts that a session keeps while the user is
	// being asked about them. If there are more, agent-lsp drops the oldest texts and later reads
	// those files again.
	maxKept = 64
	// untilAnswered is longer than the user will ever take to answer.
	untilAnswered = 10 * 365 * 24 * time.Hour
)

// keptText is the text of a secret file that a client attached.
type keptText struct {
	block  message.Block
	secret []string // the secret files to which the attachment's URI referred
}

// keptTexts stores the texts of attached secret files until the user has answered. The zero value
// is ready to use. It is safe for concurrent use.
type keptTexts struct {
	mu   sync.Mutex
	list []keptText
}

func (k *keptTexts) put(t keptText) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = append(k.list, t)
	k.list = k.list[max(0, len(k.list)-maxKept):]
}

// index returns the index of the text of an attachment, or -1. The caller must hold mu.
func (k *keptTexts) index(b message.Block) int {
	return slices.IndexFunc(k.list, func(t keptText) bool {
		same := t.block.Range == b.Range
		if t.block.Range != nil && b.Range != nil {
			same = *t.block.Range == *b.Range
		}
		return same && t.block.URI == b.URI
	})
}

// get returns the stored text of an attachment, or nil if there is none.
func (k *keptTexts) get(b message.Block) *keptText {
	k.mu.Lock()
	defer k.mu.Unlock()
	if i := k.index(b); i >= 0 {
		t := k.list[i]
		return &t
	}
	return nil
}

func (k *keptTexts) drop(b message.Block) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if i := k.index(b); i >= 0 {
		k.list = slices.Delete(k.list, i, i+1)
	}
}

// secretFiles implements agentapi.Secrets for a connection.
type secretFiles struct{ d *daemon }

var _ agentapi.Secrets = secretFiles{}

// Secret implements agentapi.Secrets.
func (s secretFiles) Secret(path string) bool { return s.d.secret(path) }

// Withhold implements agentapi.Secrets.
func (s secretFiles) Withhold(sessionID string, b message.Block, files []string) {
	if p := s.d.sessions.get(sessionID); p != nil {
		p.kept.put(keptText{b, files})
	}
}

// Forbidden implements agentapi.Secrets.
func (s secretFiles) Forbidden(sessionID, path string) bool {
	return s.d.policy.Withholds(sessionID, "read", "", path)
}

// attachments is the hook that asks the user before a secret file that is attached to a message is
// sent to the model. It runs after all other hooks. If another hook withholds the message, none of
// its attachments is sent.
type attachments struct {
	p     *sessionParts
	kept  *keptTexts
	files agentapi.Attachments
}

// attachments returns the hook of a session. A message to a sub-agent uses the attachments of the
// user's session.
func (p *sessionParts) attachments() *attachments {
	a := &attachments{p, &p.kept, agentapi.Attachments{
		Workspace: p.d.workspace, Secret: p.d.secret,
	}}
	if owner := p.d.sessions.get(p.owner()); owner != nil {
		a.kept = &owner.kept
	}
	return a
}

// HookName implements agent.Hook.
func (a *attachments) HookName() string { return "attachments" }

// HookTimeout implements agent.TimeoutHook. The user may take any amount of time to answer.
func (a *attachments) HookTimeout() time.Duration { return untilAnswered }

// BeforePrompt implements agent.PromptHook. It returns the text of the attachments that the user
// allowed, and a note for each attachment that is not sent.
func (a *attachments) BeforePrompt(
	ctx context.Context,
	turnID string,
	m *message.Message,
) (string, error) {
	var texts []string
	for _, b := range m.Content {
		if !agentapi.Withheld(b) {
			continue
		}
		text, err := a.decide(ctx, turnID, b)
		if err != nil {
			return "", err
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "\n\n"), nil
}

// decide asks about one attachment and returns the text for the model. The question covers the
// files that the URI refers to at that moment. No other secret file is sent, even if a link
// changes.
func (a *attachments) decide(ctx context.Context, turnID string, b message.Block) (string, error) {
	secret := a.files.Secrets(a.p.info.Cwd, b.URI)
	kept := a.kept.get(b)
	if kept != nil && !slices.Equal(kept.secret, secret) {
		return a.refused(b, "it has changed since it was attached"), nil
	}
	d, err := a.p.d.policy.Approve(ctx, tool.ApprovalRequest{
		SessionID: a.p.info.ID, TurnID: turnID, Cwd: a.p.info.Cwd,
		Tool: tool.Spec{Name: "read"}, Effect: tool.ReadOnly,
		Subject: &tool.Subject{
			Kind: tool.SubjectRead, Title: "Send " + a.name(b) + " to the model", Paths: secret,
		},
	})
	switch {
	case err != nil:
		return "", err
	case !d.Allow:
		return a.refused(b, d.Reason), nil
	case kept != nil:
		b.Text = kept.block.Text
	default:
		text, ok := a.files.Text(ctx, a.p.info.ID, a.p.info.Cwd, b, secret)
		if !ok {
			return a.refused(b, "it changed while the question was open"), nil
		}
		b.Text = text
	}
	a.kept.drop(b)
	return "The user allowed this attachment. " + modelhttp.ResourceText(&b), nil
}

// refused notifies the user that an attachment was not sent. It returns the corresponding note for
// the model.
func (a *attachments) refused(b message.Block, why string) string {
	a.kept.drop(b)
	name := a.name(b)
	a.p.info.Notice("warning", fmt.Sprintf("%s was not sent to the model: %s", name, why))
	return fmt.Sprintf("The content of %s is not attached: %s", name, why)
}

// name returns the attachment's name for the user and the model.
func (a *attachments) name(b message.Block) string {
	if ref, err := a.p.d.workspace.Resolve(a.p.info.Cwd, b.URI); err == nil {
		return ref.String()
	}
	return b.URI
}

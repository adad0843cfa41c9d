package agentapi

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/internal/workspace/text"
)

// maxAttached is the maximum number of bytes of one attached resource that become part of a prompt.
// The model can read the rest with its tools.
const maxAttached = 256 << 10

// withheld replaces the text of an attachment until the user has allowed sending it.
const withheld = "(The content is not included because this file usually contains secrets. " +
	"A later message includes it if the user allows this.)"

// unsent replaces the text of a secret file in a message that is not stored. The user is not asked
// about such a message.
const unsent = "(The content is not included because this file usually contains secrets, and a message " +
	"that is not stored cannot ask the user about it.)"

// Withheld reports whether a block is an attachment that the user must allow first.
func Withheld(b message.Block) bool {
	return b.Type == message.Resource && strings.HasPrefix(b.Text, withheld)
}

// Attachments reads the resources that messages attach.
type Attachments struct {
	Workspace *workspace.Workspace
	Secret    func(path string) bool // nil means that no file is secret
}

// Secrets returns the secret files that the URI or name of an attachment may refer to. This
// includes links with the name of a secret file.
func (a Attachments) Secrets(cwd, name string) (secret []string) {
	if a.Secret == nil {
		return nil
	}
	for _, path := range a.readings(cwd, name) {
		real, err := filepath.EvalSymlinks(path)
		if err == nil && a.Secret(real) {
			path = real
		} else if !a.Secret(path) {
			continue
		}
		if !slices.Contains(secret, path) {
			secret = append(secret, path)
		}
	}
	return secret
}

// readings returns the absolute paths that a name may refer to for a client or the workspace. If
// one were missing, a secret file could be sent without a question.
func (a Attachments) readings(cwd, name string) (out []string) {
	var paths []string
	if ref, err := a.Workspace.Resolve(cwd, name); err == nil {
		paths = append(paths, ref.Path)
	}
	if path, err := workspace.PathOfURI(name); err == nil {
		paths = append(paths, path)
	}
	if u, err := url.Parse(name); err != nil {
		paths = append(paths, name)
	} else {
		opaque, _ := url.PathUnescape(u.Opaque)
		paths = append(paths, u.Path, opaque)
	}
	for _, path := range paths {
		if path == "" || strings.IndexByte(path, 0) >= 0 {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(cwd, path)
		}
		out = append(out, filepath.Clean(path))
	}
	return out
}

// Text returns the content of an attachment as the user sees it. This is the text in the editor's
// buffer or, if the file is not open, the text on disk. If there is no content, it returns the
// reason. ok is false if the text comes from a secret file that is not in allowed. Text records
// that the session sessionID has read the file.
func (a Attachments) Text(
	ctx context.Context,
	sessionID, cwd string,
	b message.Block,
	allowed []string,
) (content string, ok bool) {
	r := workspaceRange(b.Range)
	ref, err := a.Workspace.Resolve(cwd, b.URI)
	if err != nil { // a client may attach an open file from any folder
		if text, _, ok := a.Workspace.TextAt(b.URI, r); ok {
			return bounded(text), true
		}
		return fmt.Sprintf("(not attached: %v)", err), true
	}
	f, err := a.Workspace.Read(ctx, ref)
	if err != nil {
		return fmt.Sprintf("(not attached: %v)", err), true
	}
	// The path is checked after the read, because the file that it names may have changed in the
	// meantime.
	if a.Secret != nil && a.Secret(ref.Path) && !slices.Contains(allowed, ref.Path) {
		return "", false
	}
	// An attached file is recorded as read, so an edit need not read it again.
	a.Workspace.Stamp(sessionID, f, r == nil && len(f.Text.Data) <= maxAttached)
	if r == nil {
		return bounded(string(f.Text.Data)), true
	}
	body := f.Text.Data
	x, enc := text.NewLineIndex(body), a.Workspace.Encoding()
	from, to := x.Offset(body, r.Start, enc), x.Offset(body, r.End, enc)
	return bounded(string(body[min(from, to):max(from, to)])), true
}

func bounded(text string) string {
	if len(text) <= maxAttached {
		return text
	}
	return strings.ToValidUTF8(
		text[:maxAttached],
		"",
	) + "\n(cut: the file is longer; read it with a tool)"
}

func workspaceRange(r *message.Range) *workspace.Range {
	if r == nil {
		return nil
	}
	return &workspace.Range{Start: workspace.Position(r.Start), End: workspace.Position(r.End)}
}

// attach adds the text that the user sees to resources without text. It withholds secret files,
// even if the client sent their content. The turn asks the user about them, unless the message is
// sent once and not stored.
func (a *API) attach(
	ctx context.Context,
	l *host.Session,
	blocks []message.Block,
	once bool,
) []message.Block {
	for i, b := range blocks {
		switch b.Type {
		case message.Resource:
			blocks[i] = a.attachOne(ctx, l, b, once)
		case message.File:
			b.URI = cmp.Or(b.URI, b.Name)
			for _, name := range []string{b.URI, b.Name} {
				if secret := a.attachments().Secrets(l.Cwd, name); len(secret) > 0 {
					b.URI = name
					blocks[i] = a.withhold(l, asResource(b), secret, once)
					break
				}
			}
		}
	}
	return blocks
}

// asResource converts a file that the client sent to a resource with the file's text.
func asResource(b message.Block) message.Block {
	text := "(not attached: the file is not text)"
	if utf8.Valid(b.Data) {
		text = string(b.Data)
	}
	return message.Block{Type: message.Resource, URI: b.URI, Text: text}
}

func (a *API) attachOne(
	ctx context.Context,
	l *host.Session,
	b message.Block,
	once bool,
) message.Block {
	at := a.attachments()
	if secret := at.Secrets(l.Cwd, b.URI); len(secret) > 0 {
		return a.withhold(l, b, secret, once)
	}
	if b.Text != "" {
		return b
	}
	text, ok := at.Text(ctx, l.ID, l.Cwd, b, nil)
	if !ok {
		return a.withhold(l, b, nil, once)
	}
	b.Text = text
	return b
}

// IsSecret reports whether a document is a secret file or a link to one. Its text must not become
// part of a prompt. If the prompt attaches it, the user is asked.
func (a *API) IsSecret(uri string) bool { return len(a.attachments().Secrets("", uri)) > 0 }

func (a *API) attachments() Attachments {
	at := Attachments{Workspace: a.Core().Workspace}
	if s := a.Core().Secrets; s != nil {
		at.Secret = s.Secret
	}
	return at
}

// withhold replaces the text of an attachment. If the user is asked, the text that the client sent
// is kept until the answer arrives.
func (a *API) withhold(
	l *host.Session,
	b message.Block,
	secret []string,
	once bool,
) message.Block {
	if once {
		b.Text = unsent
		return b
	}
	if b.Text = bounded(b.Text); b.Text != "" {
		a.Core().Secrets.Withhold(l.ID, b, secret)
	}
	b.Text = withheld
	return b
}

// noteUnsent notifies the user of the secret files that were not sent with a message that is not
// stored.
func (a *API) noteUnsent(l *host.Session, blocks []message.Block) {
	for _, b := range blocks {
		if b.Type != message.Resource || b.Text != unsent {
			continue
		}
		name := b.URI
		if ref, err := a.Core().Workspace.Resolve(l.Cwd, b.URI); err == nil {
			name = ref.String()
		}
		l.Engine.Notice("warning", name+" was not sent to the model: it usually contains secrets, and "+
			"agent-lsp cannot ask about files in a message that is not stored; attach it to a prompt")
	}
}

// forbidden reports whether a rule about reading applies to the file in the editor. Clients send
// the selection and the diagnostics of each file.
func (a *API) forbidden(l *host.Session, uri string) bool {
	rules := a.Core().Secrets
	if rules == nil {
		return false
	}
	return slices.ContainsFunc(a.attachments().readings(l.Cwd, uri), func(path string) bool {
		real, err := filepath.EvalSymlinks(path)
		return rules.Forbidden(l.ID, path) || err == nil && rules.Forbidden(l.ID, real)
	})
}

// contextBlocks describes what the user sees in the editor: the file, the selection and the
// diagnostics.
func (a *API) contextBlocks(
	ctx context.Context,
	l *host.Session,
	c *wire.PromptContext,
) []message.Block {
	if c == nil || c.URI == "" {
		return nil
	}
	b := message.Block{Type: message.Resource, URI: c.URI, Range: rangeFrom(c.Selection)}
	if a.forbidden(l, c.URI) {
		b.Text = "(open in the editor; a rule does not allow the agent to read this file)"
		return []message.Block{b}
	}
	if c.Selection != nil && c.Selection.Start != c.Selection.End {
		b = a.attachOne(ctx, l, b, false)
	} else {
		b.Text = "(open in the editor)"
	}
	if len(a.attachments().Secrets(l.Cwd, c.URI)) > 0 {
		return []message.Block{b} // a diagnostic often quotes the text
	}
	for i, d := range c.Diagnostics {
		if i == 0 {
			b.Text += "\n\nDiagnostics here:"
		}
		b.Text += fmt.Sprintf("\nline %d: %s", d.Range.Start.Line+1, d.Message)
		if d.Source != "" {
			b.Text += " (" + d.Source + ")"
		}
	}
	return []message.Block{b}
}

package editor

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/conn"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// maxReply limits how much of a reply's text is read.
const maxReply = 64 << 10

// Peer represents the client for the other components. Its methods may be called from any
// goroutine. Methods that send a request return when the client has answered or ctx has ended. If
// ctx ends first, they send $/cancelRequest. No method blocks the reading goroutine.
type Peer struct {
	link *conn.Link
	api  *agentapi.API

	mu      sync.Mutex
	pending map[string]*asking // questions for the user, by request ID
	order   []string
	waiting map[chan struct{}]bool // each is closed at the next response to workspace/applyEdit
}

var _ host.Editor = (*Peer)(nil)

// NewPeer returns the peer of a connection.
func NewPeer(link *conn.Link, api *agentapi.API) *Peer {
	return &Peer{
		link: link, api: api,
		pending: map[string]*asking{}, waiting: map[chan struct{}]bool{},
	}
}

// Features returns the features of workspace/applyEdit that the client supports.
func (p *Peer) Features() workspace.ClientFeatures { return p.link.Client.Features }

// ApplyEdit asks the editor to change its buffers.
func (p *Peer) ApplyEdit(
	ctx context.Context,
	label string,
	e workspace.WorkspaceEdit,
) (workspace.ApplyReply, error) {
	var reply struct {
		Applied       bool   `json:"applied"`
		FailureReason string `json:"failureReason"`
	}
	params := map[string]any{"label": label, "edit": editTo(e, p.link.Client.Features)}
	err := p.link.Call(ctx, conn.MethodApplyEdit, params, &reply)
	p.tellApplied()
	if err != nil {
		return workspace.ApplyReply{}, err
	}
	return workspace.ApplyReply{Applied: reply.Applied, FailureReason: reply.FailureReason}, nil
}

// applied returns a channel that is closed when the editor answers the next edit. forget releases
// the channel.
func (p *Peer) applied() (done <-chan struct{}, forget func()) {
	ch := make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting[ch] = true
	return ch, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.waiting, ch)
	}
}

func (p *Peer) tellApplied() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ch := range p.waiting {
		close(ch)
	}
	clear(p.waiting)
}

// editTo encodes an edit as documentChanges, or as changes for a client that supports nothing else.
func editTo(e workspace.WorkspaceEdit, f workspace.ClientFeatures) map[string]any {
	if !f.DocumentChanges && len(e.Files) == 0 {
		changes := map[string]any{}
		for _, d := range e.Documents {
			changes[d.URI] = textEditsTo(d.Edits)
		}
		return map[string]any{"changes": changes}
	}
	changes := make([]any, 0, len(e.Files)+len(e.Documents))
	for _, op := range e.Files {
		changes = append(changes, fileOpTo(op))
		if op.Text != "" {
			e.Documents = append(
				e.Documents,
				workspace.DocumentEdit{
					URI:   op.URI,
					Edits: []workspace.TextEdit{{NewText: op.Text}},
				},
			)
		}
	}
	for _, d := range e.Documents {
		changes = append(changes, map[string]any{
			"textDocument": map[string]any{
				"uri":     d.URI,
				"version": d.Version,
			}, "edits": textEditsTo(d.Edits),
		})
	}
	out := map[string]any{"documentChanges": changes}
	if len(e.Annotations) > 0 {
		notes := map[string]any{}
		for id, a := range e.Annotations {
			notes[id] = map[string]any{
				"label":             a.Label,
				"description":       a.Description,
				"needsConfirmation": a.NeedsConfirmation,
			}
		}
		out["changeAnnotations"] = notes
	}
	return out
}

func fileOpTo(op workspace.FileOp) map[string]any {
	out := map[string]any{"kind": string(op.Op)}
	if op.Op == workspace.Rename {
		out["oldUri"], out["newUri"] = op.URI, op.NewURI
	} else {
		out["uri"] = op.URI
	}
	if op.AnnotationID != "" {
		out["annotationId"] = op.AnnotationID
	}
	return out
}

func textEditsTo(edits []workspace.TextEdit) []any {
	out := make([]any, len(edits))
	for i, e := range edits {
		edit := map[string]any{"range": e.Range, "newText": e.NewText}
		if e.AnnotationID != "" {
			edit["annotationId"] = e.AnnotationID
		}
		out[i] = edit
	}
	return out
}

// Query implements host.Editor.
func (p *Peer) Query(ctx context.Context, q host.EditorQuery) (json.RawMessage, error) {
	if !p.link.Client.Claims.Editor.Query {
		return nil, host.ErrUnsupported
	}
	params := wire.EditorQueryParams{Operation: q.Operation, URI: q.URI, Query: q.Query}
	if at := q.Position; at != nil {
		params.Position = &wire.Position{Line: at.Line, Character: at.Character}
	}
	var extra time.Duration
	if s := q.Settle; s != nil {
		params.Settle = &wire.EditorSettle{
			URIs: agentapi.NonNil(s.URIs), TimeoutMs: int(s.Timeout.Milliseconds()),
		}
		extra = s.Timeout // extra time, because the editor itself waits
	}
	var result json.RawMessage
	err := p.link.AskWithin(ctx, extra, wire.MethodEditorQuery, params, &result)
	if conn.MethodMissing(err) {
		return nil, host.ErrUnsupported
	}
	return result, err
}

// Save implements host.Editor.
func (p *Peer) Save(ctx context.Context, uris []string) (failed []string, offered bool, err error) {
	if !p.link.Client.Claims.Editor.Save {
		return nil, false, nil
	}
	var result wire.EditorSaveResult
	params := wire.EditorSaveParams{URIs: agentapi.NonNil(uris)}
	err = p.link.Ask(ctx, wire.MethodEditorSave, params, &result)
	return result.Failed, true, err
}

// reveal shows a location without taking the focus.
func (p *Peer) reveal(ctx context.Context, params wire.EditorRevealParams) (bool, error) {
	if !p.link.Client.Claims.Editor.Reveal {
		return false, host.ErrUnsupported
	}
	var result wire.EditorRevealResult
	err := p.link.Ask(ctx, wire.MethodEditorReveal, params, &result)
	return result.Shown, err
}

// showDiff opens a proposal's diff.
func (p *Peer) showDiff(ctx context.Context, params wire.EditorShowDiffParams) (bool, error) {
	if !p.link.Client.Claims.Editor.ShowDiff {
		return false, host.ErrUnsupported
	}
	var result wire.EditorShowDiffResult
	err := p.link.Ask(ctx, wire.MethodEditorShowDiff, params, &result)
	return result.Opened, err
}

// Open implements host.Editor.
func (p *Peer) Open(ctx context.Context, uri string) error {
	if !p.link.Client.Claims.Editor.Open {
		return nil
	}
	var result wire.EditorOpenResult
	err := p.link.Ask(ctx, wire.MethodEditorOpen, wire.EditorOpenParams{URI: uri}, &result)
	if err == nil {
		return nil
	}
	p.link.Logger.Debug("asking for a document", "uri", uri, "error", err)
	var refused *jsonrpc2.Error
	if errors.As(err, &refused) && refused.Code == wire.CodeRequestFailed {
		return errors.New(refused.Message)
	}
	return nil
}

// Notice implements host.Editor.
func (p *Peer) Notice(level, text string) {
	if l := p.api.Loaded(p.api.Current()); l != nil {
		// A notice may be sent from an event handler of the session, which must not call the
		// engine.
		p.link.Go("showing a notice", func() { l.Engine.Notice(level, text) })
		return
	}
	p.link.Message(conn.MessageType(level), text)
}

// drop removes a pending question.
func (p *Peer) drop(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.pending, id)
	p.order = slices.DeleteFunc(p.order, func(o string) bool { return o == id })
}

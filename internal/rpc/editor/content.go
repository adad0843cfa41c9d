package editor

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/conn"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// The schemes of transcripts and of both sides of a diff. If the client supports
// workspace/textDocumentContent, these are documents with such a URI. Otherwise, they are files in
// the state directory.
const (
	schemeSession  = "agent-session"
	schemeBase     = "agent-base"
	schemeProposed = "agent-proposed"
)

// ContentSchemes lists the schemes of agent-lsp's own documents.
var ContentSchemes = []string{schemeSession, schemeBase, schemeProposed}

// ContentParams are the params of workspace/textDocumentContent.
type ContentParams struct {
	URI string `json:"uri"`
}

// ContentResult is the result of workspace/textDocumentContent.
type ContentResult struct {
	Text string `json:"text"`
}

// contentURI returns the URI of a document: agent-session:/ID.md, agent-proposed:/ID.diff, or
// agent-base:/ID/N/NAME and agent-proposed:/ID/N/NAME for file N of a proposal.
func contentURI(scheme string, parts ...string) string {
	return (&url.URL{Scheme: scheme, OmitHost: true, Path: "/" + strings.Join(parts, "/")}).String()
}

// Content answers workspace/textDocumentContent.
func (s *Features) Content(_ context.Context, p *ContentParams) (ContentResult, error) {
	text, err := s.content(p.URI)
	if err == nil {
		s.views.showing(p.URI)
	}
	return ContentResult{text}, err
}

// content returns the text of one of agent-lsp's own documents.
func (s *Features) content(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil {
		return "", agentapi.Invalid("uri", "%v", err)
	}
	name := strings.TrimPrefix(u.Path+u.Opaque, "/")
	id, rest, _ := strings.Cut(name, "/")
	switch {
	case u.Scheme == schemeSession:
		return s.core.Library.Export(strings.TrimSuffix(id, ".md"), "markdown")
	case u.Scheme == schemeProposed && rest == "":
		_, diff, err := s.core.Workspace.Get(strings.TrimSuffix(id, ".diff"))
		return diff, err
	case u.Scheme == schemeProposed || u.Scheme == schemeBase:
		n, _, _ := strings.Cut(rest, "/")
		return s.side(id, n, u.Scheme == schemeProposed)
	}
	return "", agentapi.Invalid("uri", "%q is not an agent-lsp document", uri)
}

// side returns one side of the diff of file n of a proposal.
func (s *Features) side(proposalID, n string, proposed bool) (string, error) {
	p, _, err := s.core.Workspace.Get(proposalID)
	if err != nil {
		return "", err
	}
	i, err := strconv.Atoi(n)
	if err != nil || i < 0 || i >= len(p.Files) {
		return "", agentapi.Invalid("uri", "the proposal %s has no file %q", proposalID, n)
	}
	before, after, err := s.core.Workspace.Sides(proposalID, p.Files[i].URI)
	switch {
	case err != nil: // a hunk was decided while the editor still showed the diff
		return fmt.Sprintf("(%v)\n", err), nil
	case proposed:
		return string(after), nil
	}
	return string(before), nil
}

// shown is the result of a command that opens a document.
type shown struct {
	URI   string      `json:"uri"`
	Shown bool        `json:"shown"`
	Files []shownFile `json:"files,omitzero"` // the files of a diff
}

// shownFile contains the URIs of both sides of a file's diff, for editors that can compare
// documents.
type shownFile struct {
	URI      string `json:"uri"`
	Base     string `json:"base"`
	Proposed string `json:"proposed"`
}

// show asks the editor to show one of agent-lsp's own documents. The result names the document, so
// that a client that cannot show the document can open it itself.
func (s *Features) show(ctx context.Context, uri string) (shown, error) {
	at, err := s.reachable(uri)
	if err != nil {
		return shown{}, err
	}
	s.views.showing(uri)
	out := shown{URI: at}
	if !s.link.Client.Documents {
		s.link.Message(conn.MessageInfo, "agent-lsp: open "+readable(at))
		return out, nil
	}
	var reply struct {
		Success bool `json:"success"`
	}
	params := map[string]any{"uri": out.URI, "takeFocus": true}
	if err := s.link.Ask(ctx, conn.MethodShowDocument, params, &reply); err == nil {
		out.Shown = reply.Success
	}
	return out, nil
}

// readable converts a URI to the form shown to the user.
func readable(uri string) string {
	if u, err := url.Parse(uri); err == nil && u.Scheme == "file" {
		return filepath.FromSlash(u.Path)
	}
	return uri
}

// reachable returns a document's own URI if the client can request its text, otherwise the URI of a
// file with the text.
func (s *Features) reachable(uri string) (string, error) {
	if s.link.Client.Contents {
		return uri, nil
	}
	return s.writeView(uri)
}

// writeView writes a document to a file in the state directory.
func (s *Features) writeView(uri string) (string, error) {
	if s.core.ViewDir == "" {
		return "", errors.New("this agent-lsp was built without a folder for views")
	}
	text, err := s.content(uri)
	if err != nil {
		return "", err
	}
	name := filepath.Join(s.core.ViewDir, viewName(uri))
	if err := os.MkdirAll(s.core.ViewDir, 0o700); err != nil {
		return "", fmt.Errorf("showing %s: %w", name, err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("showing %s: %w", name, err)
	}
	return agentapi.PathToURI(name), nil
}

// viewName returns the file name of one of agent-lsp's own documents, with the document's
// extension.
func viewName(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return "view.txt"
	}
	name := strings.TrimPrefix(u.Path, "/")
	switch kind := strings.TrimPrefix(u.Scheme, "agent-"); {
	case kind == "session":
		return "transcript-" + name
	case !strings.Contains(name, "/"):
		return "proposal-" + name
	default:
		return "proposal-" + strings.ReplaceAll(
			path.Dir(name),
			"/",
			"-",
		) + "-" + kind + "-" + path.Base(
			name,
		)
	}
}

// showTranscript opens the session as Markdown.
func (s *Features) showTranscript(ctx context.Context, id string) (any, error) {
	return s.show(ctx, contentURI(schemeSession, id+".md"))
}

// showDiff opens the diff of the named proposal, or else of the first one with an undecided hunk.
func (s *Features) showDiff(ctx context.Context, args commandArgs) (any, error) {
	id := args.ProposalID
	if id == "" {
		undecided := s.undecided()
		if id, _ = firstIn(undecided, workspace.HunkPending); id == "" {
			id, _ = firstIn(undecided, workspace.HunkStale)
		}
	}
	if id == "" {
		return nil, errNoHunk
	}
	p, _, err := s.core.Workspace.Get(id)
	if err != nil {
		return nil, err
	}
	out, err := s.openDiff(ctx, p)
	for i, f := range p.Files {
		if err != nil {
			break
		}
		side := shownFile{URI: f.URI}
		at := []string{id, strconv.Itoa(i), path.Base(f.URI)}
		if side.Base, err = s.reachable(contentURI(schemeBase, at...)); err == nil {
			side.Proposed, err = s.reachable(contentURI(schemeProposed, at...))
		}
		out.Files = append(out.Files, side)
	}
	return out, err
}

// openDiff makes the editor's plugin open its own diff view, if it has such a view. Otherwise, it
// shows the unified diff.
func (s *Features) openDiff(ctx context.Context, p workspace.Proposal) (shown, error) {
	if len(p.Files) > 0 {
		opened, err := s.peer.showDiff(
			ctx,
			wire.EditorShowDiffParams{ProposalID: p.ID, URI: p.Files[0].URI},
		)
		if err == nil && opened {
			return shown{URI: p.Files[0].URI, Shown: true}, nil
		}
	}
	return s.show(ctx, contentURI(schemeProposed, p.ID+".diff"))
}

// views keeps agent-lsp's documents in the editor up to date. One goroutine reports the changes and
// ends when no change is left.
type views struct {
	s *Features

	mu      sync.Mutex
	shown   map[string]bool
	dirty   map[string]bool
	running bool
}

// maxViews limits how many documents are kept up to date.
const maxViews = 100

func (v *views) showing(uri string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.shown) < maxViews {
		v.shown[uri] = true
	}
}

// changed marks the shown documents of a session or a proposal. It never blocks.
func (v *views) changed(id string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for uri := range v.shown {
		if strings.Contains(uri, "/"+id+".") || strings.Contains(uri, "/"+id+"/") {
			v.dirty[uri] = true
		}
	}
	if len(v.dirty) > 0 && !v.running {
		v.running = true
		v.s.link.Go("refreshing views", v.refresh)
	}
}

func (v *views) refresh() {
	for {
		v.mu.Lock()
		todo := v.dirty
		v.dirty = map[string]bool{}
		v.running = len(todo) > 0
		v.mu.Unlock()
		if len(todo) == 0 {
			return
		}
		for uri := range todo {
			v.refreshOne(uri)
		}
	}
}

func (v *views) refreshOne(uri string) {
	var err error
	if v.s.link.Client.Contents {
		err = v.s.link.Ask(v.s.link.Context(), conn.MethodRefreshContent, ContentParams{uri}, nil)
	} else {
		_, err = v.s.writeView(uri)
	}
	if err != nil {
		v.s.link.Logger.Debug("refreshing a view", "uri", uri, "error", err)
	}
}

package editor

import (
	"context"

	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/conn"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// Features answers LSP requests about the agent for one client. Its methods may be called from any
// goroutine once Join has returned. The methods named Did... are called in the order of the
// notifications on the wire. They do not block.
type Features struct {
	link  *conn.Link
	api   *agentapi.API
	peer  *Peer
	core  *agentapi.Core // nil before Join
	abort func(context.Context, *wire.AbortParams) (wire.AbortResult, error)

	progress *progress
	hints    *hints
	views    *views
	place    place
	saved    saved
}

// New returns the features of a client. abort implements agent/abort. The command agent.abort calls
// it too.
func New(
	link *conn.Link,
	api *agentapi.API,
	peer *Peer,
	abort func(context.Context, *wire.AbortParams) (wire.AbortResult, error),
) *Features {
	s := &Features{link: link, api: api, peer: peer, abort: abort}
	s.hints = &hints{s: s, shown: map[string]bool{}, dirty: map[string]bool{}}
	s.views = &views{s: s, shown: map[string]bool{}, dirty: map[string]bool{}}
	s.saved.reported = map[string]map[string]bool{}
	s.progress = &progress{s: s, turns: map[string]*turnProgress{}}
	return s
}

// Join sets the core that the features use. It must be called before their other methods. The
// returned functions disconnect the features from the host.
func (s *Features) Join(core *agentapi.Core) (detach []func()) {
	s.core = core
	detach = append(detach, core.Host.Questions().Attach(s.peer))
	detach = append(detach, core.Host.Clients().WatchProposals(func(e workspace.ProposalEvent) {
		s.hints.proposalChanged(e.Proposal)
		s.views.changed(e.Proposal.ID)
	}))
	switch client := &s.link.Client; {
	case !client.Claimed:
		s.hints.enabled, s.hints.refresh = true, client.Lenses
		detach = append(detach, core.Host.Clients().Watch(s.watchPlain))
	case client.Claims.Editor.Reveal:
		detach = append(detach, core.Host.Clients().Watch((&follower{s: s}).watch))
	}
	return detach
}

// DidOpen records that the user has opened a document.
func (s *Features) DidOpen(uri string) {
	s.place.touched(uri)
	s.hints.mark(true, uri) // the document may have hunks from before it was opened
}

// DidChange records that a document has changed. The positions of its hints may have changed.
func (s *Features) DidChange(uri string) {
	s.place.touched(uri)
	s.hints.mark(false, uri)
}

// DidSave sends a prompt for the AI comments of a document if the settings require that.
func (s *Features) DidSave(uri string) { s.savedComments(uri) }

// DidClose forgets a document.
func (s *Features) DidClose(uri string) { s.place.closed(uri) }

// DidRename removes the hints of a document that has been renamed.
func (s *Features) DidRename(uri string) { s.hints.mark(false, uri) }

var _ host.Editor = (*Peer)(nil)

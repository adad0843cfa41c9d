package agentapi

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/host"
	"github.com/agent-lsp/agent-lsp/internal/workspace"

	"go.lsp.dev/uri"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// maxPage is the maximum number of sessions in a page of agent/session/list.
const maxPage = 500

func itoa(n int) string { return strconv.Itoa(n) }

// cwd resolves a session's working directory, a URI or an absolute path.
func (a *API) cwd(given string) (string, error) {
	path := given
	if u, err := uri.Parse(given); given != "" && !filepath.IsAbs(given) && err == nil &&
		u.IsFile() {
		path = u.FsPath()
	}
	if path != "" && !filepath.IsAbs(path) {
		return "", Invalid("cwd", "%q is neither a file URI nor an absolute path", given)
	}
	dir, err := a.Core().Workspace.Cwd(path)
	if err != nil {
		return "", Invalid("cwd", "%v", err)
	}
	return dir, nil
}

// seedMessages checks and converts a history that a client provides.
func seedMessages(seeds []wire.SeedMessage) ([]*message.Message, error) {
	var out []*message.Message
	now := time.Now()
	for i, seed := range seeds {
		at := "messages[" + itoa(i) + "]"
		blocks, err := blocksFrom(at+".content", seed.Content)
		if err != nil {
			return nil, err
		}
		m := &message.Message{
			ID:      newID("msg_"),
			Role:    message.Role(seed.Role),
			Content: blocks,
			Time:    now,
		}
		switch m.Role {
		case message.RoleUser:
			m.Author, m.Source = "user", message.SourcePrompt
		case message.RoleAssistant:
			m.Author, m.Stop = "agent", message.StopEnd
		case message.RoleSystem:
		default:
			return nil, Invalid(at+".role", "%q is not one of user, assistant, system", seed.Role)
		}
		out = append(out, m)
	}
	return out, nil
}

func (a Sessions) New(
	ctx context.Context,
	p *wire.SessionNewParams,
) (wire.SessionNewResult, error) {
	l, err := a.create(ctx, p)
	if err != nil {
		return wire.SessionNewResult{}, err
	}
	a.holdFor(ctx, l.ID)
	return wire.SessionNewResult{SessionID: l.ID, Config: Encode(l.Config())}, nil
}

func (a Sessions) List(
	_ context.Context,
	p *wire.SessionListParams,
) (wire.SessionListResult, error) {
	if p.Limit < 0 {
		return wire.SessionListResult{}, Invalid("limit", "must not be negative")
	}
	entries, next, err := a.Core().Library.List(session.Query{
		Text: p.Query, Archived: p.Archived, Cursor: p.Cursor, Limit: min(p.Limit, maxPage),
	})
	if err != nil {
		return wire.SessionListResult{}, Invalid("cursor", "%v", err)
	}
	out := wire.SessionListResult{Sessions: make([]wire.Session, 0, len(entries)), NextCursor: next}
	for _, e := range entries {
		out.Sessions = append(out.Sessions, a.describe(e))
	}
	return out, nil
}

// describe combines the stored session and, if the session is loaded, its running state into a
// wire.Session.
func (a *API) describe(e session.Entry) wire.Session {
	w := wire.Session{
		SessionID: e.ID, Title: e.Title, Cwd: PathToURI(e.Cwd), CreatedAt: e.CreatedAt,
		UpdatedAt: e.UpdatedAt,
		Status: string(
			agent.SessionIdle,
		), Messages: e.Messages, Usage: usageTo(e.Usage), Archived: e.Archived, Origin: e.Origin,
		Queue: []wire.QueueEntry{},
	}
	l := a.Loaded(e.ID)
	if l == nil {
		return a.describeStored(w, e)
	}
	st := l.Engine.State()
	w.Status, w.Usage = string(st.Status), usageTo(st.Usage)
	w.ContextTokens, w.ContextWindow, w.Queue, w.Pinned = st.ContextTokens, st.ContextWindow,
		queueTo(
			st.Queue,
		), st.Pinned
	w.Config = Encode(l.Config())
	if st.Title != "" {
		w.Title = st.Title
	}
	return w
}

// describeStored adds the settings that would apply to a session that is not loaded.
func (a *API) describeStored(w wire.Session, e session.Entry) wire.Session {
	if e.Paused {
		w.Status = string(agent.SessionPaused)
	}
	config, _, err := a.Core().Settings.Session(e.Config)
	if err != nil { // a stored value may have become invalid; loading reports it
		config, _, _ = a.Core().Settings.Session(nil)
	}
	w.Config = Encode(config)
	return w
}

func PathToURI(path string) string {
	if path == "" {
		return ""
	}
	return string(uri.File(path))
}

// Load attaches to a session. With replay, past events are sent before the response. Live
// notifications are held back until the response is queued.
func (a Sessions) Load(
	ctx context.Context,
	p *wire.SessionLoadParams,
) (wire.SessionLoadResult, error) {
	l, err := a.fresh(ctx, p.SessionID)
	if err != nil {
		return wire.SessionLoadResult{}, err
	}
	a.SetCurrent(l.ID)
	a.holdFor(ctx, l.ID)
	out := wire.SessionLoadResult{
		Session: a.describe(l.Store.Entry()),
		LastSeq: int64(l.Store.Entry().LastSeq),
	}
	if !p.Replay {
		return out, nil
	}
	items, err := l.Store.Items(uint64(max(p.SinceSeq, 0)))
	if err != nil {
		return wire.SessionLoadResult{}, err
	}
	markPinned(items, l.Engine.State().Pinned)
	out.LastSeq = l.Replay(a.opts.Subscriber, items, p.SinceSeq, a.pendingProposals(l.ID))
	if a.opts.AskAgain != nil {
		a.opts.AskAgain(l.ID)
	}
	return out, nil
}

// markPinned sets the pinned flag. Stored items do not have this flag, because it may change.
func markPinned(items []session.Item, pinned []string) {
	for i := range items {
		items[i].Item.Pinned = slices.Contains(pinned, items[i].Item.ID)
	}
}

// pendingProposals returns the session's open proposals with their diffs.
func (a *API) pendingProposals(sessionID string) []workspace.ProposalEvent {
	var out []workspace.ProposalEvent
	for _, p := range a.Core().Workspace.Undecided(sessionID, "") {
		if p, diff, err := a.Core().Workspace.Get(p.ID); err == nil {
			out = append(
				out,
				workspace.ProposalEvent{Kind: workspace.Created, Proposal: p, Diff: diff},
			)
		}
	}
	return out
}

func (a Sessions) Update(
	ctx context.Context,
	p *wire.SessionUpdateParams,
) (wire.SessionUpdateResult, error) {
	l, err := a.writable(ctx, p.SessionID)
	if err != nil {
		return wire.SessionUpdateResult{}, err
	}
	a.holdFor(ctx, l.ID)
	if p.Title != nil {
		if err := l.Store.SetTitle(*p.Title); err != nil {
			return wire.SessionUpdateResult{}, err
		}
		l.Engine.SetTitle(*p.Title)
	}
	if p.Archived != nil {
		if err := l.Store.SetArchived(*p.Archived); err != nil {
			return wire.SessionUpdateResult{}, err
		}
	}
	if len(p.Pin)+len(p.Unpin) > 0 {
		if err := l.Engine.SetPins(p.Pin, p.Unpin); err != nil {
			return wire.SessionUpdateResult{}, err
		}
	}
	return wire.SessionUpdateResult{Session: a.describe(l.Store.Entry())}, nil
}

func (a Sessions) Configure(
	ctx context.Context,
	p *wire.SessionConfigureParams,
) (wire.SessionConfigureResult, error) {
	l, err := a.writable(ctx, p.SessionID)
	if err != nil {
		return wire.SessionConfigureResult{}, err
	}
	if !isObject(p.Config) {
		return wire.SessionConfigureResult{}, Invalid("config", "must be an object")
	}
	var effective config.Config
	var notices []string
	err = l.Configure(func(own json.RawMessage) (json.RawMessage, config.Config, error) {
		own, err := a.Core().Settings.Merge(own, p.Config)
		if err == nil {
			effective, notices, err = a.Core().Settings.Session(own)
		}
		if err != nil {
			return nil, effective, Invalid("config", "%v", err)
		}
		own = a.Core().Settings.Storable(own)
		return own, effective, l.Store.SetConfig(own)
	})
	if err != nil {
		return wire.SessionConfigureResult{}, err
	}
	a.holdFor(ctx, l.ID)
	l.TellConfig()
	l.Warn(notices)
	return wire.SessionConfigureResult{Config: Encode(effective)}, nil
}

func (a Sessions) Pause(ctx context.Context, p *wire.SessionParams) (wire.Empty, error) {
	return a.pause(ctx, p.SessionID, true, (*agent.Session).Pause)
}

func (a Sessions) Resume(ctx context.Context, p *wire.SessionParams) (wire.Empty, error) {
	return a.pause(ctx, p.SessionID, false, (*agent.Session).Resume)
}

// pause pauses or resumes a session. It stores the pause, so that the pause survives a restart of
// the daemon.
func (a *API) pause(
	ctx context.Context,
	id string,
	on bool,
	do func(*agent.Session) error,
) (wire.Empty, error) {
	l, err := a.writable(ctx, id)
	if err != nil {
		return wire.Empty{}, err
	}
	a.holdFor(ctx, l.ID)
	if err := l.Store.SetPaused(on); err != nil {
		return wire.Empty{}, err
	}
	return wire.Empty{}, do(l.Engine)
}

func (a Sessions) Delete(ctx context.Context, p *wire.SessionParams) (wire.Empty, error) {
	l, err := a.writable(ctx, p.SessionID)
	if err != nil {
		return wire.Empty{}, err
	}
	if l.Busy() {
		return wire.Empty{}, agent.ErrNotIdle
	}
	// Send the session's outstanding notifications first. Otherwise, a client that leaves after the
	// response would never receive them. Before that, release the notifications that wait for this
	// request's own response. They exist if this request has loaded the session.
	host.LetGo(ctx)
	select {
	case <-l.Settled():
	case <-ctx.Done():
		return wire.Empty{}, context.Cause(ctx)
	}
	return wire.Empty{}, a.delete(ctx, l)
}

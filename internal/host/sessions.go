package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/config"
)

// Loaded returns a loaded session, or nil.
func (h *Host) Loaded(id string) *Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.byID[id]
}

// All returns the loaded sessions in no particular order.
func (h *Host) All() []*Session {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := make([]*Session, 0, len(h.byID))
	for _, s := range h.byID {
		out = append(out, s)
	}
	return out
}

// Get returns a session and loads it if necessary. The error is session.ErrUnknown if there is no
// such session, and ErrClosing if the host is closed and the session is not loaded.
func (h *Host) Get(ctx context.Context, id string) (*Session, error) {
	for {
		h.mu.Lock()
		s, busy, closed := h.byID[id], h.loading[id], h.closed
		if s == nil && busy == nil && !closed {
			h.loading[id] = make(chan struct{})
		}
		h.mu.Unlock()
		switch {
		case s != nil:
			return s, nil
		case closed:
			return nil, ErrClosing
		case busy == nil:
			return h.load(ctx, id)
		}
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Writable returns a session that this daemon may write. The error is session.ErrLocked if another
// daemon is writing it. If another daemon has written the session since it was loaded, Writable
// reloads it first.
func (h *Host) Writable(ctx context.Context, id string) (*Session, error) {
	s, err := h.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	if err = s.Store.Lock(); errors.Is(err, session.ErrChanged) {
		if s, err = h.Fresh(ctx, id); err == nil {
			err = s.Store.Lock()
		}
	}
	return s, err
}

// Fresh returns a session as it is stored. It reloads the session if another daemon has written it
// since it was loaded and it is not busy.
func (h *Host) Fresh(ctx context.Context, id string) (*Session, error) {
	h.refresh.Lock()
	defer h.refresh.Unlock()
	s, err := h.Get(ctx, id)
	if err != nil || !s.Store.Stale() || s.Busy() {
		return s, err
	}
	return h.Reload(ctx, s)
}

func (h *Host) load(ctx context.Context, id string) (s *Session, err error) {
	defer func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		close(h.loading[id])
		delete(h.loading, id)
	}()
	loaded, err := h.opts.Library.Load(id)
	if err != nil {
		return nil, err
	}
	cwd, outside := h.opts.Workspace.Cwd(loaded.Entry.Cwd)
	if outside != nil {
		// The session was created in another folder. From now on, relative paths refer to this
		// workspace.
		if cwd, err = h.opts.Workspace.Cwd(""); err != nil {
			return nil, err
		}
	}
	s, err = h.build(ctx, loaded.Session, cwd, loaded.Config, loaded)
	if err != nil {
		return nil, errors.Join(err, loaded.Session.Close())
	}
	if err := h.opts.Workspace.LoadSession(ctx, id); err != nil {
		s.Engine.Notice("warning", "reading this session's proposals: "+err.Error())
	}
	if outside != nil {
		s.Engine.Notice("warning",
			"this session was created in "+loaded.Entry.Cwd+"; it now runs in "+cwd)
	}
	h.tellProblems(s, loaded)
	if own := s.ownConfig(); !bytes.Equal(own, loaded.Config) {
		// An older version stored keys that a session must not set. If they cannot be removed now,
		// the next load reports them again.
		_ = s.Store.SetConfig(own)
	}
	if err := h.admit(ctx, s); err != nil {
		return nil, err
	}
	return s, nil
}

// admit adds a session to the loaded sessions. If the host was closed in the meantime, admit closes
// the session, because no other code would close it.
func (h *Host) admit(ctx context.Context, s *Session) error {
	h.mu.Lock()
	closed := h.closed
	if !closed {
		h.byID[s.ID] = s
	}
	h.mu.Unlock()
	if !closed {
		return nil
	}
	return errors.Join(ErrClosing, h.end(ctx, s))
}

func (h *Host) tellProblems(s *Session, loaded *session.Loaded) {
	for _, p := range loaded.Problems {
		s.Engine.Notice("warning", "reading this session: "+p.String())
	}
	switch {
	case loaded.InterruptedTurn == "":
	// The turn may still be running in the other process.
	case loaded.Session.WrittenElsewhere():
		s.Engine.Notice("warning", "another agent-lsp was writing this session when it was loaded here; "+
			"close it there, fork it or start a new one")
	default:
		s.Engine.Notice("info", "agent-lsp stopped in the middle of this session's last turn; "+
			"use continue to resume it")
	}
}

// NewSession is the initial content of a session.
type NewSession struct {
	Cwd      string // absolute
	Title    string
	Origin   string
	Config   json.RawMessage    // the session's own layer; may be nil
	Messages []*message.Message // the initial history
}

// Create creates a session and loads it.
func (h *Host) Create(ctx context.Context, n NewSession) (*Session, error) {
	store, err := h.opts.Library.Create(session.Meta{Cwd: n.Cwd, Title: n.Title, Origin: n.Origin})
	if err != nil {
		return nil, err
	}
	s, err := h.fill(ctx, store, n)
	if err == nil {
		err = h.admit(ctx, s)
	}
	if err != nil {
		return nil, errors.Join(err, h.opts.Library.Delete(store.ID()))
	}
	return s, nil
}

// fill stores the initial content of a new session and builds the session.
func (h *Host) fill(ctx context.Context, store *session.Session, n NewSession) (*Session, error) {
	if len(n.Config) > 0 {
		if err := store.SetConfig(h.opts.Settings.Storable(n.Config)); err != nil {
			return nil, err
		}
	}
	if len(n.Messages) == 0 {
		return h.build(ctx, store, n.Cwd, n.Config, nil)
	}
	records := make([]agent.Record, len(n.Messages))
	for i, m := range n.Messages {
		records[i] = agent.Record{Type: agent.RecordMessage, Message: m, Time: m.Time}
	}
	if err := store.Append(records...); err != nil {
		return nil, err
	}
	loaded, err := h.opts.Library.Load(store.ID())
	if err != nil {
		return nil, err
	}
	return h.build(ctx, store, n.Cwd, n.Config, loaded)
}

// build creates the engine's session. loaded is nil for a new session.
func (h *Host) build(
	ctx context.Context,
	store *session.Session,
	cwd string,
	own json.RawMessage,
	loaded *session.Loaded,
) (*Session, error) {
	config, notices, err := h.opts.Settings.Session(own)
	if err != nil {
		// A stored configuration may have become invalid. The session can be used without it.
		notices = append(notices, "the session's own configuration is ignored: "+err.Error())
		if config, _, err = h.opts.Settings.Session(nil); err != nil {
			return nil, err
		}
	}
	s := &Session{
		ID: store.ID(), Cwd: cwd, Store: store, own: h.opts.Settings.Storable(own), config: config,
		configured: h.opts.Configured,
	}
	var coming coming
	info := SessionInfo{
		ID: s.ID, Cwd: cwd, Config: s.Config, Store: store, Loaded: loaded,
		Notice: func(level, text string) {
			coming.tell(func(s *agent.Session) { s.Notice(level, text) })
		},
		Notify: func(m *message.Message, wake bool) {
			coming.tell(func(s *agent.Session) { s.Notify(m, wake) })
		},
	}
	opts, err := h.opts.Prepare(ctx, info)
	if err != nil {
		return nil, fmt.Errorf("preparing session %s: %w", s.ID, err)
	}
	s.feed = h.openFeed(store)
	h.HoldFor(ctx, s.ID)
	opts.ID, opts.Cwd, opts.Sink, opts.Store = s.ID, cwd, h, store
	opts.Restored = restored(opts.Restored, loaded, store.Entry())
	s.Engine = agent.NewSession(opts)
	if path, why := store.Elsewhere(); why != nil {
		s.Engine.Notice("warning", fmt.Sprintf("the state directory is not writable (%v). "+
			"This session is stored in %s and is deleted at exit. "+
			"To keep it, use agent/session/export.", why, path))
	}
	s.Warn(notices)
	coming.made(s.Engine)
	return s, nil
}

// restored adds the library's information to the initial state of the engine.
func restored(prepared agent.Restored, loaded *session.Loaded, e session.Entry) agent.Restored {
	if loaded == nil {
		prepared.Title = e.Title
		return prepared
	}
	r := loaded.Restored()
	r.ResultFor, r.Activated = prepared.ResultFor, prepared.Activated
	return r
}

// Reload unloads a session and loads it again from its store, for example after its history was
// branched. The session must not be busy. Reload continues even if ctx ends. If the session cannot
// be built, it is loaded again when it is next requested. Its notifications are held back as in
// HoldFor.
func (h *Host) Reload(ctx context.Context, old *Session) (*Session, error) {
	h.mu.Lock()
	back := h.takeLocked(old)
	h.mu.Unlock()
	defer back()
	ctx = context.WithoutCancel(ctx)
	if err := closeEngine(ctx, old); err != nil {
		return nil, err
	}
	h.closeFeed(old.feed)
	loaded, err := h.opts.Library.Load(old.ID)
	if err != nil {
		return nil, err
	}
	s, err := h.build(ctx, loaded.Session, old.Cwd, old.ownConfig(), loaded)
	if err != nil {
		return nil, err
	}
	if err := h.admit(ctx, s); err != nil {
		return nil, err
	}
	return s, nil
}

// closeEngine ends all running work of a session that is being unloaded, even if the request was
// canceled. Otherwise, a half-closed session would remain.
func closeEngine(ctx context.Context, s *Session) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer done()
	return s.Engine.Close(ctx)
}

// Delete removes a session that is not busy, and all data stored for that session.
func (h *Host) Delete(ctx context.Context, s *Session) error {
	h.mu.Lock()
	back := h.takeLocked(s)
	h.mu.Unlock()
	defer back()
	err := closeEngine(ctx, s)
	if h.opts.Workspace != nil {
		h.opts.Workspace.DropSession(s.ID)
	}
	h.closeFeed(s.feed)
	h.tellClosed(s, true)
	return errors.Join(err, h.opts.Library.Delete(s.ID))
}

// Release unloads a session, which remains stored. It aborts running work and waits for its end.
// Afterwards another daemon may write the session.
func (h *Host) Release(ctx context.Context, id string) error {
	h.mu.Lock()
	s := h.byID[id]
	if s == nil || h.closed {
		h.mu.Unlock()
		return nil
	}
	back := h.takeLocked(s)
	h.mu.Unlock()
	defer back()
	return h.end(ctx, s)
}

// end closes a session that is no longer listed but remains stored.
func (h *Host) end(ctx context.Context, s *Session) error {
	err := closeEngine(ctx, s)
	h.closeFeed(s.feed)
	s.feed.barrier()
	h.tellClosed(s, false)
	return errors.Join(err, s.Store.Close())
}

// takeLocked removes a session from the list. Requests for it wait until back is called. The caller
// must hold mu.
func (h *Host) takeLocked(s *Session) (back func()) {
	if h.byID[s.ID] != s {
		return func() {} // another call has already removed the session
	}
	gone := make(chan struct{})
	delete(h.byID, s.ID)
	h.loading[s.ID] = gone
	return func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.loading, s.ID)
		close(gone)
	}
}

func (h *Host) tellClosed(s *Session, deleted bool) {
	if h.opts.Closed != nil {
		h.opts.Closed(s.ID, deleted)
	}
}

// AbortAll aborts all running work, because the process is ending.
func (h *Host) AbortAll() {
	for _, s := range h.All() {
		_, _ = s.Engine.Abort(agent.AbortRequest{Ending: true}) // the turn may already have ended
	}
}

// Reconfigured puts changed settings into effect, starting with the next model call.
func (h *Host) Reconfigured() {
	for _, s := range h.All() {
		var notices []string
		err := s.Configure(func(own json.RawMessage) (_ json.RawMessage, effective config.Config,
			err error) {
			effective, notices, err = h.opts.Settings.Session(own)
			return own, effective, err
		})
		if err != nil {
			notices = append(notices, err.Error())
		} else {
			s.TellConfig()
		}
		s.Warn(notices)
	}
}

// Close aborts every session, waits until all have ended or ctx ends, and closes them. They remain
// in the list, so that requests that wait for their turns still get responses.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	all := h.All()
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, s := range all {
		wg.Go(func() {
			err := s.Engine.Close(ctx)
			h.tellClosed(s, false)
			errs[i] = err
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// CloseStores stores the sessions' last notification numbers and closes their stores. All
// subscribers must have unsubscribed.
func (h *Host) CloseStores() error {
	var errs []error
	for _, s := range h.All() {
		errs = append(errs, s.Store.Close())
	}
	return errors.Join(errs...)
}

package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
)

// registry holds the sessions that are loaded and the connection's current one.
type registry struct {
	s *server

	mu      sync.Mutex
	closed  bool
	byID    map[string]*live
	loading map[string]chan struct{} // closed when a load is over
	current string

	refresh sync.Mutex // one reading again at a time
}

func newRegistry(s *server) *registry {
	return &registry{s: s, byID: map[string]*live{}, loading: map[string]chan struct{}{}}
}

// loaded returns a session that is loaded, or nil.
func (r *registry) loaded(id string) *live {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.byID[id]
}

// all returns the loaded sessions in no order.
func (r *registry) all() []*live {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]*live, 0, len(r.byID))
	for _, l := range r.byID {
		out = append(out, l)
	}
	return out
}

// get returns a session, loading it where it is only stored.
func (r *registry) get(ctx context.Context, id string) (*live, error) {
	if id == "" {
		return nil, invalid("sessionId", "is missing")
	}
	for {
		r.mu.Lock()
		l, busy, closed := r.byID[id], r.loading[id], r.closed
		if l == nil && busy == nil && !closed {
			r.loading[id] = make(chan struct{})
		}
		r.mu.Unlock()
		switch {
		case l != nil:
			return l, nil
		case closed:
			return nil, errCancelled
		case busy == nil:
			return r.load(ctx, id)
		}
		select {
		case <-busy:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// writable returns a session that this daemon may write. Where another one does, the error says so
// (wire code 1009); where another one did since it was loaded, it is read again first.
func (r *registry) writable(ctx context.Context, id string) (*live, error) {
	l, err := r.get(ctx, id)
	if err != nil {
		return nil, err
	}
	if err = l.store.Lock(); errors.Is(err, session.ErrChanged) {
		if l, err = r.fresh(ctx, id); err == nil {
			err = l.store.Lock()
		}
	}
	return l, err
}

// fresh returns a session as it is stored: one that another daemon has written since it was loaded is read again.
func (r *registry) fresh(ctx context.Context, id string) (*live, error) {
	r.refresh.Lock()
	defer r.refresh.Unlock()
	l, err := r.get(ctx, id)
	if err != nil || !l.store.Stale() || busy(l) {
		return l, err
	}
	return r.reload(ctx, l)
}

func (r *registry) load(ctx context.Context, id string) (l *live, err error) {
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		close(r.loading[id])
		delete(r.loading, id)
	}()
	loaded, err := r.s.core.Library.Load(id)
	if err != nil {
		return nil, err
	}
	cwd, outside := r.s.core.Workspace.Cwd(loaded.Entry.Cwd)
	if outside != nil {
		// The session was made in another folder: relative paths begin at this workspace now.
		if cwd, err = r.s.core.Workspace.Cwd(""); err != nil {
			return nil, err
		}
	}
	l, err = r.build(ctx, loaded.Session, cwd, loaded.Config, loaded)
	if err != nil {
		return nil, errors.Join(err, loaded.Session.Close())
	}
	if err := r.s.core.Workspace.LoadSession(ctx, id); err != nil {
		l.engine.Notice("warning", "reading this session's proposals: "+err.Error())
	}
	if outside != nil {
		l.engine.Notice("warning", "this session was made in "+loaded.Entry.Cwd+"; it works in "+cwd+" now")
	}
	r.tellProblems(l, loaded)
	if err := r.admit(ctx, l); err != nil {
		return nil, err
	}
	return l, nil
}

// admit lists a session that was built. Where the registry was closed meanwhile, the session is too: nobody else would.
func (r *registry) admit(ctx context.Context, l *live) error {
	r.mu.Lock()
	closed := r.closed
	if !closed {
		r.byID[l.id] = l
	}
	r.mu.Unlock()
	if !closed {
		return nil
	}
	return errors.Join(errCancelled, r.end(ctx, l))
}

func (r *registry) tellProblems(l *live, loaded *session.Loaded) {
	for _, p := range loaded.Problems {
		l.engine.Notice("warning", "reading this session: "+p.String())
	}
	switch {
	case loaded.InterruptedTurn == "":
	case loaded.Session.WrittenElsewhere(): // it may well be running
		l.engine.Notice("warning", "another agent-lsp was writing this session when it was read here: close it there, fork it or start a new one")
	default:
		l.engine.Notice("info", "agent-lsp ended in the middle of this session's last turn: continue goes on where it stopped")
	}
}

// create makes a session and makes it current.
func (r *registry) create(ctx context.Context, p *wire.SessionNewParams) (*live, error) {
	cwd, err := r.s.cwd(p.Cwd)
	if err != nil {
		return nil, err
	}
	if _, _, err := r.s.core.Settings.Session(p.Config); err != nil {
		return nil, invalid("config", "%v", err)
	}
	seeds, err := seedMessages(p.Messages)
	if err != nil {
		return nil, err
	}
	store, err := r.s.core.Library.Create(session.Meta{Cwd: cwd, Title: p.Title})
	if err != nil {
		return nil, err
	}
	l, err := r.fill(ctx, store, cwd, p, seeds)
	if err == nil {
		err = r.admit(ctx, l)
	}
	if err != nil {
		return nil, errors.Join(err, r.s.core.Library.Delete(store.ID()))
	}
	r.setCurrent(l.id)
	return l, nil
}

// fill stores what a new session begins with and builds it.
func (r *registry) fill(ctx context.Context, store *session.Session, cwd string, p *wire.SessionNewParams, seeds []*message.Message) (*live, error) {
	if len(p.Config) > 0 {
		if err := store.SetConfig(p.Config); err != nil {
			return nil, err
		}
	}
	if len(seeds) == 0 {
		return r.build(ctx, store, cwd, p.Config, nil)
	}
	records := make([]agent.Record, len(seeds))
	for i, m := range seeds {
		records[i] = agent.Record{Type: agent.RecordMessage, Message: m, Time: m.Time}
	}
	if err := store.Append(records...); err != nil {
		return nil, err
	}
	loaded, err := r.s.core.Library.Load(store.ID())
	if err != nil {
		return nil, err
	}
	return r.build(ctx, store, cwd, p.Config, loaded)
}

// build makes the engine's session. loaded is nil for a new one.
func (r *registry) build(ctx context.Context, store *session.Session, cwd string, own json.RawMessage, loaded *session.Loaded) (*live, error) {
	config, notices, err := r.s.core.Settings.Session(own)
	if err != nil {
		// What was stored once may not be valid any more; the session is still of use.
		notices = append(notices, "the session's own configuration is ignored: "+err.Error())
		if config, _, err = r.s.core.Settings.Session(nil); err != nil {
			return nil, err
		}
	}
	l := &live{id: store.ID(), cwd: cwd, store: store, own: own, config: config}
	var coming coming
	info := SessionInfo{
		ID: l.id, Cwd: cwd, Config: l.Config, Store: store, Loaded: loaded,
		Notice: func(level, text string) { coming.tell(func(s *agent.Session) { s.Notice(level, text) }) },
		Notify: func(m *message.Message, wake bool) { coming.tell(func(s *agent.Session) { s.Notify(m, wake) }) },
	}
	opts, err := r.s.core.Prepare(ctx, info)
	if err != nil {
		return nil, fmt.Errorf("preparing session %s: %w", l.id, err)
	}
	l.stream = r.s.hub.open(store)
	r.s.hub.hold(inboundFrom(ctx), l.id)
	opts.ID, opts.Cwd, opts.Sink, opts.Store = l.id, cwd, r.s.hub, store
	opts.Restored = restored(opts.Restored, loaded, store.Entry())
	l.engine = agent.NewSession(opts)
	if path, why := store.Elsewhere(); why != nil {
		l.engine.Notice("warning", fmt.Sprintf("sessions cannot be stored where they belong (%v): this one is kept in %s until this run ends; agent/session/export saves it", why, path))
	}
	l.warn(notices)
	coming.made(l.engine)
	return l, nil
}

// restored puts what the library knows into what the engine begins with.
func restored(prepared agent.Restored, loaded *session.Loaded, e session.Entry) agent.Restored {
	if loaded == nil {
		prepared.Title = e.Title
		return prepared
	}
	r := loaded.Restored()
	r.ResultFor, r.Activated = prepared.ResultFor, prepared.Activated
	return r
}

// reload builds a session anew after its history was branched. It must be idle. What has begun to close goes on to its end,
// whatever becomes of the request; a session that could not be built is loaded by whoever asks for it next.
func (r *registry) reload(ctx context.Context, old *live) (*live, error) {
	r.mu.Lock()
	back := r.takeLocked(old)
	r.mu.Unlock()
	defer back()
	ctx = context.WithoutCancel(ctx)
	if err := closeEngine(ctx, old); err != nil {
		return nil, err
	}
	r.s.hub.close(old.stream)
	loaded, err := r.s.core.Library.Load(old.id)
	if err != nil {
		return nil, err
	}
	l, err := r.build(ctx, loaded.Session, old.cwd, old.ownConfig(), loaded)
	if err != nil {
		return nil, err
	}
	if err := r.admit(ctx, l); err != nil {
		return nil, err
	}
	return l, nil
}

// closeEngine ends what runs in a session that is being taken out, also where the request for that was cancelled: half
// a session would be left.
func closeEngine(ctx context.Context, l *live) error {
	ctx, done := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer done()
	return l.engine.Close(ctx)
}

// delete takes an idle session out for good. Whoever asks for it meanwhile hears that there is none.
func (r *registry) delete(ctx context.Context, l *live) error {
	r.mu.Lock()
	back := r.takeLocked(l)
	if r.current == l.id {
		r.current = ""
	}
	r.mu.Unlock()
	defer back()
	err := closeEngine(ctx, l)
	if r.s.core.Workspace != nil {
		r.s.core.Workspace.DropSession(l.id)
	}
	r.s.hub.close(l.stream)
	r.tellClosed(l, true)
	return errors.Join(err, r.s.core.Library.Delete(l.id))
}

// release lets a session go that stays stored: what runs is aborted and waited for, and another daemon may write it
// then. Whoever asks for it meanwhile loads it again.
func (r *registry) release(ctx context.Context, id string) error {
	r.mu.Lock()
	l := r.byID[id]
	if l == nil || r.closed {
		r.mu.Unlock()
		return nil
	}
	back := r.takeLocked(l)
	if r.current == id {
		r.current = ""
	}
	r.mu.Unlock()
	defer back()
	return r.end(ctx, l)
}

// end closes a session that is not listed and stays stored.
func (r *registry) end(ctx context.Context, l *live) error {
	err := closeEngine(ctx, l)
	r.s.hub.close(l.stream)
	l.stream.barrier()
	r.tellClosed(l, false)
	return errors.Join(err, l.store.Close())
}

// takeLocked takes a session out; whoever asks for it waits until back is called. The caller holds mu.
func (r *registry) takeLocked(l *live) (back func()) {
	if r.byID[l.id] != l {
		return func() {} // somebody else took it out
	}
	gone := make(chan struct{})
	delete(r.byID, l.id)
	r.loading[l.id] = gone
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.loading, l.id)
		close(gone)
	}
}

func (r *registry) tellClosed(l *live, deleted bool) {
	if r.s.core.Closed != nil {
		r.s.core.Closed(l.id, deleted)
	}
}

// setCurrent makes a session the one that is meant where none is named.
func (r *registry) setCurrent(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.current = id
}

// orCurrent returns the session that is to be written: the named one, else the current one, else a new one.
func (r *registry) orCurrent(ctx context.Context, id string) (*live, error) {
	if id == "" {
		id = r.currentID()
	}
	if id != "" {
		return r.writable(ctx, id)
	}
	return r.create(ctx, &wire.SessionNewParams{})
}

func (r *registry) currentID() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current
}

// abortAll aborts what runs anywhere, because the process ends.
func (r *registry) abortAll() {
	for _, l := range r.all() {
		_, _ = l.engine.Abort(agent.AbortRequest{Ending: true}) // nothing running is no error
	}
}

// reconfigured puts changed settings into effect from the next model call on.
func (r *registry) reconfigured() {
	for _, l := range r.all() {
		var notices []string
		err := l.configure(func(own json.RawMessage) (_ json.RawMessage, config wire.Config, err error) {
			config, notices, err = r.s.core.Settings.Session(own)
			return own, config, err
		})
		if err != nil {
			notices = append(notices, err.Error())
		} else {
			l.tellConfig()
		}
		l.warn(notices)
	}
}

// close aborts every session, waits for their ends and closes them. They stay listed, so that
// requests which wait for their turns still get their answers.
func (r *registry) close(ctx context.Context) error {
	r.mu.Lock()
	r.closed = true
	r.mu.Unlock()
	all := r.all()
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, l := range all {
		wg.Go(func() {
			err := l.engine.Close(ctx)
			r.tellClosed(l, false)
			errs[i] = err
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// closeStores notes the sessions' last numbers: nothing may be told any more.
func (r *registry) closeStores() error {
	var errs []error
	for _, l := range r.all() {
		errs = append(errs, l.store.Close())
	}
	return errors.Join(errs...)
}

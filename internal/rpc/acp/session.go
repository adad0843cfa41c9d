package acp

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/config"

	"github.com/coder/acp-go-sdk"
	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/rpc/acp/content"
	"github.com/agent-lsp/agent-lsp/internal/rpc/agentapi"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// listPage is the number of sessions in one page of a list.
const listPage = 100

// session is a session that the client has created, loaded or resumed.
type session struct {
	a    *adapter
	core *core
	id   string

	mu       sync.Mutex
	turn     *prompting // the prompt that is being answered, or nil
	items    map[string]*item
	config   config.Config // the effective configuration
	models   []string      // models that the provider offers
	options  string        // options last sent to the client, encoded
	title    string
	usage    usage                         // usage last sent to the client
	planned  string                        // the plan last sent to the client, encoded
	pictures map[string]content.Picture    // pictures of proposals when they were created
	reviews  map[string]context.CancelFunc // open questions about proposals
	// reviewing ends reviewPending and waits for it. It is nil if reviewPending never ran.
	reviewing func()
	pending   bool // whether a proposal may be undecided
	// Updates are held back until this channel is closed. If it is nil, updates are not held back.
	held     chan struct{}
	holds    int  // number of holders that have not called resume
	resuming bool // whether the waiting updates are being sent
	later    []func()
}

func (a *adapter) register(c *core, id string) *session {
	s := &session{a: a, core: c, id: id, items: map[string]*item{},
		pictures: map[string]content.Picture{},
		reviews:  map[string]context.CancelFunc{}}
	a.mu.Lock()
	a.sessions[id] = s
	a.mu.Unlock()
	return s
}

func (a *adapter) session(id string) (*session, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if s := a.sessions[id]; s != nil {
		return s, nil
	}
	return nil, unknownSession(id)
}

// keep restores old after its replacement s could not be loaded. old may be nil.
func (a *adapter) keep(s, old *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.sessions[s.id] != s:
	case old != nil:
		a.sessions[s.id] = old
	default:
		delete(a.sessions, s.id)
	}
}

func (a *adapter) drop(s *session) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sessions[s.id] == s {
		delete(a.sessions, s.id)
	}
}

func (a *adapter) sessionNew(ctx context.Context, p *acp.NewSessionRequest) (any, error) {
	c, err := a.coreFor(ctx, p.Cwd, p.AdditionalDirectories, p.McpServers)
	if err != nil {
		return nil, err
	}
	var s *session
	seen := func(res wire.SessionNewResult) {
		s = a.register(c, res.SessionID)
		s.hold()
		a.afterAnswer(ctx, s.resume)
	}
	params := wire.SessionNewParams{Cwd: workspace.URIOfPath(p.Cwd)}
	res, err := askInOrder(ctx, c, agentapi.Sessions.New, params, seen)
	if err != nil {
		return nil, err
	}
	s.configured(res.Config)
	a.afterAnswer(ctx, s.introduce)
	return s.described(map[string]any{"sessionId": s.id}), nil
}

func (a *adapter) sessionLoad(ctx context.Context, p *acp.LoadSessionRequest) (any, error) {
	return a.attach(ctx, string(p.SessionId), p.Cwd, p.AdditionalDirectories, p.McpServers, true)
}

func (a *adapter) sessionResume(ctx context.Context, p *acp.ResumeSessionRequest) (any, error) {
	return a.attach(ctx, string(p.SessionId), p.Cwd, p.AdditionalDirectories, p.McpServers, false)
}

// attach loads a stored session. With replay, the client receives past events before the response.
func (a *adapter) attach(ctx context.Context, id, cwd string, more []string,
	servers []acp.McpServer, replay bool) (any, error) {
	c, err := a.coreFor(ctx, cwd, more, servers)
	if err != nil {
		return nil, err
	}
	old, _ := a.session(id)
	s := old
	if s == nil || s.core != c {
		if err := old.moves(ctx, c); err != nil {
			return nil, err
		}
		s = a.register(c, id)
	}
	s.setPending(true)
	s.forgetTold()
	seen := func(wire.SessionLoadResult) {
		s.hold()
		a.afterAnswer(ctx, s.resume)
	}
	params := wire.SessionLoadParams{SessionID: id, Replay: replay}
	res, err := askInOrder(ctx, c, agentapi.Sessions.Load, params, seen)
	if err != nil {
		a.keep(s, old)
		return nil, err
	}
	s.configured(res.Session.Config)
	a.afterAnswer(ctx, s.introduce)
	a.afterAnswer(ctx, s.reviewPending)
	return s.described(map[string]any{}), nil
}

// forgetTold makes s resend the updates that the client may have dropped.
func (s *session) forgetTold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.planned, s.usage = "", usage{}
}

// moves releases a session from its current core, so that c can load the session with other folders
// or MCP servers. s may be nil.
func (s *session) moves(ctx context.Context, c *core) error {
	if s == nil || s.core.roots[0] != c.roots[0] {
		return nil
	}
	if err := s.end(ctx); err != nil {
		return err
	}
	return s.core.release(ctx, s.id)
}

// introduce sends the commands and the models. Determining them takes a moment, because the
// provider is asked for its models. A prompt that arrives together with its session runs first.
func (s *session) introduce(ctx context.Context) {
	if commands, err := s.commands(ctx); err == nil {
		list := make([]acp.AvailableCommand, 0, len(commands))
		for _, c := range commands {
			out := acp.AvailableCommand{Name: c.Name, Description: c.Description}
			if c.Hint != "" {
				out.Input = &acp.AvailableCommandInput{
					Unstructured: &acp.UnstructuredCommandInput{Hint: c.Hint},
				}
			}
			list = append(list, out)
		}
		s.update(acp.SessionUpdate{
			AvailableCommandsUpdate: &acp.SessionAvailableCommandsUpdate{AvailableCommands: list},
		})
	}
	s.learnModels(ctx)
}

func (s *session) update(u acp.SessionUpdate) { s.a.update(s.id, u) }

// sessionList lists the sessions of a folder. Without a folder, it lists those of the launch folder
// and of the folders in use.
func (a *adapter) sessionList(ctx context.Context, p *acp.ListSessionsRequest) (any, error) {
	if p.Cwd != nil {
		c, err := a.coreFor(ctx, *p.Cwd, nil, nil)
		if err != nil {
			return nil, err
		}
		return a.listOf(ctx, c, p.Cursor)
	}
	c, err := a.coreFor(ctx, launchDir(), nil, nil)
	if err != nil {
		return nil, err
	}
	res, err := a.listOf(ctx, c, p.Cursor)
	if err != nil || p.Cursor != nil {
		return res, err
	}
	for _, other := range a.otherCores(c) {
		more, err := a.listOf(ctx, other, nil)
		if err != nil {
			continue
		}
		for _, info := range more.Sessions {
			if !slices.ContainsFunc(res.Sessions,
				func(i acp.SessionInfo) bool { return i.SessionId == info.SessionId }) {
				res.Sessions = append(res.Sessions, info)
			}
		}
	}
	slices.SortStableFunc(res.Sessions,
		func(x, y acp.SessionInfo) int { return cmp.Compare(*y.UpdatedAt, *x.UpdatedAt) })
	return res, nil
}

func (a *adapter) otherCores(than *core) []*core {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []*core
	for _, c := range a.cores {
		if c != than {
			out = append(out, c)
		}
	}
	return out
}

func (a *adapter) listOf(ctx context.Context, c *core,
	cursor *string) (*acp.ListSessionsResponse, error) {
	params := wire.SessionListParams{Limit: listPage}
	if cursor != nil {
		params.Cursor = *cursor
	}
	res, err := ask(ctx, c, agentapi.Sessions.List, params)
	if err != nil {
		return nil, err
	}
	out := &acp.ListSessionsResponse{Sessions: make([]acp.SessionInfo, 0, len(res.Sessions))}
	for _, s := range res.Sessions {
		info := acp.SessionInfo{SessionId: acp.SessionId(s.SessionID), Cwd: content.PathOf(s.Cwd),
			UpdatedAt: acp.Ptr(s.UpdatedAt.UTC().Format(time.RFC3339))}
		if s.Title != "" {
			info.Title = &s.Title
		}
		out.Sessions = append(out.Sessions, info)
	}
	if res.NextCursor != "" {
		out.NextCursor = &res.NextCursor
	}
	return out, nil
}

// sessionClose aborts running work and unloads the session, which stays stored.
func (a *adapter) sessionClose(ctx context.Context, p *acp.CloseSessionRequest) (any, error) {
	s, err := a.session(string(p.SessionId))
	if err != nil {
		return nil, err
	}
	if err := s.end(ctx); err != nil {
		return nil, err
	}
	a.drop(s)
	return struct{}{}, s.core.release(ctx, s.id)
}

// sessionDelete deletes a session, even if it is not loaded. It looks for the session in the launch
// folder and in the folders in use.
func (a *adapter) sessionDelete(ctx context.Context, p *acp.CloseSessionRequest) (any, error) {
	id := string(p.SessionId)
	if s, err := a.session(id); err == nil {
		if err := s.end(ctx); err != nil {
			return nil, err
		}
		a.drop(s)
		return s.core.delete(ctx, id)
	}
	first, err := a.coreFor(ctx, launchDir(), nil, nil)
	if err != nil {
		return nil, err
	}
	res, err := first.delete(ctx, id)
	for _, c := range a.otherCores(first) {
		if err == nil {
			break
		}
		res, err = c.delete(ctx, id)
	}
	return res, err
}

func (c *core) delete(ctx context.Context, id string) (any, error) {
	params := wire.SessionParams{SessionID: id}
	if _, err := askInOrder(ctx, c, agentapi.Sessions.Delete, params, nil); err != nil {
		return nil, err
	}
	return struct{}{}, nil
}

// end cancels the session's turn and waits until it has ended.
func (s *session) end(ctx context.Context) error {
	s.cancel()
	state, err := ask(ctx, s.core, agentapi.Turns.Abort, wire.AbortParams{SessionID: s.id})
	if err != nil {
		return err
	}
	if state.State == "idle" {
		return nil
	}
	_, err = ask(ctx, s.core, agentapi.Turns.Wait, wire.TurnWaitParams{SessionID: s.id})
	var e *jsonrpc2.Error
	if errors.As(err, &e) && e.Code == wire.CodeNotFound {
		return nil // the aborted turn had not begun, so there is nothing to wait for
	}
	return err
}

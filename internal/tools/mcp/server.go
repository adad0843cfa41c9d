package mcp

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/pause"
	"github.com/agent-lsp/agent-lsp/internal/tools/shell"
)

// server keeps one MCP server running.
type server struct {
	unauthorized atomic.Bool // the HTTP server has answered 401 since it was last started
	hub          *Hub
	conf         Config
	cancel       context.CancelFunc
	ended        <-chan struct{} // closed when the server is stopped permanently
	settled      chan struct{}   // closed once the server is ready or has failed for the first time
	once         sync.Once

	mu        sync.Mutex // guards the fields below
	launched  time.Time  // when the server first began to start; zero if it has not
	session   *sdk.ClientSession
	roots     roots
	tools     []tool.Tool // all tools of the server
	offered   []tool.Tool // the tools that the settings allow
	allowed   func(tool string) bool
	err       error
	over      bool                    // the server will not be started again
	news      chan struct{}           // closed at the next change of session, err or over
	progress  map[string]func(string) // by progress token
	calls     []*running              // calls in progress, newest last
	relisting relisting
}

// relisting records the changes that a server reported to its tools. It is guarded by the server's
// lock.
type relisting struct {
	// done is closed when the tools have been listed again. It is nil if no listing is running.
	done    chan struct{}
	changes int        // how many times the server reported changed tools
	at      connection // connection on which the server last reported a change
}

// connection is a session with the server. Its ctx ends with the session.
type connection struct {
	ctx     context.Context
	session *sdk.ClientSession
}

// running is a call that has not ended.
type running struct {
	ctx  context.Context
	call *tool.Call
}

func (s *server) stop() { s.cancel() }

func (s *server) toolName(
	tool string,
) string {
	return toolName(s.conf.Name, tool, s.conf.rivals...)
}

// same reports whether a configuration would start the same server.
func (s *server) same(c Config) bool {
	a := s.conf
	return a.Command == c.Command && a.URL == c.URL && a.Dir == c.Dir && a.Timeout == c.Timeout &&
		slices.Equal(
			a.Args,
			c.Args,
		) && slices.Equal(a.Env, c.Env) && maps.Equal(a.Headers, c.Headers) &&
		slices.Equal(a.rivals, c.rivals)
}

// keep runs the server until ctx ends. It restarts the server each time it ends, with increasing
// pauses. It gives up after maxStarts if the server never stays up, and immediately after an error
// of type hopeless.
func (s *server) keep(ctx context.Context) {
	defer s.settle()
	again := &backoff.ExponentialBackOff{
		InitialInterval:     firstBackoff,
		MaxInterval:         maxBackoff,
		Multiplier:          2,
		RandomizationFactor: 0.1,
	}
	again.Reset()
	for starts := 1; ; starts++ {
		if !s.hub.gate.enter(ctx) {
			return
		}
		began := time.Now()
		s.launch(began)
		err := s.serve(ctx, s.share())
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > stableAfter {
			starts = 1
			again.Reset()
		}
		var never *hopeless
		last := starts >= maxStarts || errors.As(err, &never)
		s.failed(err, last)
		if last || pause.For(ctx, again.NextBackOff()) != nil {
			return
		}
	}
}

// hopeless is the reason why starting the server again cannot succeed.
type hopeless struct{ why string }

func (e *hopeless) Error() string { return e.why }

// failed records why the server is not available and notifies the user once per cause.
func (s *server) failed(err error, last bool) {
	s.mu.Lock()
	news := s.err == nil || s.err.Error() != err.Error() || last
	s.err, s.session, s.over = err, nil, last
	s.wake()
	if last {
		s.tools, s.offered = nil, nil
	}
	s.mu.Unlock()
	s.settle()
	s.hub.opts.Changed()
	if news {
		text := fmt.Sprintf("MCP server %s: %v", s.conf.Name, err)
		if last {
			text += s.conf.advice()
		}
		s.hub.opts.Notice("warning", text)
	}
}

func (s *server) settle() {
	s.once.Do(func() {
		close(s.settled)
		s.hub.mu.Lock()
		defer s.hub.mu.Unlock()
		close(s.hub.news)
		s.hub.news = make(chan struct{})
	})
}

// serve starts the server, serves until the server ends, and returns the reason for the end. It
// calls started once the server is ready or has failed to start.
func (s *server) serve(ctx context.Context, started func()) error {
	defer started()
	if s.conf.Starts != nil {
		if err := s.conf.Starts(); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	transport, proc, err := s.transport(ctx)
	if err != nil {
		return err
	}
	if proc != nil {
		defer func() { proc.Kill(); _, _ = proc.Wait() }()
	}
	client := s.newClient(ctx)
	s.connecting(client)
	begin, stop := context.WithTimeout(ctx, s.hub.opts.listTimeout)
	defer stop()
	session, err := client.Connect(begin, transport, nil)
	if err != nil {
		return s.explain(begin, proc, fmt.Errorf("starting: %w", err))
	}
	defer session.Close()
	if err := s.refresh(begin, session); err != nil {
		return s.explain(begin, proc, err)
	}
	started()
	ended := make(chan error, 1)
	go func() { ended <- session.Wait() }()
	select {
	case err = <-ended:
	case <-ctx.Done():
		session.Close()
		if proc != nil {
			proc.Kill()
		}
		err = <-ended
	}
	cancel()
	if err == nil {
		err = errors.New("it ended")
	}
	return s.explain(ctx, proc, err)
}

// explain adds the server's stderr output to an error. It also explains a timeout, an unreachable
// server, and a server that answers 401.
func (s *server) explain(ctx context.Context, proc *shell.Process, err error) error {
	if s.unauthorized.Load() {
		return &hopeless{
			fmt.Sprintf(
				`it answers 401 (not authorized); set mcpServers.%s.headers to the headers that it expects, `+
					`such as {"Authorization": "Bearer ..."}`,
				s.conf.Name,
			),
		}
	}
	var unreached *url.Error
	switch {
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		err = fmt.Errorf("no answer within %v", s.hub.opts.listTimeout)
	case errors.As(err, &unreached):
		err = fmt.Errorf(
			"%s cannot be reached: %w; check that it is running and that mcpServers.%s.url is correct",
			unreached.URL,
			unreached.Err,
			s.conf.Name,
		)
	}
	if proc == nil {
		return err
	}
	proc.Kill()
	_, _ = proc.Wait() // stderr is complete after this call
	if text := strings.TrimSpace(proc.Stderr()); text != "" {
		lines := strings.Split(text, "\n")
		return fmt.Errorf("%w; it said: %s", err, strings.Join(lines[max(0, len(lines)-3):], " | "))
	}
	return err
}

// newClient creates the client of one session. ctx ends with the session.
func (s *server) newClient(ctx context.Context) *sdk.Client {
	o := &sdk.ClientOptions{
		ToolListChangedHandler: func(_ context.Context,
			r *sdk.ToolListChangedRequest) {
			s.changed(connection{ctx, r.Session})
		},
		ProgressNotificationHandler: s.onProgress,
	}
	if s.hub.opts.Elicit != nil {
		o.ElicitationHandler = s.elicit
	}
	return sdk.NewClient(&sdk.Implementation{Name: "agent-lsp", Version: "1"}, o)
}

func (s *server) elicit(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	if r.Params.URL != "" {
		return &sdk.ElicitResult{Action: "decline"}, nil
	}
	q := Elicitation{
		Server:  s.conf.Name,
		Message: r.Params.Message,
		Schema:  r.Params.RequestedSchema,
	}
	if c := s.newest(); c != nil {
		q.SessionID = c.call.SessionID
		var stop context.CancelFunc
		ctx, stop = context.WithCancel(ctx)
		defer stop()
		defer context.AfterFunc(c.ctx, stop)()
		defer c.call.Paused()()
	}
	action, content := s.hub.opts.Elicit(ctx, q)
	return &sdk.ElicitResult{Action: action, Content: content}, nil
}

// calling records a call until the returned function is called.
func (s *server) calling(ctx context.Context, call *tool.Call) (over func()) {
	c := &running{ctx, call}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.calls = slices.DeleteFunc(s.calls, func(o *running) bool { return o == c })
	}
}

func (s *server) newest() *running {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.calls) == 0 {
		return nil
	}
	return s.calls[len(s.calls)-1]
}

// transport starts the server's process, or prepares an HTTP connection to the server.
func (s *server) transport(ctx context.Context) (sdk.Transport, *shell.Process, error) {
	if s.conf.URL != "" {
		base := s.hub.opts.http
		if base == nil {
			base = &http.Client{}
		}
		c := *base
		s.unauthorized.Store(false)
		c.CheckRedirect = sameHost(s.conf.URL)
		c.Transport = withHeaders{s.conf.URL, s.conf.Headers, &s.unauthorized, c.Transport}
		return &sdk.StreamableClientTransport{
			Endpoint:     s.conf.URL,
			HTTPClient:   &c,
			MaxEventSize: maxLine,
		}, nil, nil
	}
	if why := s.conf.Hopeless(); why != "" {
		return nil, nil, &hopeless{why}
	}
	proc, err := s.hub.opts.Runner.Start(ctx, shell.Command{
		Argv: append([]string{s.conf.Command}, s.conf.Args...), Dir: s.conf.Dir, Env: s.conf.Env})
	if err != nil {
		return nil, nil, err
	}
	return &sdk.IOTransport{
		Reader:        newLines(proc.Stdout),
		Writer:        proc.Stdin,
		MaxLineLength: -1,
	}, proc, nil
}

// withHeaders adds a server's configured headers to each request to that server, and bounds the
// messages in its responses. The headers usually contain a token, so no other host gets them.
type withHeaders struct {
	server  string // its URL
	headers map[string]string
	refused *atomic.Bool // set when the server answers 401
	next    http.RoundTripper
}

func (w withHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if own, err := url.Parse(w.server); err == nil && r.URL.Host == own.Host &&
		(r.URL.Scheme == own.Scheme || r.URL.Scheme == "https") {
		for k, v := range w.headers {
			r.Header.Set(k, v)
		}
	}
	next := w.next
	if next == nil {
		next = http.DefaultTransport
	}
	if w.refused.Load() {
		return nil, errors.New("the server answered 401 before")
	}
	resp, err := next.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusUnauthorized {
		w.refused.Store(true)
	}
	resp.Body = newBounded(resp)
	return resp, nil
}

// ready returns the session once the session exists and the server has the workspace folders as of
// the time of the call.
func (s *server) ready(ctx context.Context) (*sdk.ClientSession, error) {
	session, err := s.connected(ctx)
	if err != nil {
		return nil, err
	}
	return session, s.rootsTold(ctx)
}

// restartWait is how long a call waits for a server that is being restarted.
const restartWait = 15 * time.Second

// connected returns the session, or the reason why there is none. It waits for a server that is
// starting or restarting.
func (s *server) connected(ctx context.Context) (*sdk.ClientSession, error) {
	ctx, stop := context.WithTimeout(ctx, restartWait)
	defer stop()
	for {
		s.mu.Lock()
		session, err, over, news := s.session, s.err, s.over, s.news
		s.mu.Unlock()
		switch {
		case session != nil:
			return session, nil
		case over:
			return nil, fmt.Errorf(
				"the MCP server %s is down and will not be restarted: %w; continue without it",
				s.conf.Name,
				err,
			)
		}
		select {
		case <-news:
		case <-s.ended:
			return nil, fmt.Errorf("the MCP server %s was stopped because its settings changed", s.conf.Name)
		case <-ctx.Done():
			if err == nil {
				return nil, fmt.Errorf(
					"the MCP server %s is still starting; try again",
					s.conf.Name,
				)
			}
			return nil, fmt.Errorf(
				"the MCP server %s is down: %w; it is being restarted, so try again later or continue without it",
				s.conf.Name,
				err,
			)
		}
	}
}

// lost records the end of a session before serve notices it, so that the next call waits for the
// new session.
func (s *server) lost(session *sdk.ClientSession, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.session == session {
		s.session, s.err = nil, err
	}
}

// wake notifies all waiting goroutines that session, err or over changed. The caller holds mu.
func (s *server) wake() {
	close(s.news)
	s.news = make(chan struct{})
}

func (s *server) status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := Status{Name: s.conf.Name, State: "starting", Tools: len(s.offered)}
	switch {
	case s.session != nil:
		st.State = "ready"
	case s.err != nil:
		st.State, st.Error = "failed", s.err.Error()
	}
	return st
}

// watch registers f for the progress that the server reports with this token. The returned function
// removes f.
func (s *server) watch(token string, f func(string)) (forget func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.progress == nil {
		s.progress = map[string]func(string){}
	}
	s.progress[token] = f
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.progress, token)
	}
}

func (s *server) onProgress(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
	token, _ := r.Params.ProgressToken.(string)
	s.mu.Lock()
	f := s.progress[token]
	s.mu.Unlock()
	if f == nil {
		return
	}
	text := fmt.Sprintf("%g", r.Params.Progress)
	if r.Params.Total > 0 {
		text += fmt.Sprintf("/%g", r.Params.Total)
	}
	if r.Params.Message != "" {
		text += " " + r.Params.Message
	}
	f(text + "\n")
}

package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
)

// The default bounds of a call.
const (
	DefaultBaseURL          = "https://api.openai.com/v1"
	DefaultIdleTimeout      = 2 * time.Minute  // between two reads of a stream that has begun
	DefaultFirstByteTimeout = 5 * time.Minute  // from the request to the answer's first byte: local models read long prompts slowly
	DefaultEventTimeout     = 10 * time.Minute // between two events, however many comments or single bytes come
	DefaultMaxReply         = 64 << 20         // bytes of one reply, and of one event
)

// The values of Options.API.
const (
	APIChat      = "chat"
	APIResponses = "responses"
)

// KeyFunc gives the API key; it is asked before every call. Its error is shown to the user.
type KeyFunc func(ctx context.Context) (string, error)

// KeyRefused is told of a key that the provider refused as such (401). It returns true where asking
// for it anew may give another one.
type KeyRefused func(key string) bool

// Options configures a Model. The zero value is OpenAI's chat API without a key.
type Options struct {
	BaseURL      string // up to and including "/v1"; "" = DefaultBaseURL
	Model        string
	Provider     string // name for the screen; "" = the host
	Key          KeyFunc
	KeyRefused   KeyRefused // nil: a refused key is not asked for anew
	KeyHeader    string     // header of the key; "" = by dialect: "api-key" for Azure, else Authorization
	Organization string
	Headers      map[string]string
	Query        map[string]string          // added to each request's URL, such as Azure's api-version
	ExtraBody    map[string]json.RawMessage // added to each request's body; wins over our own fields
	API          string                     // APIChat (default) or APIResponses
	NoStream     bool
	DeferLoading *bool   // whether the responses API knows defer_loading; nil = by endpoint and model
	Dialect      Dialect // "" = told by BaseURL

	// What the model can do, where the built-in table is wrong. Zero values leave it to the table.
	ContextWindow, MaxOutput int
	Vision, Tools            *bool
	Prices                   map[string]Price // by model id; win over the table

	// How long the provider may keep silent; see the defaults. Where only IdleTimeout is set,
	// and below its default, the others follow it.
	IdleTimeout, FirstByteTimeout, EventTimeout time.Duration
	MaxReply                                    int

	Transport http.RoundTripper // nil = an own one with the usual proxy variables
	ExtraCAs  []byte            // PEM certificates trusted beside the system's
}

// Model is one model of one provider. Safe for concurrent use. Close it when it is no longer needed.
type Model struct {
	opts    Options
	dialect Dialect
	host    string
	client  *http.Client
	tools   atomic.Pointer[encodedTools] // of the last chat request

	background sync.WaitGroup // warming and draining
	stop       context.CancelFunc
	ctx        context.Context
}

var _ agent.Model = (*Model)(nil)

// New returns a Model. It does not touch the network; for an https endpoint it begins to
// load the system's certificates in the background.
func New(opts Options) *Model {
	if opts.BaseURL == "" {
		opts.BaseURL = DefaultBaseURL
	}
	opts.BaseURL = strings.TrimRight(opts.BaseURL, "/")
	opts.timeouts()
	opts.MaxReply = orDefault(opts.MaxReply, DefaultMaxReply)
	m := &Model{opts: opts, dialect: opts.Dialect}
	if u, err := url.Parse(opts.BaseURL); err == nil {
		m.host = u.Host
		if m.dialect == "" {
			m.dialect = DialectOf(u)
		}
	}
	m.ctx, m.stop = context.WithCancel(context.Background())
	m.client = m.newClient()
	return m
}

// eventsPerIdle is how many times an idle timeout that was set short an event may take.
const eventsPerIdle = 5

// timeouts fills in what is not set. An idle timeout that was set below the default holds
// for the first byte too, and bounds the event: whoever sets it wants to wait no longer.
func (o *Options) timeouts() {
	first, event := max(DefaultFirstByteTimeout, o.IdleTimeout), max(DefaultEventTimeout, o.IdleTimeout)
	if 0 < o.IdleTimeout && o.IdleTimeout < DefaultIdleTimeout {
		first, event = o.IdleTimeout, eventsPerIdle*o.IdleTimeout
	}
	o.IdleTimeout = orDefault(o.IdleTimeout, DefaultIdleTimeout)
	o.FirstByteTimeout = orDefault(o.FirstByteTimeout, first)
	o.EventTimeout = orDefault(o.EventTimeout, event)
}

func orDefault[T int | time.Duration](v, d T) T {
	if v <= 0 {
		return d
	}
	return v
}

// Close ends what the model does in the background and waits for it. Calls that run go on.
func (m *Model) Close() error {
	m.stop()
	m.background.Wait()
	m.client.CloseIdleConnections()
	return nil
}

// Info says what the configured model can do.
func (m *Model) Info() agent.ModelInfo { return m.info(m.opts.Model) }

func (m *Model) info(id string) agent.ModelInfo {
	known := lookup(id)
	i := agent.ModelInfo{
		ID: id, Provider: m.opts.Provider, ContextWindow: known.Window, MaxOutput: known.MaxOutput,
		Vision: known.vision(), Tools: known.tools(),
	}
	if i.Provider == "" {
		i.Provider = m.host
	}
	if m.opts.ContextWindow > 0 {
		i.ContextWindow = m.opts.ContextWindow
	}
	if m.opts.MaxOutput > 0 {
		i.MaxOutput = m.opts.MaxOutput
	}
	if m.opts.Vision != nil {
		i.Vision = m.opts.Vision
	}
	if m.opts.Tools != nil {
		i.Tools = m.opts.Tools
	}
	return i
}

// Generate makes one call; see agent.Model.
func (m *Model) Generate(ctx context.Context, req *agent.Request, on func(agent.Delta)) (*agent.Reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if on == nil {
		on = func(agent.Delta) {}
	}
	return made(ctx, m.newCall(ctx, req, on), (*call).run)
}

// made makes a call, once more where its key was refused and another one may be had.
func made[T any](ctx context.Context, c *call, run func(*call) (T, error)) (T, error) {
	out, err := run(c)
	if err != nil && c.refusedKey(ctx, err) {
		c = c.m.anew(ctx, c, err)
		out, err = run(c)
	}
	var none T
	switch {
	case err == nil:
		return out, nil
	case ctx.Err() != nil:
		return none, context.Cause(ctx)
	}
	return none, c.typed(err)
}

// refusedKey says whether the call failed for its key and another one may be had. The refused one is
// forgotten by whoever gave it.
func (c *call) refusedKey(ctx context.Context, err error) bool {
	e := retry.As(err)
	return e != nil && e.Status == http.StatusUnauthorized && c.key != "" && c.m.opts.KeyRefused != nil &&
		ctx.Err() == nil && c.m.opts.KeyRefused(c.key)
}

// anew is the same call, to be made with another key: where the same is given again, it fails as it did.
func (m *Model) anew(ctx context.Context, old *call, err error) *call {
	c := m.newCall(ctx, old.req, old.on)
	c.badKey, c.why = old.key, old.typed(err)
	return c
}

// Models lists the provider's models, with what it says of them and the table knows.
func (m *Model) Models(ctx context.Context) ([]agent.ModelInfo, error) {
	return made(ctx, m.newCall(ctx, &agent.Request{}, nil), (*call).list)
}

// ask asks for the call's key.
func (c *call) ask() (err error) {
	if c.key, err = c.m.key(c.ctx); err == nil && c.badKey != "" && c.key == c.badKey {
		return c.why
	}
	return err
}

// key asks for the API key.
func (m *Model) key(ctx context.Context) (string, error) {
	if m.opts.Key == nil {
		return "", nil
	}
	k, err := m.opts.Key(ctx)
	if err != nil {
		if ctx.Err() != nil {
			return "", err
		}
		e := &retry.Error{Kind: retry.Auth, Err: err, Message: "getting the API key: " + retry.Redact(err.Error()), Hint: retry.Hint(retry.Auth)}
		return "", e
	}
	return strings.TrimSpace(k), nil
}

// errNoReply is a stream that ended in order and said nothing at all.
var errNoReply = errors.New("the provider answered without any choice")

// reply makes the whole reply of what was gathered.
func (c *call) reply(msg *message.Message, finish string) *agent.Reply {
	msg.Role, msg.Model = message.RoleAssistant, c.model
	if msg.Usage != nil {
		c.m.addCost(c.model, msg.Usage)
	}
	return &agent.Reply{Message: msg, Finish: finish, Notices: c.notices}
}

package modelhttp

import (
	"context"
	"net/http"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/model/catalog"
)

// Default limits of a call.
const (
	DefaultIdleTimeout = 2 * time.Minute // maximum time between two reads of a started stream
	// DefaultFirstByteTimeout limits the time from the request to the first byte of the answer. It
	// is long because local models read long prompts slowly.
	DefaultFirstByteTimeout = 5 * time.Minute
	// DefaultEventTimeout limits the time between two events, even if comments or single bytes
	// arrive in between.
	DefaultEventTimeout = 10 * time.Minute
	// DefaultMaxReply limits the text, reasoning and tool arguments of one reply, in bytes.
	DefaultMaxReply = 16 << 20
	DefaultMaxCalls = 256 // maximum number of tool calls in one reply
	// eventsPerReply is the default of MaxEvent as a multiple of MaxReply. It allows an event that
	// contains the whole reply again, with JSON escapes.
	eventsPerReply = 2
)

// KeyFunc returns the API key. A Client calls it before every call. Its error is shown to the user.
type KeyFunc func(ctx context.Context) (string, error)

// KeyRefused is called with a key that the provider refused (401). It returns true if calling
// KeyFunc again may return another key.
type KeyRefused func(key string) bool

// Options configure an adapter, for any API.
//
//house:large all settings of a provider; an adapter may ignore some of them
type Options struct {
	BaseURL    string
	Model      string
	Provider   string // name for the user; "" means the host
	Scripted   bool   // whether this is the scripted model, whose host means nothing to users
	Key        KeyFunc
	KeyRefused KeyRefused // nil means that KeyFunc is not called again after a rejected key
	KeyHeader  string     // header of the key; "" means Authorization with "Bearer"
	Headers    map[string]string
	// Query is added to the URL of each request, for example Azure's api-version.
	Query    map[string]string
	NoStream bool
	// DeferLoading reports whether the provider supports defer_loading for tools that are loaded on
	// demand. If it is nil, the endpoint and the model decide.
	DeferLoading *bool

	EndMark  string // data of the event that ends a stream; "" if there is none
	PathHint string // a hint about the path of BaseURL, for errors

	// Errors contain these values. Setting is the setting that configures the provider. "" means
	// "provider". KeyHint returns where to correct a key that the provider refused. nil or "" means
	// a general hint. ModelHint explains what to do about a model that the provider does not have.
	Setting   string
	KeyHint   func() string
	ModelHint string

	// Catalog is the catalog's name for the provider. If it is "", the name is derived from the
	// host.
	Catalog string
	// These fields override the catalog's information about the endpoint's models. A zero value
	// leaves the information to the catalog.
	ContextWindow int
	Vision, Tools *bool
	Prices        map[string]catalog.Price // keyed by model ID; overrides the catalog
	// Unpriced is set for a local server, to which the catalog's prices do not apply.
	Unpriced bool

	// These timeouts limit how long the provider may be silent (see the defaults). If only
	// IdleTimeout is set and is below its default, the other timeouts are derived from it.
	IdleTimeout, FirstByteTimeout, EventTimeout time.Duration

	// Limits of a reply (see the defaults). A longer reply ends the call with an error that wraps
	// retry.ErrReplyTooLong.
	MaxReply int // maximum size of text, reasoning and tool arguments in bytes
	// MaxEvent is the maximum size, in bytes, of one event or of a response that is not a stream. 0
	// means twice MaxReply.
	MaxEvent int
	MaxCalls int

	Transport http.RoundTripper // nil means a new one that uses the standard proxy variables
}

// eventsPerIdle is the event timeout as a multiple of a shortened idle timeout.
const eventsPerIdle = 5

// timeouts sets the missing timeouts. If the user lowered the idle timeout below its default, the
// idle timeout also limits the wait for the first byte and, multiplied, the wait for an event.
func (o *Options) timeouts() {
	first, event := max(
		DefaultFirstByteTimeout,
		o.IdleTimeout,
	), max(
		DefaultEventTimeout,
		o.IdleTimeout,
	)
	if 0 < o.IdleTimeout && o.IdleTimeout < DefaultIdleTimeout {
		first, event = o.IdleTimeout, eventsPerIdle*o.IdleTimeout
	}
	o.IdleTimeout = orDefault(o.IdleTimeout, DefaultIdleTimeout)
	o.FirstByteTimeout = orDefault(o.FirstByteTimeout, first)
	o.EventTimeout = orDefault(o.EventTimeout, event)
}

func (o *Options) limits() {
	o.MaxReply = orDefault(o.MaxReply, DefaultMaxReply)
	o.MaxEvent = orDefault(o.MaxEvent, eventsPerReply*o.MaxReply)
	o.MaxCalls = orDefault(o.MaxCalls, DefaultMaxCalls)
}

func orDefault[T int | time.Duration](v, d T) T {
	if v <= 0 {
		return d
	}
	return v
}

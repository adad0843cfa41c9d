package modelhttp

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/model/catalog"
)

// The default limits of a call.
const (
	DefaultIdleTimeout = 2 * time.Minute // between two reads of a stream that has begun
	// from the request to the answer's first byte: local models read long prompts slowly
	DefaultFirstByteTimeout = 5 * time.Minute
	// between two events, however many comments or single bytes come
	DefaultEventTimeout = 10 * time.Minute
	// bytes of one reply's text, reasoning and tool arguments
	DefaultMaxReply = 16 << 20
	DefaultMaxCalls = 256 // tool calls of one reply
	// an event may hold the whole reply again, with JSON escapes
	eventsPerReply = 2
)

// KeyFunc returns the API key. A Client calls it before every call. Its error is shown to the user.
type KeyFunc func(ctx context.Context) (string, error)

// KeyRefused takes a key that the provider refused as such (401). It returns true if calling the
// KeyFunc again may return another key.
type KeyRefused func(key string) bool

// Options are what the adapters of all APIs can be configured with.
//
//house:large what a provider can be set to; each field is a setting that an adapter may ignore
type Options struct {
	BaseURL    string
	Model      string
	Provider   string // name for the screen; "" = the host
	Scripted   bool   // the endpoint is the scripted model, whose host means nothing to the user
	Key        KeyFunc
	KeyRefused KeyRefused // nil: KeyFunc is not called again for a refused key
	KeyHeader  string     // header of the key; "" = Authorization with "Bearer"
	Headers    map[string]string
	// added to each request's URL, such as Azure's api-version
	Query map[string]string
	// added to each request's body; wins over the adapter's own fields
	ExtraBody map[string]json.RawMessage
	NoStream  bool
	// DeferLoading says whether the provider knows defer_loading, for tools that are loaded on
	// demand; nil = by endpoint and model.
	DeferLoading *bool

	EndMark  string // data of the event that ends a stream, "" where the API has none
	PathHint string // how the path of a base URL usually looks, for errors

	// Catalog is the catalogue's name of the provider; "" = by the host.
	Catalog string
	// What the model can do, where the catalogue is wrong. Zero values leave it to the catalogue.
	ContextWindow, MaxOutput int
	Vision, Tools            *bool
	Prices                   map[string]catalog.Price // by model id; win over the catalogue
	// a local server: the prices of the catalogue do not apply
	Unpriced bool

	// How long the provider may keep silent; see the defaults. Where only IdleTimeout is set,
	// and below its default, the others follow it.
	IdleTimeout, FirstByteTimeout, EventTimeout time.Duration

	// What a reply may be at most; see the defaults. A longer one ends the call with an error
	// that wraps retry.ErrReplyTooLong.
	MaxReply int // bytes of its text, reasoning and tool arguments
	MaxEvent int // bytes of one event, or of an answer that is not a stream; 0 = twice MaxReply
	MaxCalls int

	Transport http.RoundTripper // nil = an own one with the usual proxy variables
	ExtraCAs  []byte            // PEM certificates trusted in addition to the system's
}

// eventsPerIdle is how many times an idle timeout that was set short an event may take.
const eventsPerIdle = 5

// timeouts fills in what is not set. An idle timeout that was set below the default holds
// for the first byte too, and bounds the event: whoever sets it wants to wait no longer.
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

package modelhttp

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/agent-lsp/agent-lsp/internal/agent"
)

// Generate makes one call with run (see agent.Model). Every adapter's Generate calls it.
func (c *Client) Generate(
	ctx context.Context,
	req *agent.Request,
	on func(agent.Delta),
	run func(*Call) (*agent.Reply, error),
) (*agent.Reply, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if on == nil {
		on = func(agent.Delta) {}
	}
	model := cmp.Or(req.Model, c.Options.Model)
	return Attempt(ctx, c, model, func(call *Call) (*agent.Reply, error) {
		call.Req, call.On = req, call.listen(on)
		return run(call)
	})
}

// SendTo sends a request to a path below the API version. The base URL may already end with the
// version.
func (c *Call) SendTo(method, version, path string, header http.Header) (*Answer, error) {
	base := c.Client.Options.BaseURL
	if !strings.HasSuffix(base, version) {
		base += version
	}
	r, err := http.NewRequestWithContext(c.Ctx, method, base+path, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	for k := range header {
		r.Header.Set(k, header.Get(k))
	}
	return c.Send(r)
}

// Decoder collects a reply from the events of one API.
type Decoder interface {
	// Event processes one event. It sets Call.Over once the reply is complete.
	Event(Event) error
	// Reply returns the complete reply after the last event.
	Reply() (*agent.Reply, error)
}

// wireOverhead is the maximum ratio between the size of a reply's events and the size of the parts
// that are kept. Each token arrives in its own envelope, and some events contain nothing to keep.
const wireOverhead = 64

// Gather calls next to get events and passes the events to d, until the reply is complete or next
// returns io.EOF.
func (c *Call) Gather(next func() (Event, error), d Decoder) (*agent.Reply, error) {
	for size := 0; ; {
		e, err := next()
		if err == io.EOF {
			return d.Reply()
		}
		if err != nil {
			return nil, err
		}
		if size += len(e.Data); size > c.Client.Options.MaxReply*wireOverhead {
			return nil, ErrLongReply
		}
		if err := d.Event(e); err != nil {
			return nil, err
		}
		if err := c.Meter.Err(); err != nil {
			return nil, err
		}
		if c.Ctx.Err() != nil {
			return nil, context.Cause(c.Ctx)
		}
		if c.Over {
			return d.Reply()
		}
	}
}

// Decode decodes an event into out. failure points to the member of out for the API's error. If
// that member is set, Decode returns it as an error.
func (c *Call) Decode(e Event, out any, failure *jsontext.Value) error {
	if jsonv2.Unmarshal(e.Data, out, Lenient) != nil {
		if e.IsError {
			return c.Failure(QuoteUnlessJSON(e.Data))
		}
		return c.Unreadable(e.Data)
	}
	switch {
	case Present(*failure):
		return c.Failure(*failure)
	case e.IsError:
		return c.Failure(e.Data)
	}
	return nil
}

// DecodeWhole is like Decode, for an answer that is not a stream.
func (c *Call) DecodeWhole(a *Answer, out any, failure *jsontext.Value) error {
	if a.Whole == nil {
		return c.ErrCut()
	}
	return c.Decode(Event{Data: a.Whole}, out, failure)
}

// Forced reports whether the request requires a tool call.
func (c *Call) Forced() bool {
	switch c.Req.ToolChoice {
	case "", "auto", "none":
		return false
	}
	return true
}

// Abilities reports whether the model sees images and calls tools. It fails if the request requires
// a tool call and the model cannot make one. It adds a notice about images that the model cannot
// see.
func (c *Call) Abilities() (see, call bool, err error) {
	info := c.Client.Info(c.Model)
	see, call = info.Vision == nil || *info.Vision, info.Tools == nil || *info.Tools
	if !call && c.Forced() {
		return see, call, c.ErrNoTools()
	}
	if !see {
		c.noticeImages()
	}
	return see, call, nil
}

// budgets maps thinking levels to numbers of tokens. It is used if an API requires a number and the
// request does not set one.
var budgets = map[string]int{
	"minimal": 1024,
	"low":     2048,
	"medium":  8192,
	"high":    16384,
	"xhigh":   32768,
}

// ThinkingBudget returns the number of thinking tokens in the request, or the number for its level.
func (c *Call) ThinkingBudget() int {
	return cmp.Or(c.Req.Thinking.Budget, budgets[c.Req.Thinking.Level])
}

package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
)

// call is one request on its way: it is go-openai's HTTPDoer and keeps what go-openai loses.
type call struct {
	m       *Model
	req     *agent.Request
	on      func(agent.Delta)
	ctx     context.Context
	cancel  context.CancelCauseFunc
	watch   watchdog
	model   string
	key     string
	badKey  string // the key that was refused for the same call before, "" where none was
	why     error  // how it was
	kept    []kept // while the body is encoded
	body    *requestBody
	notices []string

	over   bool        // the answer is whole, whatever still comes
	stream *normalizer // the answer, where it is an event stream
	whole  []byte      // the answer, where it is one JSON document
}

// decoder gathers a reply from the events of one of the APIs.
type decoder interface {
	// event takes one event's JSON.
	event(raw []byte) error
	// reply returns the whole after the last event; marked says that the end mark came.
	reply(marked bool) (*agent.Reply, error)
}

func (m *Model) newCall(ctx context.Context, req *agent.Request, on func(agent.Delta)) *call {
	c := &call{m: m, req: req, on: on, model: req.Model}
	if c.model == "" {
		c.model = m.opts.Model
	}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.watch.cancel = c.cancel
	return c
}

// receiver is go-openai's stream, of either API.
type receiver interface {
	RecvRaw() ([]byte, error)
	Close() error
}

func (c *call) run() (*agent.Reply, error) {
	err := c.ask()
	if err != nil {
		c.cancel(nil)
		return nil, err
	}
	var d decoder
	var written []byte
	if c.m.opts.API == APIResponses {
		written, err = c.encodeResponses()
		d = newResponsesDecoder(c)
	} else {
		written, err = c.encodeChat()
		d = newChatDecoder(c)
	}
	if err != nil {
		c.cancel(nil)
		return nil, err
	}
	c.body = c.assemble(written)
	s, err := c.open()
	if err != nil {
		c.cancel(nil)
		return nil, err
	}
	defer c.end(s)
	return c.receive(s, d)
}

// open sends the request. The typed request is a stand-in: Do sends our own body.
func (c *call) open() (receiver, error) {
	if c.m.opts.API == APIResponses {
		return c.client().CreateResponseStream(c.ctx, goopenai.CreateResponseRequest{Model: "m"})
	}
	return c.client().CreateChatCompletionStream(c.ctx, goopenai.ChatCompletionRequest{Model: "m"})
}

func (c *call) client() *goopenai.Client {
	cfg := goopenai.DefaultConfig("")
	cfg.BaseURL, cfg.OrgID, cfg.HTTPClient = c.m.opts.BaseURL, c.m.opts.Organization, c
	return goopenai.NewClientWithConfig(cfg)
}

func (c *call) receive(s receiver, d decoder) (*agent.Reply, error) {
	size := 0
	for {
		raw, err := s.RecvRaw()
		if err == io.EOF {
			return d.reply(c.whole != nil || c.stream != nil && c.stream.done)
		}
		if err != nil {
			return nil, err
		}
		if size += len(raw); size > c.maxBytes() {
			return nil, errTooLong
		}
		if err := d.event(raw); err != nil {
			return nil, err
		}
		if err := c.ctx.Err(); err != nil {
			return nil, context.Cause(c.ctx)
		}
		if c.over {
			return d.reply(true)
		}
	}
}

// wireOverhead is how much longer the events of a reply may be than its text: every token
// comes in an envelope of its own.
const wireOverhead = 64

func (c *call) maxBytes() int { return c.m.opts.MaxReply * wireOverhead }

// end gives the connection back. What may still come after the end mark is read in the
// background: a connection with unread bytes cannot be used again.
func (c *call) end(s receiver) {
	if c.stream == nil || !c.stream.done && !c.over || c.stream.err != nil {
		_ = s.Close()
		c.cancel(nil)
		return
	}
	c.m.background.Go(func() {
		defer c.cancel(nil)
		defer s.Close()
		stop := context.AfterFunc(c.m.ctx, func() { c.cancel(nil) })
		defer stop()
		timer := time.AfterFunc(drainTimeout, func() { c.cancel(nil) })
		defer timer.Stop()
		_, _ = io.Copy(io.Discard, io.LimitReader(c.stream.src, maxErrorBody))
	})
}

// typed makes a *retry.Error of whatever went wrong.
func (c *call) typed(err error) error {
	if e := retry.As(err); e != nil {
		e.Message = withoutKey(e.Message, c.key)
		return e
	}
	return c.readError(err)
}

// leastKey is how long a key is at least, bytes: a shorter one would be found everywhere.
const leastKey = 4

// withoutKey takes a key out of a text: as it is, as it stands within JSON that is quoted in the text, and as it
// stands in a URL.
func withoutKey(text, key string) string {
	if len(key) < leastKey {
		return text
	}
	for _, form := range []string{key, jsonKey(key), jsonKey(jsonKey(key)), url.QueryEscape(key)} {
		text = strings.ReplaceAll(text, form, "[redacted]")
	}
	return text
}

// readError types an error of reading the answer.
func (c *call) readError(err error) error {
	if cause := c.watch.cause(); cause != nil {
		return cause
	}
	e := &retry.Error{Kind: retry.Truncated, Err: err}
	switch {
	case retry.As(err) != nil:
		return err
	case errors.Is(err, errTooLong):
		e.Kind, e.Message = retry.Client, err.Error()
		e.Hint = "set sampling.maxTokens or choose another model"
		return e
	case errors.Is(err, errNoEvents), errors.Is(err, goopenai.ErrTooManyEmptyStreamMessages):
		e.Kind, e.Message = retry.StreamIdle, errNoEvents.Error()
	case errors.Is(err, errNoReply):
		e.Kind, e.Message = retry.Transient, err.Error()
	case errors.Is(err, http.ErrUseLastResponse):
		e.Kind, e.Message = retry.Client, "the provider redirects elsewhere"
	default:
		e.Message = fmt.Sprintf("the answer of %s broke off: %s", c.m.host, retry.Redact(err.Error()))
	}
	e.Hint = retry.Hint(e.Kind)
	return e
}

// errCut is a stream that stopped without its end.
func (c *call) errCut() error {
	return &retry.Error{Kind: retry.Truncated, Message: fmt.Sprintf("the answer of %s stopped before its end", c.m.host), Hint: retry.Hint(retry.Truncated)}
}

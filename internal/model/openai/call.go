package openai

import (
	"context"
	"errors"
	"io"
	"net/http"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
)

// call is one request on its way: it is go-openai's HTTPDoer and keeps what go-openai loses.
type call struct {
	*modelhttp.Call
	m    *Model
	req  *agent.Request
	on   func(agent.Delta)
	body modelhttp.BodyBuilder

	answer *modelhttp.Answer
}

// decoder gathers a reply from the events of one of the APIs.
type decoder interface {
	// event takes one event's JSON.
	event(raw []byte) error
	// reply returns the whole after the last event; marked says that the end mark came.
	reply(marked bool) (*agent.Reply, error)
}

// receiver is go-openai's stream, of either API.
type receiver interface {
	RecvRaw() ([]byte, error)
	Close() error
}

func (c *call) run() (*agent.Reply, error) {
	var d decoder
	var written []byte
	var err error
	if c.m.opts.API == APIResponses {
		written, err = c.encodeResponses()
		d = newResponsesDecoder(c)
	} else {
		written, err = c.encodeChat()
		d = newChatDecoder(c)
	}
	if err != nil {
		return nil, err
	}
	c.Body = c.body.Body(written)
	s, err := c.open()
	if err != nil {
		return nil, err
	}
	return c.receive(s, d)
}

// open sends the request. The typed request is a stand-in: Do sends our own body.
func (c *call) open() (receiver, error) {
	if c.m.opts.API == APIResponses {
		return c.client().CreateResponseStream(c.Ctx, goopenai.CreateResponseRequest{Model: "m"})
	}
	return c.client().CreateChatCompletionStream(c.Ctx, goopenai.ChatCompletionRequest{Model: "m"})
}

func (c *call) client() *goopenai.Client {
	cfg := goopenai.DefaultConfig("")
	cfg.BaseURL, cfg.OrgID, cfg.HTTPClient = c.m.opts.BaseURL, c.m.opts.Organization, c
	return goopenai.NewClientWithConfig(cfg)
}

// Do sends go-openai's request with our body, headers and query; it returns only answers
// that are an event stream or JSON, as an event stream that go-openai reads right.
func (c *call) Do(r *http.Request) (*http.Response, error) {
	a, err := c.Send(r)
	if err != nil {
		return nil, err
	}
	c.answer = a
	body := a.Response.Body
	a.Response.Body = &struct {
		io.Reader
		io.Closer
	}{newStream(a), body}
	return a.Response, nil
}

func (c *call) receive(s receiver, d decoder) (*agent.Reply, error) {
	size := 0
	for {
		raw, err := s.RecvRaw()
		if err == io.EOF {
			return d.reply(c.answer.Whole != nil || c.answer.Events.Ended)
		}
		if errors.Is(err, goopenai.ErrTooManyEmptyStreamMessages) {
			err = modelhttp.ErrNoEvents
		}
		if err != nil {
			return nil, err
		}
		if size += len(raw); size > c.m.opts.MaxReply*wireOverhead {
			return nil, modelhttp.ErrLongReply
		}
		if err := d.event(raw); err != nil {
			return nil, err
		}
		if err := c.Meter.Err(); err != nil {
			return nil, err
		}
		if err := c.Ctx.Err(); err != nil {
			return nil, context.Cause(c.Ctx)
		}
		if c.Over {
			return d.reply(true)
		}
	}
}

// wireOverhead is how many times longer the events of a reply may be than what is kept of
// them: every token arrives in an envelope of its own, and events may carry nothing to keep.
const wireOverhead = 64

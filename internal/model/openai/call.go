package openai

import (
	"errors"
	"io"
	"net/http"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
)

// call is one request in progress. It implements go-openai's HTTPDoer and stores the data that
// go-openai drops.
type call struct {
	*modelhttp.Call
	m *Model
}

// receiver is a go-openai stream of either API.
type receiver interface {
	RecvRaw() ([]byte, error)
	Close() error
}

func (c *call) run() (*agent.Reply, error) {
	var d modelhttp.Decoder
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
	c.Body = c.Builder.Body(written)
	s, err := c.open()
	if err != nil {
		return nil, err
	}
	return c.Gather(func() (modelhttp.Event, error) {
		raw, err := s.RecvRaw()
		if errors.Is(err, goopenai.ErrTooManyEmptyStreamMessages) {
			err = modelhttp.ErrNoEvents
		}
		return modelhttp.Event{Data: raw}, err
	}, d)
}

// finish returns a complete reply. A reply with a refusal and without a call is an error.
func (c *call) finish(msg *message.Message, finish string, calls bool) (*agent.Reply, error) {
	var refusal strings.Builder
	for i := range msg.Content {
		if b := &msg.Content[i]; b.Type == message.Refusal {
			refusal.WriteString(b.Text)
		}
	}
	if refusal.Len() > 0 && !calls {
		return nil, modelhttp.ErrRefused(c.Model, "", refusal.String())
	}
	msg.Stop = stopOf(finish, calls)
	return c.Reply(msg, finish), nil
}

// open sends the request. The typed request is only a placeholder, because Do sends the body of
// call.
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

// Do sends go-openai's request with this package's body, headers and query. It accepts only event
// streams and JSON. It returns either of them as an event stream that go-openai parses correctly.
func (c *call) Do(r *http.Request) (*http.Response, error) {
	a, err := c.Send(r)
	if err != nil {
		return nil, err
	}
	body := a.Response.Body
	a.Response.Body = &struct {
		io.Reader
		io.Closer
	}{newStream(a), body}
	return a.Response, nil
}

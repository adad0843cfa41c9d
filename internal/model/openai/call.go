package openai

import (
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
	if err := c.open(); err != nil {
		return nil, err
	}
	return c.Gather(events(c.Answer()), d)
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
// call. go-openai's reader of the stream stays unused (see events).
func (c *call) open() (err error) {
	if c.m.opts.API == APIResponses {
		_, err = c.client().CreateResponseStream(c.Ctx, goopenai.CreateResponseRequest{Model: "m"})
	} else {
		_, err = c.client().CreateChatCompletionStream(c.Ctx,
			goopenai.ChatCompletionRequest{Model: "m"})
	}
	return err
}

func (c *call) client() *goopenai.Client {
	cfg := goopenai.DefaultConfig("")
	cfg.BaseURL, cfg.OrgID, cfg.HTTPClient = c.m.opts.BaseURL, c.m.opts.Organization, c
	return goopenai.NewClientWithConfig(cfg)
}

// Do sends go-openai's request with this package's body, headers and query, and accepts
// only event streams and JSON. The response that it returns has no body, because this package reads
// the answer itself (see Call.Answer).
func (c *call) Do(r *http.Request) (*http.Response, error) {
	a, err := c.Send(r)
	if err != nil {
		return nil, err
	}
	empty := *a.Response
	empty.Body = http.NoBody
	return &empty, nil
}

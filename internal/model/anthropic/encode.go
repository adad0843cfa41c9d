package anthropic

import (
	"fmt"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
)

// mark marks the end of a prefix that the service should cache. A request contains up to four
// marks: one after the tools, one after the system prompt, and two in the conversation (see
// messages.go).
const mark = `,"cache_control":{"type":"ephemeral"}`

// encode writes the body of a request. The encoding of each message is cached for later requests.
func (c *call) encode() ([]byte, error) {
	see, calls, err := c.Abilities()
	if err != nil {
		return nil, err
	}
	if calls && c.defersLoading() {
		c.loaded = modelhttp.LoadedTools(c.Req)
	}
	if err := c.arrange(see); err != nil {
		return nil, err
	}
	b := make([]byte, 0, 4096+128*len(c.Req.Messages))
	b = modelhttp.AppendField(append(b, '{'), "model", c.Model)
	b = c.head(b)
	if calls && len(c.Req.Tools) > 0 {
		b = c.tools(b)
	}
	return append(c.messages(c.system(b)), '}'), nil
}

// beforeThinking is the maximum length of a reply, in tokens, for Claude models before version 3.7,
// which do not support thinking.
const beforeThinking = 4096

// head appends the fields before the prompt: the output limit, stream, thinking and sampling.
func (c *call) head(b []byte) []byte {
	level := c.Req.Thinking.Level
	derived := modelhttp.DerivedOutput
	if level != "" && level != "off" {
		derived += c.budget(derived)
	}
	if g, _ := generationOf(c.Model); g.major == 3 && g.minor < 7 {
		// The catalog no longer lists these models.
		derived = beforeThinking
	}
	limit := c.OutputLimit(derived)
	b = modelhttp.AppendInt(b, "max_tokens", limit)
	if !c.Client.Options.NoStream {
		b = append(modelhttp.AppendKey(b, "stream"), "true"...)
	}
	t := c.thinking(limit)
	switch {
	case t.adaptive:
		b = append(
			modelhttp.AppendKey(b, "thinking"),
			`{"type":"adaptive","display":"summarized"}`...)
		b = append(
			modelhttp.AppendField(
				append(modelhttp.AppendKey(b, "output_config"), '{'),
				"effort",
				t.effort,
			),
			'}',
		)
	case t.budget > 0:
		b = append(modelhttp.AppendKey(b, "thinking"), `{"type":"enabled"`...)
		b = append(modelhttp.AppendInt(b, "budget_tokens", t.budget), '}')
	case t.off:
		b = append(modelhttp.AppendKey(b, "thinking"), `{"type":"disabled"}`...)
	}
	return c.sampling(b, t)
}

// sampling appends the sampling parameters that are set and that the model accepts.
func (c *call) sampling(b []byte, t thinks) []byte {
	s := c.Req.Sampling
	if s.MinP != 0 || s.PresencePenalty != 0 || s.RepetitionPenalty != 0 {
		c.Notice(
			"the provider does not support minP, presencePenalty or repetitionPenalty, so they are not sent",
		)
	}
	if !t.samples {
		if s.Temperature != nil || s.TopP != 0 || s.TopK != 0 {
			c.Notice(c.Model + " does not support temperature, topP or topK here, so they are not sent")
		}
		return b
	}
	if s.Temperature != nil && *s.Temperature > 1 {
		c.Notice(fmt.Sprintf("%s accepts a temperature from 0 to 1, so %g is not sent", c.Model,
			*s.Temperature))
		s.Temperature = nil
	}
	if g, _ := generationOf(c.Model); s.Temperature != nil && s.TopP != 0 && g.atLeast(4, 1) {
		c.Notice(c.Model + " accepts temperature or topP, but not both, so topP is not sent")
		s.TopP = 0
	}
	b = modelhttp.AppendOptional(b, "temperature", s.Temperature)
	b = modelhttp.AppendFloat(b, "top_p", s.TopP)
	return modelhttp.AppendFloat(b, "top_k", float64(s.TopK))
}

// system appends the system prompt. It puts a cache mark after the last block that has Cache set
// or, if there is none, after the whole prompt.
func (c *call) system(b []byte) []byte {
	last := -1
	var blocks []agent.SystemBlock
	for _, s := range c.Req.System {
		if strings.TrimSpace(s.Text) == "" {
			continue
		}
		if s.Cache {
			last = len(blocks)
		}
		blocks = append(blocks, s)
	}
	if len(blocks) == 0 {
		return b
	}
	if last < 0 {
		last = len(blocks) - 1
	}
	b = append(modelhttp.AppendKey(b, "system"), '[')
	start := len(b)
	for i := range blocks {
		b = modelhttp.AppendString(
			append(modelhttp.Next(b, start), `{"type":"text","text":`...),
			blocks[i].Text,
		)
		if i == last {
			b = append(b, mark...)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// tools appends the tools and the tool choice. The last tool that is not deferred gets a cache
// mark.
func (c *call) tools(b []byte) []byte {
	front, loaded := c.split()
	list := c.Client.Tools.Encode(front, appendTool)
	b = c.Builder.Put(modelhttp.AppendKey(b, "tools"), list[:len(list)-len("}]")])
	b = append(append(b, mark...), '}')
	for i := range loaded {
		b = appendTool(append(b, ','), &loaded[i])
		b = append(b[:len(b)-1], `,"defer_loading":true}`...)
	}
	b = append(b, ']')
	switch choice := c.Req.ToolChoice; choice {
	case "":
		return b
	case "auto", "none":
		return append(
			modelhttp.AppendField(
				append(modelhttp.AppendKey(b, "tool_choice"), '{'),
				"type",
				choice,
			),
			'}',
		)
	case "required":
		return append(modelhttp.AppendKey(b, "tool_choice"), `{"type":"any"}`...)
	default:
		b = append(modelhttp.AppendKey(b, "tool_choice"), `{"type":"tool"`...)
		return append(modelhttp.AppendField(b, "name", modelhttp.PlainName(choice)), '}')
	}
}

func appendTool(b []byte, t *agent.ToolSpec) []byte {
	b = modelhttp.AppendField(append(b, '{'), "name", modelhttp.PlainName(t.Name))
	if t.Description != "" {
		b = modelhttp.AppendField(b, "description", t.Description)
	}
	return append(modelhttp.AppendSchema(b, "input_schema", t), '}')
}

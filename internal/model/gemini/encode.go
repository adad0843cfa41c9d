package gemini

import (
	"encoding/json"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
)

// encode writes the body of a request. The encoding of each message is cached for later requests.
// The service automatically caches prefixes of the tools, the system prompt and the contents, so
// each call must begin like the previous one.
func (c *call) encode() ([]byte, error) {
	see, calls, err := c.Abilities()
	if err != nil {
		return nil, err
	}
	b := append(make([]byte, 0, 4096+128*len(c.Req.Messages)), '{')
	b = c.system(b)
	if calls && len(c.Req.Tools) > 0 {
		b = c.tools(b)
	}
	b, err = c.contents(b, see)
	if err != nil {
		return nil, err
	}
	return append(c.generation(b), '}'), nil
}

// system appends the system prompt.
func (c *call) system(b []byte) []byte {
	var parts []byte
	for _, s := range c.Req.System {
		parts = appendText(parts, s.Text)
	}
	if len(parts) == 0 {
		return b
	}
	b = append(modelhttp.AppendKey(b, "systemInstruction"), `{"parts":[`...)
	return append(append(b, parts...), "]}"...)
}

// tools appends the tools and the tool choice.
func (c *call) tools(b []byte) []byte {
	list := c.Client.Tools.Encode(c.Req.Tools, appendTool)
	b = append(modelhttp.AppendKey(b, "tools"), `[{"functionDeclarations":`...)
	b = append(c.Builder.Put(b, list), "}]"...)
	mode := ""
	switch c.Req.ToolChoice {
	case "":
		return b
	case "auto":
		mode = "AUTO"
	case "none":
		mode = "NONE"
	default:
		mode = "ANY"
	}
	b = append(modelhttp.AppendKey(b, "toolConfig"), `{"functionCallingConfig":{`...)
	b = modelhttp.AppendField(b, "mode", mode)
	if c.Forced() && c.Req.ToolChoice != "required" {
		b = append(modelhttp.AppendKey(b, "allowedFunctionNames"), '[')
		b = append(modelhttp.AppendString(b, toolName(c.Req.ToolChoice)), ']')
	}
	return append(b, "}}"...)
}

func appendTool(b []byte, t *agent.ToolSpec) []byte {
	b = modelhttp.AppendField(append(b, '{'), "name", toolName(t.Name))
	if t.Description != "" {
		b = modelhttp.AppendField(b, "description", t.Description)
	}
	if json.Valid(t.Schema) && len(t.Schema) > 0 {
		b = append(modelhttp.AppendKey(b, "parametersJsonSchema"), t.Schema...)
	}
	return append(b, '}')
}

// toolName returns a tool's name in the form that the API allows: it begins with a letter or an
// underscore.
func toolName(name string) string {
	name = modelhttp.PlainName(name)
	if first := name[0]; first == '-' || first >= '0' && first <= '9' {
		return modelhttp.PlainName("_" + name)
	}
	return name
}

// generation appends generationConfig: the limit of output tokens, the sampling parameters and the
// thinking settings.
func (c *call) generation(b []byte) []byte {
	s := c.Req.Sampling
	if s.MinP != 0 || s.RepetitionPenalty != 0 {
		c.Notice("the provider does not support minP or repetitionPenalty, so they are not sent")
	}
	g := []byte{'{'}
	if s.MaxTokens > 0 {
		g = modelhttp.AppendInt(g, "maxOutputTokens", c.OutputLimit(s.MaxTokens))
	}
	g = modelhttp.AppendOptional(g, "temperature", s.Temperature)
	g = modelhttp.AppendFloat(g, "topP", s.TopP)
	g = modelhttp.AppendFloat(g, "topK", float64(s.TopK))
	g = modelhttp.AppendFloat(g, "presencePenalty", s.PresencePenalty)
	g = c.thinking(g)
	if len(g) == 1 {
		return b
	}
	return append(append(modelhttp.AppendKey(b, "generationConfig"), g...), '}')
}

// appendText appends a text part. The API refuses parts without a visible character.
func appendText(b []byte, text string) []byte {
	if strings.TrimSpace(text) == "" {
		return b
	}
	b = append(modelhttp.Next(b, 0), `{"text":`...)
	return append(modelhttp.AppendString(b, text), '}')
}

package openai

import (
	"strings"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// If a model does not support tools, its prompt describes them. The model writes its calls as text,
// in which the engine's fallback parser (package repair) finds them.

// textToolPrompt describes the tools and the format of a call to the model.
func textToolPrompt(tools []agent.ToolSpec) string {
	b := []byte("You can use tools. To call one, write exactly this, and then stop and wait for the result:\n" +
		"<tool_call>\n{\"name\": \"TOOL\", \"arguments\": {…}}\n</tool_call>\nThe tools, one JSON object a line:\n")
	for i := range tools {
		b = append(appendTool(b, &tools[i]), '\n')
	}
	return string(b)
}

// textToolCalls returns a reply's text followed by its calls, in the format that textToolPrompt
// describes.
func textToolCalls(text string, calls []*message.ToolCall) string {
	for _, c := range calls {
		one := modelhttp.AppendField([]byte{'{'}, "name", c.Name)
		one = append(append(modelhttp.AppendKey(one, "arguments"), c.Args...), '}')
		text = strings.TrimRight(text, "\n") + "\n<tool_call>\n" + string(one) + "\n</tool_call>"
	}
	return strings.TrimLeft(text, "\n")
}

func textToolResult(name, text string) string {
	return "<tool_response name=\"" + name + "\">\n" + text + "\n</tool_response>"
}

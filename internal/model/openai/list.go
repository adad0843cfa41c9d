package openai

import (
	"github.com/go-json-experiment/json/jsontext"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent"
)

// wireModel is an entry of a model list in the words of all providers.
type wireModel struct {
	ID            string         `json:"id"`
	Name          string         `json:"name"`           // OpenRouter
	ContextLength jsontext.Value `json:"context_length"` // OpenRouter
	ContextWindow jsontext.Value `json:"context_window"` // Groq
	MaxModelLen   jsontext.Value `json:"max_model_len"`  // vLLM
	MaxContext    jsontext.Value `json:"max_context_length"`
	Meta          struct {
		Train jsontext.Value `json:"n_ctx_train"` // llama-server
	} `json:"meta"`
	Architecture struct {
		Input []string `json:"input_modalities"` // OpenRouter
	} `json:"architecture"`
	Parameters []string `json:"supported_parameters"`
}

// list asks for the models.
func (c *call) list() ([]agent.ModelInfo, error) {
	_, err := c.client().ListModels(c.Ctx)
	var answer struct {
		Error jsontext.Value `json:"error"`
		Data  []wireModel    `json:"data"`
	}
	if err := c.readWhole(err, &answer, &answer.Error); err != nil {
		return nil, err
	}
	list := make([]agent.ModelInfo, 0, len(answer.Data))
	for i := range answer.Data {
		if answer.Data[i].ID != "" {
			list = append(list, c.m.listed(&answer.Data[i]))
		}
	}
	return list, nil
}

// readWhole reads the answer of a request that is no stream; err is what go-openai made of it. go-openai reads the
// stream form that Do makes of the answer and fails on it; what it was is kept in the answer, with the fields that
// go-openai's own type has not.
func (c *call) readWhole(err error, answer any, failure *jsontext.Value) error {
	whole := c.Whole()
	switch {
	case whole == nil && err == nil:
		return c.ErrCut()
	case whole == nil:
		return err
	}
	return c.Decode(modelhttp.Event{Data: whole}, answer, failure)
}

// listed joins what the provider says of a model with what the table knows.
func (m *Model) listed(w *wireModel) agent.ModelInfo {
	i := m.Client.Info(w.ID)
	i.Name = w.Name
	for _, v := range []jsontext.Value{w.ContextLength, w.ContextWindow, w.MaxModelLen, w.MaxContext, w.Meta.Train} {
		if n, ok := modelhttp.Integer(v); ok && n > 0 && m.opts.ContextWindow == 0 {
			i.ContextWindow = n
			break
		}
	}
	if len(w.Architecture.Input) > 0 {
		i.Vision = contains(w.Architecture.Input, "image")
	}
	if len(w.Parameters) > 0 {
		i.Tools = contains(w.Parameters, "tools")
	}
	return i
}

func contains(list []string, s string) *bool {
	found := false
	for _, v := range list {
		found = found || v == s
	}
	return &found
}

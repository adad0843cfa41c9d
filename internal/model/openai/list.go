package openai

import (
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// wireModel is an entry of a model list, with the fields of all providers.
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
	Pricing    pricing  `json:"pricing"` // OpenRouter
	Top        struct {
		MaxOutput jsontext.Value `json:"max_completion_tokens"`
	} `json:"top_provider"` // OpenRouter
}

// pricing is a price in US dollars per token. Its values are strings or numbers.
type pricing struct {
	Prompt     jsontext.Value `json:"prompt"`
	Completion jsontext.Value `json:"completion"`
	CacheRead  jsontext.Value `json:"input_cache_read"`
	CacheWrite jsontext.Value `json:"input_cache_write"`
}

// price returns the price per million tokens, or nil if there is none. A price of zero is ignored,
// because the model may be free or have a variable price.
func (p *pricing) price() *message.Costs {
	var c message.Costs
	for v, to := range map[*jsontext.Value]*float64{
		&p.Prompt: &c.Input, &p.Completion: &c.Output,
		&p.CacheRead: &c.CacheRead, &p.CacheWrite: &c.CacheWrite,
	} {
		f, err := strconv.ParseFloat(strings.Trim(string(*v), `"`), 64)
		if err == nil && f > 0 && f < 1 {
			*to = math.Round(f*1e12) / 1e6
		}
	}
	if c.Input == 0 || c.Output == 0 {
		return nil
	}
	return &c
}

// list requests the list of models.
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

// readWhole reads an answer that is not a stream, including the fields that go-openai's types lack.
// err is the error from go-openai. It counts only without an answer, because Do returns no body.
func (c *call) readWhole(err error, answer any, failure *jsontext.Value) error {
	a := c.Answer()
	if a == nil {
		return err
	}
	return c.DecodeWhole(a, answer, failure)
}

// listed combines the information about a model from the provider and from the catalog.
func (m *Model) listed(w *wireModel) agent.ModelInfo {
	r := modelhttp.Report{Name: w.Name, Output: w.Top.MaxOutput, Window: []jsontext.Value{
		w.ContextLength, w.ContextWindow, w.MaxModelLen, w.MaxContext, w.Meta.Train}}
	if len(w.Architecture.Input) > 0 {
		r.Vision = contains(w.Architecture.Input, "image")
	}
	if len(w.Parameters) > 0 {
		r.Tools = contains(w.Parameters, "tools")
	}
	i := m.Reported(m.info(w.ID), &r)
	i.Price = w.Pricing.price()
	i.Reported = i.Reported || i.Price != nil
	return i
}

func contains(list []string, s string) *bool {
	found := false
	for _, v := range list {
		found = found || v == s
	}
	return &found
}

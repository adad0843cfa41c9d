package openai

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
	goopenai "github.com/sashabaranov/go-openai"
)

// Embed converts texts to vectors, one for each text, in order. The model must be an embedding
// model.
func (m *Model) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	return attempt(ctx, m, func(c *call) ([][]float32, error) { return c.embed(texts) })
}

func (c *call) embed(texts []string) ([][]float32, error) {
	_, err := c.client().CreateEmbeddings(c.Ctx,
		goopenai.EmbeddingRequestStrings{Input: texts,
			Model: goopenai.EmbeddingModel(c.m.opts.Model)})
	var answer struct {
		Error jsontext.Value `json:"error"`
		Data  []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if err := c.readWhole(err, &answer, &answer.Error); err != nil {
		return nil, err
	}
	vectors := make([][]float32, len(texts))
	for _, d := range answer.Data {
		if d.Index >= 0 && d.Index < len(vectors) {
			vectors[d.Index] = d.Embedding
		}
	}
	for _, v := range vectors {
		if len(v) == 0 {
			return nil, errors.New("the provider returned no vector for a text")
		}
	}
	return vectors, nil
}

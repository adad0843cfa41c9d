package script

import (
	"encoding/json"
	"hash/fnv"
	"net/http"
	"strings"
)

// embeddingSize is the length of the vectors of the scripted embeddings endpoint.
const embeddingSize = 256

// embeddings answers POST /v1/embeddings. Texts that share many trigrams get similar vectors. The
// request does not use up a line of the script.
func (v *Server) embeddings(w http.ResponseWriter, r *http.Request) {
	var req struct {
		Input []string `json:"input"`
	}
	if json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&req) != nil {
		refuse(w, http.StatusBadRequest, "invalid_request_error",
			"input is not a list of texts", "")
		return
	}
	data := make([]any, len(req.Input))
	for i, text := range req.Input {
		data[i] = map[string]any{"object": "embedding", "index": i, "embedding": vectorOf(text)}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data, "model": "script"})
}

func vectorOf(text string) []float32 {
	v := make([]float32, embeddingSize)
	for _, word := range strings.Fields(strings.ToLower(text)) {
		letters := []rune(" " + word + " ")
		for i := 0; i+3 <= len(letters); i++ {
			h := fnv.New32a()
			_, _ = h.Write([]byte(string(letters[i : i+3])))
			v[h.Sum32()%embeddingSize]++
		}
	}
	return v
}

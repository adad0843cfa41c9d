package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// Position is a zero-based line and character, in the negotiated encoding.
type Position struct {
	Line      uint32 `json:"line"`
	Character uint32 `json:"character"`
}

// Range is a span of a document. End is exclusive.
type Range struct {
	Start Position `json:"start"`
	End   Position `json:"end"`
}

// ContentBlock is a piece of a prompt or of a message. Type is text, image, file or resource and
// determines which other fields are set. Data is base64.
type ContentBlock struct {
	Type     string `json:"type" enum:"text,image,file,resource"`
	Text     string `json:"text,omitzero"`
	MimeType string `json:"mimeType,omitzero"`
	Data     []byte `json:"data,omitzero"`
	URL      string `json:"url,omitzero"`
	Name     string `json:"name,omitzero"`
	URI      string `json:"uri,omitzero"`
	Range    *Range `json:"range,omitzero"`
}

// Prompt is the user's input. On the wire it is a string or an array of blocks.
type Prompt []ContentBlock

// UnmarshalJSON accepts a string or an array of blocks.
func (p *Prompt) UnmarshalJSON(data []byte) error {
	data = bytes.TrimSpace(data)
	switch {
	case bytes.Equal(data, []byte("null")):
		*p = nil
		return nil
	case len(data) > 0 && data[0] == '"':
		var text string
		if err := json.Unmarshal(data, &text); err != nil {
			return err
		}
		*p = Prompt{{Type: "text", Text: text}}
		return nil
	case len(data) > 0 && data[0] == '[':
		var blocks []ContentBlock
		if err := json.Unmarshal(data, &blocks); err != nil {
			return err
		}
		*p = blocks
		return nil
	}
	return fmt.Errorf("a prompt is a string or an array of content blocks")
}

// MarshalJSON encodes plain text as a string.
func (p Prompt) MarshalJSON() ([]byte, error) {
	if len(p) == 1 && reflect.DeepEqual(p[0], ContentBlock{Type: "text", Text: p[0].Text}) {
		return json.Marshal(p[0].Text)
	}
	return json.Marshal(append([]ContentBlock{}, p...))
}

// PromptContext describes what the user sees in the editor when sending the prompt.
type PromptContext struct {
	URI         string       `json:"uri,omitzero"`
	Selection   *Range       `json:"selection,omitzero"`
	Diagnostics []Diagnostic `json:"diagnostics,omitzero"`
}

// Diagnostic is the part of an LSP diagnostic that the agent reads.
type Diagnostic struct {
	Range    Range           `json:"range"`
	Severity int             `json:"severity,omitzero"` // 1 error, 2 warning, 3 information, 4 hint
	Code     json.RawMessage `json:"code,omitzero"`
	Source   string          `json:"source,omitzero"`
	Message  string          `json:"message"`
}

// Location is a location in a file.
type Location struct {
	URI   string `json:"uri"`
	Range *Range `json:"range,omitzero"`
}

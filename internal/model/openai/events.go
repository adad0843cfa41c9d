package openai

import (
	"bytes"
	"io"

	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
)

// endMark is the data of the event that ends a stream of the chat API.
const endMark = "[DONE]"

// events returns a function that returns the next event of an answer, and io.EOF after the last
// one. An answer that is a single document is one event.
func events(a *modelhttp.Answer) func() (modelhttp.Event, error) {
	if a.Events == nil {
		rest := [][]byte{bytes.TrimSpace(oneLine(a.Whole))}
		return func() (e modelhttp.Event, err error) {
			if len(rest) == 0 {
				return e, io.EOF
			}
			e.Data, rest = rest[0], nil
			return e, nil
		}
	}
	ended := false
	return func() (modelhttp.Event, error) {
		if ended {
			return modelhttp.Event{}, io.EOF
		}
		e, err := a.Events.Next()
		if err == nil && string(e.Data) == endMark {
			ended, err = true, io.EOF
		}
		return e, err
	}
}

// oneLine replaces line endings with spaces. Line endings are only white space in JSON.
func oneLine(b []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, b)
}

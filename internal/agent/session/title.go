package session

import "github.com/agent-lsp/agent-lsp/internal/clip"

// ShortTitle makes a title from a text: one line of at most MaxTitle characters.
func ShortTitle(text string) string { return clip.Line(text, MaxTitle) }

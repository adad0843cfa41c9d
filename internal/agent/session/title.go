package session

import "github.com/agent-lsp/agent-lsp/internal/clip"

// ShortTitle shortens text to a title, which is one line of at most MaxTitle characters.
func ShortTitle(text string) string { return clip.Line(text, MaxTitle) }

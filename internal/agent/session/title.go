package session

// ShortTitle makes a title of a text: one line, bounded.
func ShortTitle(text string) string { return titleOf(text) }

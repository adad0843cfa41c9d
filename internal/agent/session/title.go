package session

// ShortTitle derives a title from a text: one line of limited length.
func ShortTitle(text string) string { return titleOf(text) }

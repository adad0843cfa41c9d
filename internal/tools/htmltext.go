package tools

import (
	"html"
	"strings"
)

// htmlText converts a page to readable text. Blocks become lines, headings and list items get their
// Markdown markers, and links keep their addresses, except addresses within the page. It drops
// comments, scripts, styles and other elements without text. It accepts malformed pages and works
// in one pass.
func htmlText(page string) string {
	w := &htmlWriter{}
	for len(page) > 0 {
		open := strings.IndexByte(page, '<')
		if open < 0 {
			w.text(page)
			break
		}
		w.text(page[:open])
		page = w.tag(page[open:])
	}
	return strings.TrimSpace(w.b.String())
}

type htmlWriter struct {
	b     strings.Builder
	pre   int
	space bool // white space is needed before the next word
	lines int  // line breaks at the end of the output
	href  string
	begun bool
}

// hidden lists the elements whose content is not shown.
var hidden = map[string]bool{"script": true, "style": true, "noscript": true, "svg": true,
	"template": true, "head": false, "iframe": true}

// blocks maps each element that begins a line to the text that precedes the element's content.
var blocks = map[string]string{
	"p": "", "div": "", "section": "", "article": "", "header": "", "footer": "", "main": "",
	"nav": "", "aside": "", "table": "", "tr": "", "ul": "", "ol": "", "dl": "", "dt": "",
	"dd":         "  ",
	"blockquote": "> ", "pre": "", "form": "", "br": "", "hr": "---", "title": "", "figure": "",
	"figcaption": "", "option": "",
	"li": "- ", "h1": "# ", "h2": "## ", "h3": "### ", "h4": "#### ", "h5": "##### ",
	"h6": "###### ",
}

// tag processes the tag at the beginning of page and returns the rest of the page.
func (w *htmlWriter) tag(page string) string {
	if strings.HasPrefix(page, "<!--") {
		return after(page, "-->")
	}
	name, closing := tagName(page)
	if name == "" && !strings.HasPrefix(page, "<!") && !strings.HasPrefix(page, "<?") {
		w.text("<")
		return page[1:]
	}
	end := tagEnd(page)
	tag, rest := page[:end], page[end:]
	if hidden[name] && !closing && !strings.HasSuffix(tag, "/>") {
		return afterClosing(rest, name)
	}
	w.element(name, tag, closing)
	return rest
}

func (w *htmlWriter) element(name, tag string, closing bool) {
	if mark, ok := blocks[name]; ok {
		w.block(name, mark, closing)
	}
	switch name {
	case "pre":
		if closing {
			w.pre = max(0, w.pre-1)
		} else {
			w.pre++
		}
	case "td", "th":
		if closing {
			w.write(" | ")
		}
	case "a":
		if closing && w.href != "" {
			w.write(" (" + w.href + ")")
		}
		if w.href = ""; !closing {
			w.href = linkOf(tag)
		}
	}
}

func (w *htmlWriter) block(name, mark string, closing bool) {
	want := 1
	if name == "p" || name == "pre" || name == "table" || len(name) == 2 && name[0] == 'h' &&
		name != "hr" {
		want = 2
	}
	w.newline(want)
	if !closing && mark != "" {
		w.write(mark)
		w.lines = 2 // a block directly inside does not begin another line
	}
}

func (w *htmlWriter) newline(n int) {
	w.space = false
	for w.begun && w.lines < n {
		w.b.WriteByte('\n')
		w.lines++
	}
}

func (w *htmlWriter) write(s string) {
	if w.space && w.begun && w.lines == 0 {
		w.b.WriteByte(' ')
	}
	w.b.WriteString(s)
	w.space, w.lines, w.begun = false, 0, true
}

func (w *htmlWriter) text(raw string) {
	s := html.UnescapeString(raw)
	if w.pre > 0 {
		if s != "" {
			w.write(s)
		}
		return
	}
	for i, word := range strings.Fields(s) {
		w.space = w.space || i > 0 || strings.TrimLeft(s[:1], " \t\r\n") == ""
		w.write(word)
	}
	if s != "" && strings.TrimLeft(s[len(s)-1:], " \t\r\n") == "" {
		w.space = true
	}
}

func tagName(page string) (name string, closing bool) {
	s := page[1:]
	if s, closing = strings.CutPrefix(s, "/"); s == "" {
		return "", closing
	}
	end := strings.IndexFunc(s, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-')
	})
	if end < 0 {
		end = len(s)
	}
	if s[0] >= '0' && s[0] <= '9' {
		return "", closing
	}
	return strings.ToLower(s[:min(end, 20)]), closing
}

// tagEnd returns the length of a tag. A > in a quoted attribute does not end it.
func tagEnd(page string) int {
	quote := byte(0)
	for i := 1; i < len(page); i++ {
		switch c := page[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case (c == '"' || c == '\'') && page[i-1] == '=':
			quote = c
		case c == '>':
			return i + 1
		}
	}
	return len(page)
}

func after(s, end string) string {
	if i := strings.Index(s, end); i >= 0 {
		return s[i+len(end):]
	}
	return ""
}

// afterClosing skips to the text after the closing tag of an element.
func afterClosing(s, name string) string {
	for {
		i := strings.Index(s, "</")
		if i < 0 {
			return ""
		}
		s = s[i:]
		if n, _ := tagName(s); n == name {
			return s[tagEnd(s):]
		}
		s = s[2:]
	}
}

func linkOf(tag string) string {
	lower := strings.ToLower(tag)
	i := strings.Index(lower, "href=")
	if i < 0 || len(lower) != len(tag) {
		return ""
	}
	s := tag[i+len("href="):]
	if s == "" {
		return ""
	}
	if q := s[0]; q == '"' || q == '\'' {
		s, _, _ = strings.Cut(s[1:], string(q))
	} else if end := strings.IndexAny(s, " \t\r\n>"); end >= 0 {
		s = s[:end]
	}
	s = html.UnescapeString(strings.TrimSpace(s))
	if strings.HasPrefix(s, "#") || strings.HasPrefix(strings.ToLower(s), "javascript:") {
		return ""
	}
	return s
}

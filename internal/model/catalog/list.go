package catalog

import (
	_ "embed"
	"slices"
	"sort"
	"strconv"
	"strings"

	"charm.land/catwalk/pkg/catwalk"
)

// data is the content of the module charm.land/catwalk, as text that needs no decoding. Decoding
// the module's own JSON would take longer than all other work for the first prompt. To regenerate
// data, run go test ./internal/model/catalog -update.
//
//go:embed models.txt
var data string

// catalog contains the lists of all providers, in the order of vendors. It is immutable.
type catalog struct {
	lists []list
	all   list // for models of an unknown provider: the first row for each plain name
}

// newCatalog makes a catalog from lists, which it sorts.
func newCatalog(lists []list) *catalog {
	slices.SortStableFunc(lists, func(a, b list) int { return a.rank() - b.rank() })
	var rows []string
	seen := map[string]bool{}
	for _, l := range lists {
		if l.provider == copilot {
			continue // this provider uses its own context windows
		}
		for row := range strings.SplitSeq(strings.Trim(l.rows, "\n"), "\n") {
			if name := plainOf(row); !seen[name] {
				seen[name] = true
				rows = append(rows, row)
			}
		}
	}
	return &catalog{lists, list{rows: sorted(rows)}}
}

// list contains the models of a provider in the order of their plain names. Each model is a row
// with the columns below, which are separated by tabs. The text begins and ends with a newline, so
// that find also finds the first row.
type list struct {
	provider string
	host     string // host of the endpoint; "" if unknown
	rows     string
}

// The columns of a row. An ID is in lower case. A plain name is the result of plainName.
const (
	columnID = iota
	columnName
	columnWindow
	columnReply
	columnInput
	columnOutput
	columnCacheRead
	columnCacheWrite
	columnVision // "1" if the model accepts images, otherwise ""
	columnLevels // levels, separated by commas
	columnPlain
	columns
)

// vendors lists the vendors whose data is preferred for a model of an unknown provider. The makers
// of models come first, followed by the resellers with the most models.
var vendors = []string{
	"anthropic", "openai", "gemini", "xai", "deepseek", "moonshot", "zai", "minimax",
	"alibaba-singapore", "openrouter", "vercel",
}

const copilot = string(catwalk.InferenceProviderCopilot)

// rank returns the list's position in the catalog. Lists of equal rank keep their order.
func (l list) rank() int {
	if i := slices.Index(vendors, l.provider); i >= 0 {
		return i
	}
	return len(vendors)
}

// find returns the first row whose ID is name, or else the first row whose plain name is name, or
// "" if there is neither.
func (l list) find(name string) string {
	if at := strings.Index(l.rows, "\n"+name+"\t"); at >= 0 {
		return l.rowAt(at + 1)
	}
	return l.findPlain(name)
}

// findPlain returns the first row whose plain name is name, or "" if there is none.
func (l list) findPlain(name string) string {
	at := sort.Search(len(l.rows), func(at int) bool { return plainOf(l.rowAt(at)) >= name })
	if row := l.rowAt(at); row != "" && plainOf(row) == name {
		return row
	}
	return ""
}

// rowAt returns the row at a position in the text, without its newline. At the position of a
// newline, it returns the row that follows. It returns "" after the last row.
func (l list) rowAt(at int) string {
	for at < len(l.rows) && l.rows[at] == '\n' {
		at++
	}
	if at >= len(l.rows) {
		return ""
	}
	start := strings.LastIndexByte(l.rows[:at], '\n') + 1
	end := strings.IndexByte(l.rows[at:], '\n')
	return l.rows[start : at+end]
}

// plainOf returns the plain name in a row. For "", which marks the end of a list, it returns a
// string that sorts after all names.
func plainOf(row string) string {
	if row == "" {
		return "\xff"
	}
	return row[strings.LastIndexByte(row, '\t')+1:]
}

// modelOf decodes a row. A column with an invalid number is zero.
func modelOf(row string) Model {
	col := strings.Split(row, "\t")
	if len(col) != columns {
		return Model{}
	}
	number := func(i int) float64 {
		v, _ := strconv.ParseFloat(col[i], 64)
		return v
	}
	m := Model{
		Name: col[columnName], Window: int(number(columnWindow)), Reply: int(number(columnReply)),
		Price: Price{
			Input: number(columnInput), Output: number(columnOutput),
			CacheRead: number(columnCacheRead), CacheWrite: number(columnCacheWrite),
		},
		Vision: col[columnVision] != "", Found: true,
	}
	if levels := col[columnLevels]; levels != "" {
		m.Levels = strings.Split(levels, ",")
	}
	return m
}

// parse reads the output of format. Each list begins with a row that contains the provider and the
// host, and ends with an empty row. The list of all models has no provider.
func parse(text string) *catalog {
	c := &catalog{}
	for end := strings.Index(text, "\n\n"); end >= 0; end = strings.Index(text, "\n\n") {
		block := text[:end+1]
		text = text[end+2:]
		head, _, _ := strings.Cut(block, "\n")
		provider, host, _ := strings.Cut(head, "\t")
		l := list{provider: provider, host: host, rows: block[len(head):]}
		if provider == "" {
			c.all = l
		} else if l.rows != "\n" {
			c.lists = append(c.lists, l)
		}
	}
	return c
}

// format writes a catalog as text.
func (c *catalog) format() string {
	var b strings.Builder
	for _, l := range slices.Concat(c.lists, []list{c.all}) {
		b.WriteString(l.provider + "\t" + l.host + l.rows + "\n")
	}
	return b.String()
}

// sorted joins rows in the order of their plain names.
func sorted(rows []string) string {
	slices.SortStableFunc(rows, func(a, b string) int {
		return strings.Compare(plainOf(a), plainOf(b))
	})
	return "\n" + strings.Join(rows, "\n") + "\n"
}

// listOf converts a provider's list and returns the number of its models. It skips entries that
// cannot be models.
func listOf(p *catwalk.Provider) (l list, models int) {
	var rows []string
	for i := range p.Models {
		if m := &p.Models[i]; m.ID != "" && m.ContextWindow >= 0 && m.DefaultMaxTokens >= 0 {
			rows = append(rows, rowOf(m))
		}
	}
	l = list{provider: oneColumn(string(p.ID)), rows: sorted(rows)}
	if _, rest, ok := strings.Cut(p.APIEndpoint, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		l.host = oneColumn(host)
	}
	return l, len(rows)
}

// oneColumn replaces control characters, such as the separators of columns and rows, with spaces.
func oneColumn(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' }), " ")
}

func rowOf(m *catwalk.Model) string {
	number := func(v float64) string {
		if v == 0 {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	price, vision := priceOf(m), ""
	if m.SupportsImages {
		vision = "1"
	}
	col := [columns]string{
		columnID:   oneColumn(strings.ToLower(m.ID)),
		columnName: oneColumn(m.Name), columnPlain: oneColumn(plainName(m.ID)),
		columnWindow: strconv.FormatInt(m.ContextWindow, 10),
		columnReply:  strconv.FormatInt(m.DefaultMaxTokens, 10),
		columnInput:  number(price.Input), columnOutput: number(price.Output),
		columnCacheRead: number(price.CacheRead), columnCacheWrite: number(price.CacheWrite),
		columnVision: vision, columnLevels: strings.Join(levelsOf(m), ","),
	}
	return strings.Join(col[:], "\t")
}

// levelsOf returns the thinking levels, named as in the settings. A model that thinks but lists no
// levels accepts a budget, which agent-lsp derives from a level.
func levelsOf(m *catwalk.Model) []string {
	if !m.CanReason {
		return nil
	}
	if len(m.ReasoningLevels) == 0 {
		return []string{"low", "medium", "high"}
	}
	var out []string
	for _, level := range m.ReasoningLevels {
		switch level {
		case "none":
			out = append(out, "off")
		case "minimal", "low", "medium", "high", "xhigh":
			out = append(out, level)
		}
	}
	return out
}

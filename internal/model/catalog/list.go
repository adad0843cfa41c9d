package catalog

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"

	"charm.land/catwalk/pkg/catwalk"
)

// data is the content of the module charm.land/catwalk as a text that needs no decoding: reading
// the module's own JSON takes longer than all the rest of a first prompt. A test writes it:
// go test ./internal/model/catalog -update
//
//go:embed models.txt
var data string

// catalog has the lists of all providers, in the order of vendors. It is immutable.
type catalog struct {
	lists []list
	all   map[string]string // the first row with a plain name
}

func newCatalog(lists []list) *catalog {
	slices.SortStableFunc(lists, func(a, b list) int { return a.rank() - b.rank() })
	c := &catalog{lists: lists, all: map[string]string{}}
	for _, l := range lists {
		if l.provider == copilot {
			continue // has its own context windows
		}
		for row := range strings.SplitSeq(strings.Trim(l.rows, "\n"), "\n") {
			name := row[strings.LastIndexByte(row, '\t')+1:]
			if c.all[name] == "" {
				c.all[name] = row
			}
		}
	}
	return c
}

// list has the models of a provider, one in a row of the columns below, separated by tabs. The text
// begins and ends with a newline, so that a search finds the first and the last column.
type list struct {
	provider string
	host     string // of the endpoint, or ""
	rows     string
}

// The columns of a row. An ID is in lower case. A plain name is what plainName returns.
const (
	columnID = iota
	columnName
	columnWindow
	columnReply
	columnInput
	columnOutput
	columnCacheRead
	columnCacheWrite
	columnVision // "1" or ""
	columnLevels // separated by commas
	columnPlain
	columns
)

// vendors lists whose data is preferred for a model of an unknown provider: first the vendors that
// make models, then the resellers with the most models.
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

// find returns the first row whose ID or plain name is name, or "" if there is none.
func (l list) find(name string) string {
	id := strings.Index(l.rows, "\n"+name+"\t")
	plain := strings.Index(l.rows, "\t"+name+"\n")
	at := id
	if id < 0 || plain >= 0 && plain < id {
		at = plain
	}
	if at < 0 {
		return ""
	}
	start := strings.LastIndexByte(l.rows[:at+1], '\n') + 1
	end := strings.IndexByte(l.rows[start:], '\n')
	return l.rows[start : start+end]
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

// parse reads what format wrote. Each list begins with a row of the provider and the host, and ends
// with an empty row.
func parse(text string) (lists []list) {
	for text != "" {
		var block string
		block, text, _ = strings.Cut(text, "\n\n")
		head, _, _ := strings.Cut(block, "\n")
		provider, host, ok := strings.Cut(head, "\t")
		if !ok || len(block) == len(head) {
			continue
		}
		// A newline after the block is part of what was cut.
		lists = append(lists, list{provider: provider, host: host, rows: block[len(head):] + "\n"})
	}
	return lists
}

// format writes lists as text.
func format(lists []list) string {
	var b strings.Builder
	for _, l := range lists {
		b.WriteString(l.provider + "\t" + l.host + l.rows + "\n")
	}
	return b.String()
}

// listOf converts a provider's list and returns the number of its models. It skips entries that
// cannot be models.
func listOf(p *catwalk.Provider) (l list, models int) {
	var b strings.Builder
	for i := range p.Models {
		if m := &p.Models[i]; m.ID != "" && m.ContextWindow >= 0 && m.DefaultMaxTokens >= 0 {
			models++
			b.WriteString("\n" + rowOf(m))
		}
	}
	b.WriteString("\n")
	l = list{provider: oneColumn(string(p.ID)), rows: b.String()}
	if _, rest, ok := strings.Cut(p.APIEndpoint, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		l.host = oneColumn(host)
	}
	return l, models
}

// oneColumn removes what separates columns and rows.
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

// levelsOf returns the thinking levels, named as in the settings. A model that thinks but has no
// levels of its own takes a budget.
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

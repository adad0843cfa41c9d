package repair

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// Verdict is the validator's verdict on a reply without tool calls.
type Verdict string

// The verdicts. All except Accept are also the names of their checks.
const (
	Accept        Verdict = ""
	Blank         Verdict = CheckBlank
	Truncated     Verdict = CheckTruncated
	Tentative     Verdict = CheckTentative
	Repetitive    Verdict = CheckRepetitive
	ReasoningOnly Verdict = CheckReasoningOnly
)

// For each check, these constants limit how often a reply is sent back to the model before it is
// accepted. A blank reply becomes an error instead of being accepted.
const (
	MaxBlankNudges     = 1
	MaxReasoningNudges = 1
	MaxTentativeNudges = 1
	MaxContinuations   = 3 // shared with replies that were cut off by the output limit
)

// The thresholds of the validator.
const (
	tentativeWords   = 40 // a reply that only announces the next step has fewer words than this
	repetitiveWords  = 10 // minimum number of words in each reply for a comparison by overlap
	repetitiveShare  = .8 // share of the shorter reply's words that must occur in both replies
	reasoningRunes   = 5
	reasoningVisible = 2 // a reply that is only reasoning has fewer visible words than this
)

// Budget counts the replies that were sent back in a turn. The zero value is a full budget. Call
// Reset after valid tool calls were executed.
type Budget struct {
	Continuations                int
	blank, reasoning, repetitive int
	tentative                    int
}

// Reset refills the budget.
func (b *Budget) Reset() { *b = Budget{} }

// Continue uses one continuation for a reply that was cut off. It returns false if none is left.
func (b *Budget) Continue() bool {
	if b.Continuations >= MaxContinuations {
		return false
	}
	b.Continuations++
	return true
}

// Answer is the input of Validate.
type Answer struct {
	Message    *message.Message
	AfterTools bool   // the reply directly follows tool results
	Previous   string // the text of the previous assistant message in the turn, or ""
}

// Texts of nudges. Each is sent once, as a hidden user message, and never stored.
const (
	NudgeBlank      = "Your previous response was empty. Provide a complete response."
	NudgeRepetitive = "Your previous response repeats an earlier one. Say what is new, or give your final answer."
	NudgeReasoning  = "Your previous response contained only reasoning. Give your final answer, or call a tool."
	NudgeTruncated  = "Your previous response appears incomplete. Continue from where you left off."
	NudgeTentative  = "You have just received tool results. Do not stop with a planning note: call the next tool, or give your answer."
	NudgeLength     = "Your previous response reached the output limit. Continue exactly from where you left off."
	NudgeFilter     = "The provider's content filter stopped your previous response. Rephrase it."
)

// Validate checks a reply that ended normally and has no tool calls. If Validate returns a nudge,
// the caller sends the reply and the nudge to the model, once. The verdict Blank without a nudge
// means that the budget is used up and the reply is an error.
func Validate(a Answer, b *Budget, o Options) (Verdict, string) {
	if len(a.Message.ToolCalls()) > 0 {
		return Accept, ""
	}
	text := strings.TrimSpace(a.Message.TextContent())
	reasoning := reasoningText(a.Message)
	switch {
	case o.ReasoningOnly && len(strings.Fields(text)) < reasoningVisible &&
		utf8.RuneCountInString(reasoning) >= reasoningRunes &&
		spend(&b.reasoning, MaxReasoningNudges):
		return ReasoningOnly, NudgeReasoning
	case o.Blank && isBlank(text):
		if spend(&b.blank, MaxBlankNudges) {
			return Blank, NudgeBlank
		}
		return Blank, ""
	case o.Repetitive && repeats(text, a.Previous) && spend(&b.repetitive, MaxBlankNudges):
		return Repetitive, NudgeRepetitive
	case o.Truncated && a.Message.Stop == message.StopEnd && LooksTruncated(text) && b.Continue():
		return Truncated, NudgeTruncated
	case o.Tentative && a.AfterTools && isTentative(text) &&
		spend(&b.tentative, MaxTentativeNudges):
		return Tentative, NudgeTentative
	}
	return Accept, ""
}

func spend(count *int, most int) bool {
	if *count >= most {
		return false
	}
	*count++
	return true
}

func reasoningText(m *message.Message) string {
	var s strings.Builder
	for i := range m.Content {
		if m.Content[i].Type == message.Reasoning {
			s.WriteString(m.Content[i].Text)
		}
	}
	return strings.TrimSpace(s.String())
}

// isBlank reports whether text has no visible content.
func isBlank(text string) bool {
	return strings.IndexFunc(text,
		func(r rune) bool { return !unicode.IsSpace(r) && unicode.IsPrint(r) }) < 0
}

// LooksTruncated reports whether text seems to have been cut off. Signs are an unclosed code fence,
// or text that ends with an ellipsis, a comma or a hyphen.
func LooksTruncated(text string) bool {
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	if text == "" {
		return false
	}
	if strings.Count(text, "```")%2 == 1 {
		return true
	}
	return strings.HasSuffix(text, "...") || strings.HasSuffix(text, "…") ||
		strings.HasSuffix(text, ",") || strings.HasSuffix(text, "-") &&
		!strings.HasSuffix(text, "---")
}

// repeats reports whether a reply repeats an earlier one. This is the case if they are equal except
// for case and spacing, or if both are long enough and most of their words are the same. A short
// reply that is given twice does not count.
func repeats(text, previous string) bool {
	a, b := strings.Fields(strings.ToLower(text)), strings.Fields(strings.ToLower(previous))
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	if strings.Join(a, " ") == strings.Join(b, " ") {
		return true
	}
	if min(len(a), len(b)) < repetitiveWords {
		return false
	}
	if len(a) > len(b) {
		a, b = b, a
	}
	have := make(map[string]int, len(b))
	for _, w := range b {
		have[w]++
	}
	same := 0
	for _, w := range a {
		if have[w] > 0 {
			have[w]--
			same++
		}
	}
	return float64(same) > repetitiveShare*float64(len(a))
}

var planning = []string{
	"let me ", "let's ", "i'll ", "i will ", "i'm going to ", "i am going to ", "i need to ",
	"i should ", "i want to ", "now i'll ", "now i will ",
	"now let me ", "next, i", "next i", "first, i", "first i", "first, let", "one moment",
	"just a moment", "give me a moment", "hold on", "please wait",
	"to start, i", "to begin, i", "okay, let me", "ok, let me", "okay, i'll", "ok, i'll",
	"alright, let", "sure, let me", "great, let me", "looking at ", "checking ", "going to ",
}

// isTentative reports whether text only announces the next step.
func isTentative(text string) bool {
	if text == "" || len(strings.Fields(text)) >= tentativeWords || strings.Contains(text, "```") ||
		strings.HasSuffix(text, "?") {
		return false
	}
	t := strings.ToLower(strings.ReplaceAll(text, "’", "'"))
	for _, p := range planning {
		if strings.HasPrefix(t, p) {
			return true
		}
	}
	return false
}

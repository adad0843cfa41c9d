package history

import (
	"encoding/json"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// The weights of the estimate, in tokens. The provider's own counts calibrate it (Meter).
const (
	bytesPerToken  = 4    // bytes of ASCII text in a token
	tokensMessage  = 4    // overhead of each message, in addition to its content
	tokensCall     = 12   // overhead of each tool call, in addition to its content
	tokensImage    = 1200 // tokens for an image of unknown size
	tokensWideRune = 1.0  // tokens of a Chinese, Japanese or Korean rune, or of an emoji
	tokensRune     = 0.5  // tokens of any other rune beyond ASCII
)

// Text estimates the number of tokens in s.
func Text(s string) int {
	ascii, other, wide := 0, 0, 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			ascii++
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if i += n; r >= 0x2E80 {
			wide++
		} else {
			other++
		}
	}
	t := float64(ascii)/bytesPerToken + float64(other)*tokensRune + float64(wide)*tokensWideRune
	if t > float64(int(t)) {
		t++
	}
	return int(t)
}

// Tokens estimates the number of tokens in a message. The message caches the estimate.
func Tokens(m *message.Message) int { return m.Measured(count) }

func count(m *message.Message) int {
	if m.App != "" {
		return 0
	}
	n := tokensMessage
	for i := range m.Content {
		b := &m.Content[i]
		n += Text(b.Text)
		switch {
		case b.Call != nil:
			n += tokensCall + Text(b.Call.Name) + Text(string(b.Call.Args))
		case b.Type == message.Image:
			n += tokensImage
		case b.Type == message.File:
			n += len(b.Data) / bytesPerToken
		}
		n += len(b.Opaque) / bytesPerToken / 2
	}
	return n
}

// Total estimates the number of tokens in several messages.
func Total(msgs []*message.Message) int {
	n := 0
	for _, m := range msgs {
		n += Tokens(m)
	}
	return n
}

// Meter tracks the size of the context. The size is the provider's count for the last call, plus
// the estimate for later messages, corrected by the previous error of the estimate. The zero value
// is ready to use. Meter is not safe for concurrent use.
type Meter struct {
	overhead  int     // estimate for system prompt and tools
	estimate  int     // estimate for all messages
	counted   int     // the provider's count after the last call; 0 if unknown
	atCounted int     // the estimate at that time
	ratio     float64 // the provider's count divided by the estimate; 0 if unknown
	stored    stored  // the count of a stored reply, until the overhead is known
}

// stored is a provider's count of the input tokens of a stored reply, and the estimate for the
// messages in that input.
type stored struct{ input, estimate int }

// Limits for the calibration. A ratio outside these limits is replaced by the nearer limit, because
// the count is probably wrong.
const (
	minRatio      = 0.5
	maxRatio      = 3.0
	minCalibrated = 500 // smaller estimates do not affect the ratio
)

// Add counts an appended message.
func (c *Meter) Add(m *message.Message) { c.estimate += Tokens(m) }

// Reset counts the messages of a history that replaces the previous one.
func (c *Meter) Reset(msgs []*message.Message) {
	c.estimate, c.counted, c.atCounted, c.stored = Total(msgs), 0, 0, stored{}
}

// SetOverhead sets the estimate for the content that is sent in addition to the messages.
func (c *Meter) SetOverhead(tokens int) {
	c.overhead = tokens
	if c.ratio == 0 && c.stored.input > 0 {
		c.calibrate(c.stored.input, c.stored.estimate)
	}
	c.stored = stored{}
}

// Restored gives the meter the provider's token counts that are stored with a reply. before and
// reply are the estimates for the earlier messages and for the reply. Without the counts, a
// restarted session would have only the uncalibrated estimate until its next reply.
func (c *Meter) Restored(input, output, before, reply int) {
	if input <= 0 {
		return
	}
	c.stored = stored{input, before}
	c.counted, c.atCounted = input+output, before+reply
}

func (c *Meter) calibrate(input, messages int) {
	if est := c.overhead + messages; est >= minCalibrated {
		c.ratio = min(max(float64(input)/float64(est), minRatio), maxRatio)
	}
}

// Counted records the provider's count for a call whose reply was just added: input tokens
// (including cached ones) and output tokens.
func (c *Meter) Counted(input, output, replyEstimate int) {
	if input <= 0 {
		return
	}
	c.calibrate(input, c.estimate-replyEstimate)
	c.counted, c.atCounted = input+output, c.estimate
}

// Refused records that a provider refused a call because it was too long for the window. It raises
// the estimate above the window. It changes nothing if the estimate is already above the window, or
// if the call was far too short to exceed it. In the second case, the actual window is smaller than
// assumed.
func (c *Meter) Refused(window int) {
	est := c.overhead + c.estimate
	if window <= 0 || est <= 0 || c.Used() > window || float64(window) > maxRatio*float64(est) {
		return
	}
	c.ratio = min(max(float64(window)/float64(est)*1.05, minRatio), maxRatio)
	c.counted = 0
}

// Ratio returns the factor by which estimates must be multiplied.
func (c *Meter) Ratio() float64 {
	if c.ratio == 0 {
		return 1
	}
	return c.ratio
}

// Used estimates the number of tokens that the next call would send.
func (c *Meter) Used() int {
	if c.counted > 0 {
		return c.counted + max(0, int(float64(c.estimate-c.atCounted)*c.Ratio()))
	}
	return int(float64(c.overhead+c.estimate) * c.Ratio())
}

// Overhead returns the calibrated estimate for the content that is sent in addition to the
// messages.
func (c *Meter) Overhead() int { return int(float64(c.overhead) * c.Ratio()) }

// resultMeta is a tool's metadata about its result, as the engine stores it.
type resultMeta struct {
	Kind    string `json:"kind"`
	Key     string `json:"key"`
	SHA256  string `json:"sha256"`
	Spill   string `json:"spill"`
	Changed bool   `json:"changed"`
}

// metaKey is tool.MetaKey, which this package must not import.
const metaKey = "result"

func metaOf(m *message.Message) (meta resultMeta) {
	if raw, ok := m.Meta[metaKey]; ok && json.Unmarshal(raw, &meta) != nil {
		return resultMeta{}
	}
	return meta
}

package policy

import (
	"encoding/json"
	"math/bits"
	"net/url"
	"strings"
	"sync/atomic"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// Redacted replaces a secret.
const Redacted = "[redacted]"

// providerKeys are variables that contain keys of model and search providers.
var providerKeys = words{list: "OPENAI_API_KEY ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN GEMINI_API_KEY GOOGLE_API_KEY GROQ_API_KEY MISTRAL_API_KEY DEEPSEEK_API_KEY OPENROUTER_API_KEY " +
	"TOGETHER_API_KEY FIREWORKS_API_KEY XAI_API_KEY COHERE_API_KEY AZURE_OPENAI_API_KEY AZURE_API_KEY CEREBRAS_API_KEY PERPLEXITY_API_KEY HF_TOKEN HUGGINGFACE_API_KEY " +
	"HUGGING_FACE_HUB_TOKEN REPLICATE_API_TOKEN VOYAGE_API_KEY JINA_API_KEY TAVILY_API_KEY BRAVE_API_KEY EXA_API_KEY NVIDIA_API_KEY DASHSCOPE_API_KEY MOONSHOT_API_KEY ZAI_API_KEY"}

// Scrubber removes variables that contain provider keys from environments. The zero value knows the
// usual names.
type Scrubber struct {
	Names  []string // more variables, such as provider.apiKeyEnv
	Values []string // known keys; variables that contain one are removed, whatever their names
}

// ScrubEnv removes the usual variables with provider keys from an environment for a command, an MCP
// server or a hook.
func ScrubEnv(env []string) []string { return Scrubber{}.Env(env) }

// Env returns the environment without the variables that contain provider keys. It does not change
// its argument.
func (s Scrubber) Env(env []string) []string {
	out := make([]string, 0, len(env))
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if !s.secret(strings.ToUpper(name), value) {
			out = append(out, kv)
		}
	}
	return out
}

func (s Scrubber) secret(name, value string) bool {
	if providerKeys.has(name) || strings.HasPrefix(name, "AGENT_LSP_") &&
		(strings.HasSuffix(name, "KEY") || strings.HasSuffix(name, "TOKEN")) {
		return true
	}
	for _, n := range s.Names {
		if strings.EqualFold(n, name) {
			return true
		}
	}
	for _, v := range s.Values {
		if len(v) >= minSecret && strings.Contains(value, v) {
			return true
		}
	}
	return false
}

// minSecret is the minimum length of a key, in bytes. A shorter value would match everywhere.
const minSecret = 8

// Redactor replaces secrets in text: keys that were registered, Authorization headers, and tokens
// of well-known formats. It is safe for concurrent use. Text without a secret is returned
// unchanged.
type Redactor struct {
	known atomic.Pointer[[]string]
}

// NewRedactor returns a Redactor that knows these values.
func NewRedactor(values ...string) *Redactor {
	r := &Redactor{}
	r.Add(values...)
	return r
}

// Add registers more values, such as a key that a command printed.
func (r *Redactor) Add(values ...string) {
	for {
		old := r.known.Load()
		var list []string
		if old != nil {
			list = append(list, *old...)
		}
		for _, v := range values {
			if v = strings.TrimSpace(v); len(v) < minSecret {
				continue
			}
			for _, form := range forms(v) {
				list = appendNew(list, form)
			}
		}
		if old != nil && len(list) == len(*old) {
			return // a provider's key is added before each call
		}
		if r.known.CompareAndSwap(old, &list) {
			return
		}
	}
}

// forms returns the encodings in which a value may appear in text: unchanged, in JSON, in JSON that
// is quoted in JSON, and in a URL.
func forms(v string) []string {
	inJSON := quoted(v)
	return []string{v, inJSON, quoted(inJSON), url.QueryEscape(v)}
}

// quoted returns s in the form that it has between the quotes of a JSON string.
func quoted(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(s) != nil {
		return s
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(b.String(), "\n"), `"`), `"`)
}

// shapes are tokens that are recognized by their format. Every such token contains one of the
// hints. Searching for the hints is much cheaper than matching the regular expression.
var shapes = []struct {
	hints []string // the text contains one of them, in lower case
	re    lazyregexp.Regexp
	keep  string // text that is kept
}{
	{[]string{"authorization"}, lazyregexp.New(`(?i)(authorization\\*["']?\s*[:=]\s*\\*["']?(?:(?:bearer|basic|token|digest|negotiate)\s+)?)(?:\[redacted\]|[^\s"',;\\\[][^\s"',;\\]*)`), "$1"},
	{[]string{"api-key", "api_key", "apikey", "x-auth-token", "access_token", "client_secret"},
		lazyregexp.New(`(?i)((?:x-)?(?:api[-_]?key|auth-token|access_token|` +
			`client_secret)\\*["']?\s*[:=]\s*\\*["']?)[A-Za-z0-9._~+/=-]{8,}`), "$1"},
	{[]string{"bearer "}, lazyregexp.New(`(?i)(\bbearer\s+)[A-Za-z0-9._~+/=-]{12,}`), "$1"},
	{[]string{"sk-"}, lazyregexp.New(`\bsk-[A-Za-z0-9_-]{16,}`), ""},
	{[]string{"sk_live_", "rk_live_", "sk_test_"},
		lazyregexp.New(`\b[sr]k_(?:live|test)_[A-Za-z0-9]{16,}`), ""},
	{[]string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"},
		lazyregexp.New(`\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})`), ""},
	{[]string{"glpat-"}, lazyregexp.New(`\bglpat-[A-Za-z0-9_-]{16,}`), ""},
	{[]string{"akia", "asia"}, lazyregexp.New(`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`), ""},
	{[]string{"aiza"}, lazyregexp.New(`\bAIza[A-Za-z0-9_-]{35}`), ""},
	{[]string{"xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-"},
		lazyregexp.New(`\bxox[abprs]-[A-Za-z0-9-]{10,}`), ""},
	{[]string{"gsk_"}, lazyregexp.New(`\bgsk_[A-Za-z0-9]{20,}`), ""},
	{[]string{"xai-"}, lazyregexp.New(`\bxai-[A-Za-z0-9]{20,}`), ""},
	{[]string{"hf_"}, lazyregexp.New(`\bhf_[A-Za-z0-9]{20,}`), ""},
	{[]string{"npm_"}, lazyregexp.New(`\bnpm_[A-Za-z0-9]{30,}`), ""},
	{[]string{"private key-----"},
		lazyregexp.New(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE ` +
			`KEY-----|$)`), ""},
	{[]string{"://"}, lazyregexp.New(`(\b[a-z][a-z0-9+.-]*://[^\s/:@"']*:)[^\s/@"']{3,}@`), "$1" +
		Redacted + "@"},
}

// Text returns the text without secrets.
func (r *Redactor) Text(s string) string {
	if known := r.known.Load(); known != nil {
		for _, v := range *known {
			if strings.Contains(s, v) {
				s = strings.ReplaceAll(s, v, Redacted)
			}
		}
	}
	found := hinted(s)
	for i := range shapes {
		if found&(1<<i) == 0 {
			continue
		}
		with := shapes[i].keep + Redacted
		if strings.Contains(shapes[i].keep, Redacted) {
			with = shapes[i].keep
		}
		s = shapes[i].re().ReplaceAllString(s, with)
	}
	return s
}

// Bytes is Text for bytes. If there is no secret, it returns b itself.
func (r *Redactor) Bytes(b []byte) []byte {
	s := string(b)
	if out := r.Text(s); out != s {
		return []byte(out)
	}
	return b
}

// firsts and seconds map a letter to the shapes whose hint has this first or second letter. One
// quick pass over the text finds the positions where a hint may be.
var firsts, seconds = func() (a, b [256]uint32) {
	for i, sh := range shapes {
		for _, h := range sh.hints {
			a[h[0]|fold] |= 1 << i
			b[h[1]|fold] |= 1 << i
		}
	}
	return a, b
}()

// fold converts letters to lower case. It may also map other bytes to the same value, which costs
// only one comparison.
const fold = 0x20

// hinted returns the set of shapes whose hints the text contains, one bit for each shape.
func hinted(s string) (found uint32) {
	for i := 0; i+1 < len(s); i++ {
		if maybe := firsts[s[i]|fold] & seconds[s[i+1]|fold]; maybe&^found != 0 {
			found |= hintedAt(s[i:], maybe)
		}
	}
	return found
}

func hintedAt(s string, maybe uint32) (found uint32) {
	for ; maybe != 0; maybe &= maybe - 1 {
		i := bits.TrailingZeros32(maybe)
		for _, h := range shapes[i].hints {
			if len(s) >= len(h) && strings.EqualFold(s[:len(h)], h) &&
				(h != "://" || userInfo(s[len(h):])) {
				found |= 1 << i
			}
		}
	}
	return found
}

// userInfo reports whether the text after the :// of a URL may contain a password. Most URLs
// contain none, and this check costs far less than their regular expression.
func userInfo(s string) bool {
	end := strings.IndexAny(s, "@/\"' \t\n\r\f")
	return end >= 0 && s[end] == '@'
}

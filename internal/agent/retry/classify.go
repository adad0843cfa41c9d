package retry

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/clip"
	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// maxMessage is the maximum number of bytes of a provider's text in an error.
const maxMessage = 600

// Classify converts a failed model call to a typed error. It uses the HTTP status (0: no response),
// the headers, the body (or a stream's error event) and the transport's error. An error that is
// already typed is returned unchanged. Otherwise Classify uses, in this order, the code or type in
// the body, the status (and the text if the status has several meanings), the type of the
// transport's error, and the text alone. If none of them explains the error, it is Transient.
func Classify(status int, header map[string][]string, body []byte, err error) *Error {
	if e := As(err); e != nil {
		return e
	}
	d := readBody(body)
	text := d.Message
	if text == "" && err != nil {
		text = err.Error()
	}
	if n, err := strconv.Atoi(d.Code); err == nil && status == 0 && n >= 400 && n < 600 {
		status = n // in an error event, only the code can contain the status
	}
	e := &Error{Status: status, RetryAfter: retryAfter(header, d), Err: err,
		Message: shown(Redact(text))}
	e.Kind = e.classify(d, strings.ToLower(text+" "+d.Code+" "+d.Type), err)
	if e.Kind == ContextOverflow {
		if e.Window = windowIn(text); e.Window == 0 {
			// Some servers report the window outside the message.
			e.Window = windowIn(string(body))
		}
	}
	e.Hint = Hint(e.Kind)
	if e.Message == "" {
		e.Message = DefaultMessage(status)
	}
	return e
}

func (e *Error) classify(d detail, text string, err error) Kind {
	if k, ok := kindOfCode(d); ok {
		return k
	}
	if k, ok := kindOfStatus(e.Status, text, e.RetryAfter > 0); ok {
		return k
	}
	if k, ok := kindOfErr(err); ok {
		return k
	}
	return kindOfText(text)
}

// kindOfCode classifies an error body by its code or type, which change less often than messages.
func kindOfCode(d detail) (Kind, bool) {
	for _, word := range []string{d.Code, d.Type} {
		switch strings.ToLower(word) {
		case "script":
			return Script, true
		case "context_length_exceeded", "exceed_context_size_error",
			"model_max_prompt_tokens_exceeded", "string_above_max_length":
			return ContextOverflow, true
		case "content_filter", "content_policy_violation", "responsibleaipolicyviolation",
			"data_inspection_failed", "moderation_blocked":
			return ContentFilter, true
		case "insufficient_quota", "billing_hard_limit_reached", "billing_not_active",
			"insufficient_balance", "billing_error":
			return Quota, true
		case "rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests":
			return RateLimit, true
		case "overloaded_error", "server_overloaded", "engine_overloaded", "service_unavailable",
			"unavailable_error":
			return Overloaded, true
		case "invalid_api_key", "authentication_error", "permission_error", "permission_denied",
			"unauthenticated":
			return Auth, true
		}
	}
	return "", false
}

// kindOfStatus classifies the status. The text decides only if a status has several meanings.
func kindOfStatus(status int, text string, mayRetry bool) (Kind, bool) {
	switch {
	case status < 300:
		return "", false
	case status == 402:
		return Quota, true
	case status == 429:
		if has(text, quotaWords) && !mayRetry {
			return Quota, true
		}
		return RateLimit, true
	case status == 401:
		return Auth, true
	case status == 403:
		if has(text, filterWords) {
			return ContentFilter, true
		}
		return Auth, true
	case status == 413:
		if k := kindOfClientError(text); k != Client {
			return k, true
		}
		return ContextOverflow, true
	case status == 529 || status == 503:
		return Overloaded, true
	case status == 408 || status == 425:
		return Transient, true
	case status >= 500:
		return kindOfServerError(text), true
	case status >= 400:
		return kindOfClientError(text), true
	}
	return Client, true // a redirect that the client did not follow
}

func kindOfServerError(text string) Kind {
	switch {
	case isOverflow(text): // llama-server and Ollama return 500 for an overflow
		return ContextOverflow
	case has(text, overloadWords):
		return Overloaded
	}
	return Transient
}

func kindOfClientError(text string) Kind {
	switch {
	case isOverflow(text):
		return ContextOverflow
	case has(text, filterWords):
		return ContentFilter
	case strings.Contains(text, "tokens per minute") || strings.Contains(text, "rate limit"):
		return RateLimit
	case has(text, quotaWords):
		return Quota
	case strings.Contains(text, "api key not valid") || strings.Contains(text, "invalid api key"):
		return Auth
	}
	return Client
}

func kindOfErr(err error) (Kind, bool) {
	var timeout interface{ Timeout() bool }
	switch {
	case err == nil:
		return "", false
	case errors.Is(err, io.ErrUnexpectedEOF):
		return Truncated, true
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return Transient, true
	}
	return "", false
}

// textStep is one step of the text fallback.
type textStep struct {
	kind  Kind
	words []string
	codes string
}

var (
	quotaWords = []string{"insufficient_quota", "insufficient balance",
		"exceeded your current quota", "quota exceeded", "billing", "insufficient credits",
		"out of credits", "credit balance is too low"}
	filterWords = []string{"content_filter", "content filter", "content management policy",
		"content policy", "safety system", "flagged", "moderation", "prohibited_content"}
	overloadWords = []string{"overloaded", "at capacity", "no available server", "loading model",
		"server is busy", "currently unavailable"}
	overflowWords = []string{"context window", "context length", "context_length", "context size",
		"maximum prompt length", "prompt is too long", "input is too long", "input length",
		"exceeds the maximum number of tokens", "reduce the length of the messages",
		"model token limit", "too large for model with", "tokens in request more than max tokens",
		"request_too_large"}

	textSteps = []textStep{
		{Quota, quotaWords, "402"},
		{RateLimit, []string{"rate limit", "rate_limit", "too many requests", "resource_exhausted"},
			"429"},
		{Overloaded, overloadWords, "503 529"},
		{Auth, []string{"unauthorized", "authentication failed", "authentication error",
			"invalid api key", "incorrect api key", "api key not valid", "permission denied"},
			"401 403"},
		{ContentFilter, filterWords, ""},
		{Client, []string{"bad request", "invalid parameter", "invalid_request", "unprocessable",
			"unsupported parameter", "model not found", "does not exist",
			"tool call result does not follow", "tool_use_ids",
			"must be followed by tool messages"}, "400 404 405 409 410 413 414 415 422 431"},
	}
	codeInText = lazyregexp.New(`(?:^|status(?: code)?:? |http(?:/[\d.]+)? |error:? |code:? |\()` +
		`(\d{3})\b`)
)

// kindOfText classifies an error of unknown origin by its text. It is the last resort.
func kindOfText(text string) Kind {
	if isOverflow(text) {
		return ContextOverflow
	}
	code := ""
	if m := codeInText().FindStringSubmatch(text); m != nil {
		code = m[1]
	}
	for _, s := range textSteps {
		if has(text, s.words) || code != "" && strings.Contains(s.codes, code) {
			return s.kind
		}
	}
	return Transient
}

// isOverflow reports whether text describes an overflow of the context, and not an output limit
// that was set too high.
func isOverflow(text string) bool {
	if strings.Contains(text, "max_tokens") &&
		(strings.Contains(text, "completion tokens") ||
			strings.Contains(text, "less than or equal")) &&
		!strings.Contains(text, "context length") {
		return false
	}
	if strings.Contains(text, "input token count") && strings.Contains(text, "exceeds") {
		return true
	}
	return has(text, overflowWords)
}

func has(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// detail is the content of an error body in any of the usual shapes.
type detail struct {
	Message, Code, Type string
	Retry               time.Duration
}

var retryDelay = lazyregexp.New(`"retryDelay"\s*:\s*"([\d.]+)s"`)
var tryAgain = lazyregexp.New(`(?i)(?:try again|retry) (?:in|after) ([\d.]+) ?(ms|s|m)\w*`)

func readBody(body []byte) detail {
	d := parseBody(body)
	if m := retryDelay().FindSubmatch(body); m != nil {
		d.Retry = seconds(string(m[1]))
	} else if m := tryAgain().FindStringSubmatch(d.Message); m != nil {
		d.Retry = seconds(m[1])
		switch m[2] {
		case "ms":
			d.Retry /= 1000
		case "m":
			d.Retry *= 60
		}
	}
	return d
}

func parseBody(body []byte) detail {
	body = []byte(strings.TrimSpace(string(body)))
	if len(body) > 0 && body[0] == '[' { // Gemini wraps its errors in an array
		var list []json.RawMessage
		if json.Unmarshal(body, &list) == nil && len(list) > 0 {
			body = list[0]
		}
	}
	var obj map[string]json.RawMessage
	if json.Unmarshal(body, &obj) != nil {
		return detail{Message: plainText(body)}
	}
	if inner, ok := obj["error"]; ok {
		if s := word(inner); s != "" { // {"error":"text"}
			return detail{Message: s, Code: word(obj["code"]), Type: word(obj["type"])}
		}
		var o map[string]json.RawMessage
		if json.Unmarshal(inner, &o) == nil {
			obj = o
		}
	}
	d := detail{Message: word(obj["message"]), Code: word(obj["code"]), Type: word(obj["type"])}
	if d.Type == "" {
		d.Type = word(obj["status"])
	}
	if d.Message == "" {
		d.Message = first(word(obj["detail"]), word(obj["msg"]), word(obj["error_description"]),
			string(obj["detail"]))
	}
	// OpenRouter puts the error of the upstream provider into metadata.
	if raw := upstream(obj["metadata"]); raw != "" {
		d.Message += ": " + raw
	}
	return d
}

func upstream(metadata json.RawMessage) string {
	var m map[string]json.RawMessage
	if json.Unmarshal(metadata, &m) != nil {
		return ""
	}
	return word(m["raw"])
}

// word converts a JSON string or number, or a list of strings, to text.
func word(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	var list []string
	if json.Unmarshal(raw, &list) == nil {
		return strings.Join(list, ", ")
	}
	return ""
}

func first(words ...string) string {
	for _, w := range words {
		if w != "" {
			return w
		}
	}
	return ""
}

var tag = lazyregexp.New(`(?s)<(?:script|style)\b.*?</(?:script|style)>|<[^>]*>`)

// plainText returns the text of a body that is not JSON, with its markup removed.
func plainText(body []byte) string {
	s := string(body[:min(len(body), 8<<10)])
	if strings.HasPrefix(s, "<") {
		s = tag().ReplaceAllString(s, " ")
	}
	return strings.Join(strings.Fields(s), " ")
}

// retryAfter returns the delay that the provider requests in its headers or its text.
func retryAfter(header map[string][]string, d detail) time.Duration {
	for _, name := range []string{"Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
		if ms := seconds(get(header, name)); ms > 0 {
			return ms / 1000
		}
	}
	v := get(header, "Retry-After")
	if s := seconds(v); s > 0 {
		return s
	}
	for _, layout := range []string{time.RFC1123, time.RFC850, time.ANSIC} {
		if t, err := time.Parse(layout, v); err == nil {
			return max(time.Until(t), 0)
		}
	}
	if wait := windowReset(header); wait > 0 {
		return wait
	}
	return d.Retry
}

// windowReset returns the time until the last of Anthropic's exhausted limits is reset.
func windowReset(header map[string][]string) (wait time.Duration) {
	for _, limit := range []string{"Requests", "Tokens", "Input-Tokens", "Output-Tokens"} {
		if get(header, "Anthropic-Ratelimit-"+limit+"-Remaining") != "0" {
			continue
		}
		if t, err := time.Parse(time.RFC3339,
			get(header, "Anthropic-Ratelimit-"+limit+"-Reset")); err == nil {
			wait = max(wait, time.Until(t))
		}
	}
	return wait
}

func get(header map[string][]string, name string) string {
	for k, v := range header {
		if len(v) > 0 && strings.EqualFold(k, name) {
			return v[0]
		}
	}
	return ""
}

// maxSeconds prevents a nonsensical number from overflowing a duration.
const maxSeconds = 86400

func seconds(s string) time.Duration {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || f != f || f <= 0 {
		return 0
	}
	return time.Duration(min(f, maxSeconds*1000) * float64(time.Second))
}

var secret = lazyregexp.New(`(?i)\b(?:sk|pk|gsk|xai|key|AIza|ghp|hf)[-_][A-Za-z0-9_\-*.]{8,}|` +
	`AIza[A-Za-z0-9_\-]{20,}|bearer\s+[A-Za-z0-9_\-.=+/]{8,}`)

// Redact replaces the parts of s that look like API keys. Call it for all text that will be shown
// to the user.
func Redact(s string) string { return secret().ReplaceAllString(s, "[redacted]") }

// shown returns an error's text in the form that clients receive.
func shown(s string) string { return clip.Bytes(strings.ToValidUTF8(s, "\uFFFD"), maxMessage) }

// DefaultMessage returns the message for a response that has a status (0: unknown) but no text.
func DefaultMessage(status int) string {
	if status == 0 {
		return "the model's provider failed and sent no error message"
	}
	return "the model's provider answered with status " + strconv.Itoa(status) + " and no message"
}

package retry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/retry"
)

// TestTaxonomy checks how provider errors are classified.
func TestTaxonomy(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   retry.Kind
	}{
		// The status takes precedence over the text.
		{401, `{"error":{"message":"rate limit"}}`, retry.Auth},
		{403, `{}`, retry.Auth},
		{402, `{}`, retry.Quota},
		{429, `{}`, retry.RateLimit},
		{408, ``, retry.Transient},
		{500, ``, retry.Transient},
		{502, `<html>`, retry.Transient},
		{503, ``, retry.Overloaded},
		{529, ``, retry.Overloaded},
		{400, `{"error":{"message":"bad"}}`, retry.Client},
		{404, `{"error":{"message":"The model x does not exist"}}`, retry.Client},
		{413, ``, retry.ContextOverflow},
		{422, `{"detail":[{"msg":"extra"}]}`, retry.Client},
		{302, ``, retry.Client},
		// The machine-readable code takes precedence over the text.
		{400, `{"error":{"code":"context_length_exceeded","message":"x"}}`, retry.ContextOverflow},
		{429, `{"error":{"code":"insufficient_quota","message":"x"}}`, retry.Quota},
		{400, `{"error":{"code":"content_filter","message":"x"}}`, retry.ContentFilter},
		{400, `{"error":{"code":"invalid_api_key","message":"x"}}`, retry.Auth},
		{400, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`,
			retry.Overloaded},
		{422, `{"error":{"type":"script","message":"x"}}`, retry.Script},
		// Providers describe a context overflow in different words.
		{400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","code":400}`, retry.ContextOverflow},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, retry.ContextOverflow},
		{400, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, retry.ContextOverflow},
		{400, `{"error":{"code":400,"message":"the request exceeds the available context size",` +
			`"type":"exceed_context_size_error"}}`, retry.ContextOverflow},
		{500, `{"error":"the input length exceeds the context length"}`, retry.ContextOverflow},
		{400, `{"error":{"message":"This endpoint's maximum context length is 131072 tokens.","code":400}}`, retry.ContextOverflow},
		{400, `{"message":"Prompt contains 40000 tokens, too large for model with 32768 maximum context length"}`, retry.ContextOverflow},
		// An invalid parameter is not an overflow, even if the text mentions tokens.
		{400, `{"error":{"message":"max_tokens is too large: 99999. This model supports at most 16384 completion tokens"}}`, retry.Client},
		{400, `{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model."}}`, retry.Client},
		{400, `{"error":{"message":"An assistant message with 'tool_calls' must be followed by tool messages"}}`, retry.Client},
		{413, `{"error":{"message":"Request too large for model on tokens per minute (TPM): Limit 6000"}}`, retry.RateLimit},
		// The same status can have two meanings.
		{429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details"}}`, retry.Quota},
		{429, `[{"error":{"code":429,"message":"You exceeded your current quota",` +
			`"status":"RESOURCE_EXHAUSTED","details":[{"@type":"RetryInfo","retryDelay":"17s"}]}` +
			`}]`, retry.RateLimit},
		{403, `{"error":{"message":"Your input was flagged by moderation","code":403}}`,
			retry.ContentFilter},
		{400, `{"error":{"message":"Your credit balance is too low to access the API"}}`,
			retry.Quota},
		{400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API ` +
			`key.","status":"INVALID_ARGUMENT"}}]`, retry.Auth},
		// An error within a stream has no status.
		{0, `{"error":{"code":502,"message":"upstream"}}`, retry.Transient},
		{0, `{"error":{"code":429,"message":"slow"}}`, retry.RateLimit},
		{0, `{"error":{"message":"The server is overloaded"}}`, retry.Overloaded},
		{0, `{"error":{"message":"who knows"}}`, retry.Transient},
	} {
		e := retry.Classify(c.status, nil, []byte(c.body), nil)
		if e.Kind != c.want {
			t.Errorf("%d %s: kind %s, want %s", c.status, c.body, e.Kind, c.want)
		}
		if e.Message == "" || e.Hint == "" {
			t.Errorf("%d %s: message %q, hint %q", c.status, c.body, e.Message, e.Hint)
		}
	}
}

// TestTextFallback checks the order of the rules for errors that consist only of text.
func TestTextFallback(t *testing.T) {
	for text, want := range map[string]retry.Kind{
		"too many requests": retry.RateLimit, "status code: 429": retry.RateLimit,
		"insufficient_quota": retry.Quota,
		"unauthorized":       retry.Auth, "error: 401": retry.Auth,
		"input is too long for the context window":   retry.ContextOverflow,
		"tool call result does not follow tool call": retry.Client, "bad request": retry.Client,
		"status 422":                   retry.Client,
		"dial tcp: connection refused": retry.Transient, "unknown": retry.Transient,
		"I found 404 files and 429 lines": retry.Transient, // numbers in prose are not status codes
	} {
		if e := retry.Classify(0, nil, nil, errors.New(text)); e.Kind != want {
			t.Errorf("%q: kind %s, want %s", text, e.Kind, want)
		}
	}
	if e := retry.Classify(0, nil, nil,
		fmt.Errorf("reading: %w", io.ErrUnexpectedEOF)); e.Kind != retry.Truncated {
		t.Errorf("unexpected EOF: %s", e.Kind)
	}
	if e := retry.Classify(0, nil, nil, context.DeadlineExceeded); e.Kind != retry.Transient {
		t.Errorf("deadline: %s", e.Kind)
	}
	typed := &retry.Error{Kind: retry.Blank}
	if e := retry.Classify(500, nil, nil, fmt.Errorf("again: %w", typed)); e != typed {
		t.Errorf("a typed error became %v", e)
	}
}

func TestRetryAfter(t *testing.T) {
	at := time.Now().Add(30 * time.Second).UTC().Format("Mon, 02 Jan 2006 15:04:05 GMT")
	for _, c := range []struct {
		name   string
		header map[string][]string
		body   string
		lo, hi time.Duration
	}{
		{"seconds", map[string][]string{"Retry-After": {"7"}}, "", 7 * time.Second,
			7 * time.Second},
		{"fraction", map[string][]string{"retry-after": {"0.5"}}, "", 500 * time.Millisecond,
			500 * time.Millisecond},
		{"date", map[string][]string{"Retry-After": {at}}, "", time.Second, 31 * time.Second},
		{"past date", map[string][]string{"Retry-After": {"Mon, 02 Jan 2006 15:04:05 GMT"}}, "", 0,
			0},
		{"milliseconds win", map[string][]string{"Retry-After": {"9"}, "Retry-After-Ms": {"1500"}},
			"", 1500 * time.Millisecond, 1500 * time.Millisecond},
		{"nonsense", map[string][]string{"Retry-After": {"soon"}}, "", 0, 0},
		{"negative", map[string][]string{"Retry-After": {"-5"}}, "", 0, 0},
		{"huge", map[string][]string{"Retry-After": {"1e300"}}, "", time.Hour, 1 << 62},
		{"in words", nil, `{"error":{"message":"Please try again in 1.2s."}}`,
			1200 * time.Millisecond, 1200 * time.Millisecond},
		{"in words, ms", nil, `{"error":{"message":"Please try again in 350ms."}}`,
			350 * time.Millisecond, 350 * time.Millisecond},
		{"Gemini", nil, `{"error":{"message":"x","details":[{"retryDelay": "17s"}]}}`,
			17 * time.Second, 17 * time.Second},
	} {
		if d := retry.Classify(429, c.header, []byte(c.body), nil).RetryAfter; d < c.lo ||
			d > c.hi {
			t.Errorf("%s: %v", c.name, d)
		}
	}
}

// TestBackoff checks that the delay doubles (1, 2, 4 … s), that Retry-After is respected, and that
// both are capped.
func TestBackoff(t *testing.T) {
	p := retry.Default()
	p.Rand = func() float64 { return 0 }
	transient := &retry.Error{Kind: retry.Transient}
	for attempt, want := range []time.Duration{1: time.Second, 2: 2 * time.Second,
		3: 4 * time.Second, 7: time.Minute, 100: time.Minute} {
		if want != 0 && p.Delay(attempt, transient) != want {
			t.Errorf("attempt %d: %v, want %v", attempt, p.Delay(attempt, transient), want)
		}
	}
	if d := p.Delay(1, &retry.Error{Kind: retry.RateLimit,
		RetryAfter: 7 * time.Second}); d != 7*time.Second {
		t.Errorf("Retry-After: %v", d)
	}
	if d := p.Delay(1, &retry.Error{Kind: retry.RateLimit,
		RetryAfter: time.Hour}); d != time.Minute {
		t.Errorf("Retry-After is not capped: %v", d)
	}
	p.Rand = func() float64 { return .999 }
	if d := p.Delay(1, transient); d <= time.Second || d > 1200*time.Millisecond {
		t.Errorf("jitter: %v", d)
	}
	if d := p.Delay(50, transient); d > time.Minute {
		t.Errorf("jitter exceeds the cap: %v", d)
	}
	p.Jitter = 1
	if d := p.Delay(1, transient); d >= time.Second {
		t.Errorf("full jitter: %v", d)
	}
	if _, again := p.Next(4, transient); again {
		t.Error("a fourth retry")
	}
	if _, again := p.Next(3, transient); !again {
		t.Error("no third retry")
	}
	if _, again := p.Next(1, errors.New("untyped")); again {
		t.Error("a programming error is retried")
	}
}

func TestWhatIsRetried(t *testing.T) {
	for kind, want := range map[retry.Kind][2]bool{ // {retryable, eligible for fallback}
		retry.RateLimit: {true, true}, retry.Overloaded: {true, true},
		retry.Transient: {true, true}, retry.StreamIdle: {true, true},
		retry.Truncated: {true, true},
		retry.Quota:     {false, true}, retry.Auth: {false, false}, retry.Client: {false, false},
		retry.ContextOverflow: {false, false},
		retry.ContentFilter:   {false, false}, retry.Blank: {false, false},
		retry.Script: {false, false},
	} {
		if got := [2]bool{retry.Retryable(kind), retry.FallbackEligible(kind)}; got != want {
			t.Errorf("%s: %v, want %v", kind, got, want)
		}
		if retry.Hint(kind) == "" {
			t.Errorf("%s has no hint", kind)
		}
	}
}

func TestNoSecretInAnError(t *testing.T) {
	for _, s := range []string{"Incorrect API key provided: sk-proj-abcdefghij.",
		"Authorization: Bearer abcdefghijkl", "key AIzaSyA1234567890abcdefghijkl"} {
		e := retry.Classify(401, nil, []byte(`{"error":{"message":"`+s+`"}}`), nil)
		for _, secret := range []string{"sk-proj", "abcdefghijkl", "AIzaSy"} {
			if strings.Contains(e.Error(), secret) {
				t.Errorf("%q shows %q", e.Error(), secret)
			}
		}
	}
}

func FuzzClassify(f *testing.F) {
	f.Add(429, []byte(`{"error":{"message":["a","b"],"code":1}}`))
	f.Add(0, []byte(`[{"error":"x"}]`))
	f.Fuzz(func(t *testing.T, status int, body []byte) {
		if e := retry.Classify(status, nil, body, nil); e.Kind == "" || e.Message == "" ||
			e.RetryAfter < 0 {
			t.Fatalf("%d %q: %+v", status, body, e)
		}
	})
}

package retry

import "testing"

// TestWindowOfOverflow checks that the window size is found in the error messages of providers and
// servers.
func TestWindowOfOverflow(t *testing.T) {
	for body, want := range map[string]int{
		`{"error":{"message":"This model's maximum context length is 4097 tokens. However, your messages resulted in 5000 tokens. Please reduce the length of the messages.","code":"context_length_exceeded"}}`:                     4097,
		`{"error":{"message":"This model's maximum context length is 8192 tokens. However, you requested 10000 tokens (9000 in the messages, 1000 in the completion)."}}`:                                                            8192,
		`{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","code":400}`:                                                                  4096,
		`{"error":{"message":"The decoder prompt (length 5003) is longer than the maximum model length of 4096. Make sure that the context window is large enough."}}`:                                                               4096,
		`{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":5000,"n_ctx":4096}}`:          4096,
		`{"error":{"code":500,"message":"request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it"}}`:                                                                                               4096,
		`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`:                                                                                                   200000,
		"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or max_tokens\"}}":                       200000,
		`{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`:                                                                     1048576,
		`{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough. Try to load the model with a larger context length"}`: 4096,
		`{"error":{"message":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}}`:                                                                                                               131072,
		`{"message":"Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_error"}`:                                                                        32768,
		`{"error":{"message":"prompt token count of 150000 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}`:                                                                                                 128000,
		`{"error":{"message":"Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192","code":"context_length_exceeded"}}`:                                                                8192,
		`{"error":{"message":"This endpoint's maximum context length is 32,768 tokens. However, you requested about 40,000 tokens (39,000 of text input, 1,000 in the output)."}}`:                                                   32768,
		`{"error":{"message":"Please reduce the length of the messages or completion.","code":"context_length_exceeded"}}`:                                                                                                           0,
		`{"error":"input length exceeds maximum context length"}`:        0,
		`{"error":{"message":"Input is too long for requested model."}}`: 0,
	} {
		e := Classify(400, nil, []byte(body), nil)
		if e.Kind != ContextOverflow {
			t.Errorf("%s: %s", body, e.Kind)
		}
		if e.Window != want {
			t.Errorf("%s: window %d, want %d", body, e.Window, want)
		}
	}
	if e := Classify(
		429,
		nil,
		[]byte(
			`{"error":{"message":"Rate limit reached: Limit 30000, Requested 40000 tokens per minute"}}`,
		),
		nil,
	); e.Window != 0 {
		t.Errorf("a limit that is not a window: %d", e.Window)
	}
}

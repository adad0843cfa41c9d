package retry

// Hint returns what the user can do about an error of kind k, or "".
func Hint(k Kind) string { return hints[k] }

var hints = map[Kind]string{
	Auth:            "check the API key: provider.apiKeyEnv, provider.apiKeyCommand, or the provider's variable such as OPENAI_API_KEY or ANTHROPIC_API_KEY",
	RateLimit:       "wait a moment, or set fallbackModels",
	Quota:           "top up the provider's account, or choose another model",
	Overloaded:      "the provider is overloaded; try again later, or set fallbackModels",
	ContextOverflow: "compact the session, start a new one, or set context.window to the model's real size",
	ContentFilter:   "the provider's content filter was triggered; rephrase the prompt or choose another model",
	Client:          "check model, provider.baseUrl and the sampling settings",
	Transient:       "try again; if the error persists, check the network, the proxy and provider.baseUrl",
	Blank:           "the model returned an empty answer; try again or choose another model",
	StreamIdle:      "the provider stopped sending data; try again, or set provider.stream to false",
	Truncated:       "the provider ended the answer too early; try again",
	Script:          "correct the script; its next reply does not match the request",
}

package wire

// Turn is a turn's summary. EndReason is absent while the turn runs.
type Turn struct {
	TurnID     string     `json:"turnId"`
	Status     string     `json:"status"`              // completed, aborted, failed, running
	EndReason  string     `json:"endReason,omitzero"`  // stop, max_model_calls, budget, aborted, error, length, content_filter
	AbortPhase string     `json:"abortPhase,omitzero"` // inference, tool_execution
	ModelCalls int        `json:"modelCalls"`
	ToolCalls  int        `json:"toolCalls"`
	ToolErrors int        `json:"toolErrors"`
	Usage      Usage      `json:"usage"`
	Error      *TurnError `json:"error,omitzero"`
}

// TurnError is why a turn failed.
type TurnError struct {
	Kind      string `json:"kind"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
}

// Usage counts tokens, and money where a price is known.
type Usage struct {
	Input         int     `json:"input"`
	Output        int     `json:"output"`
	Cached        int     `json:"cached"`
	CacheWrite    int     `json:"cacheWrite"`
	Reasoning     int     `json:"reasoning"`
	Total         int     `json:"total"`
	Cost          float64 `json:"cost,omitzero"`
	CostEstimated bool    `json:"costEstimated,omitzero"`
}

package wire

// Turn is a turn's summary. EndReason is absent while the turn runs.
type Turn struct {
	TurnID     string     `json:"turnId"`
	Status     string     `json:"status" enum:"running,completed,aborted,failed"`
	EndReason  string     `json:"endReason,omitzero" enum:"stop,max_model_calls,budget,aborted,error,length,content_filter"`
	AbortPhase string     `json:"abortPhase,omitzero" enum:"inference,tool_execution"`
	ModelCalls int        `json:"modelCalls"`
	ToolCalls  int        `json:"toolCalls"`
	ToolErrors int        `json:"toolErrors"`
	Usage      Usage      `json:"usage"`
	Error      *TurnError `json:"error,omitzero"`
}

// TurnError is the reason why a turn failed.
type TurnError struct {
	Kind      string `json:"kind" enum:"auth,rate_limit,quota,overloaded,context_overflow,content_filter,client,transient,blank,stream_idle,truncated,script"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
}

// Usage counts tokens and, if the price is known, cost.
type Usage struct {
	Input         int     `json:"input"`
	Output        int     `json:"output"`
	Cached        int     `json:"cached"`
	CacheWrite    int     `json:"cacheWrite"`
	Reasoning     int     `json:"reasoning"`
	Total         int     `json:"total"`
	Cost          float64 `json:"cost,omitzero"`
	CostEstimated bool    `json:"costEstimated,omitzero"`
	Costs         *Costs  `json:"costs,omitzero"`
}

// Costs contains the parts of a cost, which add up to it. Input is the cost of input that was
// neither read from nor written to a cache.
type Costs struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
}

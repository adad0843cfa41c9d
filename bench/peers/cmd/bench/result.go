package main

import (
	"math"
	"sort"
)

// Record contains the fields of the mock's Record that the benchmark needs.
type Record struct {
	Seq      int    `json:"seq"`
	ID       string `json:"id"`
	Path     string `json:"path"`
	Kind     string `json:"kind"`
	Tool     string `json:"tool"`
	Turns    int    `json:"turns"`
	Bytes    int    `json:"bytes"`
	Arrive   int64  `json:"arrive"`
	First    int64  `json:"first"`
	End      int64  `json:"end"`
	Gone     int64  `json:"gone"`
	Sent     int    `json:"sent"`
	LastTool string `json:"last_tool"`

	Input     int `json:"input"`
	Write     int `json:"write"`
	CacheRead int `json:"cache_read"`
}

// Stat summarizes a sample.
type Stat struct {
	N   int     `json:"n"`
	Min float64 `json:"min"`
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

func stat(v []float64) *Stat {
	if len(v) == 0 {
		return nil
	}
	s := append([]float64(nil), v...)
	sort.Float64s(s)
	q := func(p float64) float64 { // by the nearest-rank method
		i := int(math.Ceil(p*float64(len(s)))) - 1
		return round(s[max(0, min(i, len(s)-1))])
	}
	med := s[len(s)/2]
	if len(s)%2 == 0 {
		med = (s[len(s)/2-1] + s[len(s)/2]) / 2
	}
	return &Stat{len(s), round(s[0]), round(med), q(.9), q(.99), round(s[len(s)-1])}
}

func round(x float64) float64 { return math.Round(x*1000) / 1000 }

// Result contains all measurements of one peer. Times are in milliseconds unless the name gives
// another unit.
type Result struct {
	Name   string   `json:"name"`
	Info   Info     `json:"info"`
	Errors []string `json:"errors,omitempty"`

	// Measured with an empty home folder.
	FirstEverReadyMS float64 `json:"first_ever_ready_ms,omitempty"`
	// ColdInit is the time from the start of the process to the response to initialize.
	ColdInit *Stat `json:"cold_init_ms,omitempty"`
	// ColdReady is the time from the start of the process until the session is usable.
	ColdReady *Stat `json:"cold_ready_ms,omitempty"`
	// ColdFirstRequest is the time from sending the first prompt until the request arrives at the
	// model server.
	ColdFirstRequest *Stat `json:"cold_first_request_ms,omitempty"`
	// SpawnToRequest is the time from the start of the process until the same request arrives.
	SpawnToRequest *Stat `json:"spawn_to_request_ms,omitempty"`
	// Exit is the time from closing stdin to the exit of the process, or -1 if the process did not
	// exit within two seconds.
	Exit *Stat `json:"exit_ms,omitempty"`

	// WarmRequest is the time from sending a later prompt until the request arrives at the model
	// server.
	WarmRequest *Stat `json:"warm_request_ms,omitempty"`
	// WarmTail is the time from the model server's last byte to the end of the turn as reported to
	// the client.
	WarmTail *Stat `json:"warm_tail_ms,omitempty"`
	// FirstToken is the time from writing the first delta in the model server to reading it in the
	// client.
	FirstToken  *Stat `json:"first_token_ms,omitempty"`
	RequestSize int   `json:"request_bytes,omitempty"` // size of a request in a first turn
	// Extra is the number of requests for a title in a first turn.
	Extra int `json:"extra_requests,omitempty"`

	// Measured in the paced streams.
	DeltaLatency *Stat     `json:"delta_latency_ms,omitempty"`
	DeltaP50s    []float64 `json:"delta_p50_ms_by_run,omitempty"`
	DeltaP99s    []float64 `json:"delta_p99_ms_by_run,omitempty"`
	// DeltaMessages is the number of messages that the peer sent during a paced stream.
	DeltaMessages *Stat `json:"delta_messages,omitempty"`
	StdoutBytes   *Stat `json:"stdout_bytes_per_stream,omitempty"`
	StreamCPU     *Stat `json:"cpu_ms_per_stream,omitempty"`
	Throughput    *Stat `json:"deltas_per_s,omitempty"` // measured in the unpaced stream
	// BurstLatency is the latency of the deltas in the unpaced stream.
	BurstLatency *Stat `json:"burst_latency_ms,omitempty"`
	Missing      int   `json:"missing_deltas"`

	Idle *Memory `json:"memory_idle,omitempty"`
	// AfterStream is measured after the first paced stream.
	AfterStream *Memory `json:"memory_after_stream,omitempty"`
	AfterAll    *Memory `json:"memory_after_streams,omitempty"` // after all streams
	AfterTurns  *Memory `json:"memory_after_turns,omitempty"`   // measured after the growth test
	IdleCPU     float64 `json:"idle_cpu_ms_per_10s"`

	// BackgroundBusy is the load in percent of all cores in the 2 s before this peer was started.
	BackgroundBusy float64 `json:"background_busy_pct"`
	// Steal is the share of CPU time, in percent, that the host took while this peer was measured.
	Steal float64 `json:"steal_pct"`

	ToolRead    *Stat  `json:"tool_read_ms,omitempty"`
	ToolReadBy  string `json:"tool_read_by,omitempty"`
	ToolShell   *Stat  `json:"tool_shell_ms,omitempty"`
	ToolShellBy string `json:"tool_shell_by,omitempty"`
	// ToolSandboxed is the row "shell true" with the program's own sandbox turned on.
	ToolSandboxed *Stat `json:"tool_sandboxed_ms,omitempty"`
	// ToolSamples contains the beginnings of results, which show that the tools ran.
	ToolSamples []string `json:"tool_result_samples,omitempty"`
	ToolsWorked bool     `json:"tools_worked"`

	// AbortDone is the time from sending the abort to the reported end of the turn.
	AbortDone *Stat `json:"abort_done_ms,omitempty"`
	// AbortGone is the time from sending the abort until the model server detects that the
	// connection was closed.
	AbortGone *Stat `json:"abort_gone_ms,omitempty"`

	// CachedShow and CachedRead are conversations over the Messages API. In CachedShow, all
	// programs get the same tool results. In CachedRead, each program reads the files with its own
	// tool.
	CachedShow *Cached `json:"cached_show,omitempty"`
	CachedRead *Cached `json:"cached_read,omitempty"`

	Growth      []GrowthRow    `json:"growth,omitempty"`
	GrowthTurns int            `json:"growth_turns,omitempty"`
	Groups      []SessionGroup `json:"groups,omitempty"` // measured with many parallel sessions
	// Long is one very long conversation with agent-lsp's daemon and with refdaemon.
	Long       []GrowthRow `json:"long,omitempty"`
	GrowthDisk int64       `json:"growth_home_bytes,omitempty"` // growth of the home folder
}

// GrowthRow is the overhead of a range of turns in one long conversation.
type GrowthRow struct {
	From    int     `json:"from"`
	To      int     `json:"to"`
	Request float64 `json:"request_ms"` // median time from sending the prompt to the request
	// Tail is the median time from the model server's last byte to the reported end of the turn.
	Tail  float64 `json:"tail_ms"`
	Bytes int     `json:"request_bytes"`
}

// Command perfdoc writes docs/contribute/performance.md from the measurements of the benchmark. The
// page contains a table with a target and a ratio for each figure, a bar chart, and the figures
// that missed their targets.
//
//	go run ./bench/perfdoc RESULTS.json [FRONTENDS.json ...] > docs/contribute/performance.md
//
// The FRONTENDS files contain results of runs with only agent-lsp's two front ends.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "perfdoc:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("usage: perfdoc RESULTS.json [FRONTENDS.json ...]")
	}
	all := make([]*results, len(args))
	for i, name := range args {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, &all[i]); err != nil {
			return fmt.Errorf("reading %s: %w", name, err)
		}
	}
	text, err := document(all[0], all[1:])
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, text)
	return err
}

// The names of the columns that are not rivals.
const (
	ours   = "agentlsp"
	acp    = "agentlsp-acp"
	floor  = "refdaemon"
	direct = "direct" // the benchmark reads the model server without an agent
)

// results contains the part of results.json that the page shows.
type results struct {
	When, Machine, Options string
	Peers                  []peer
}

type stat struct{ P50 float64 }

type memory struct {
	RSS int64 `json:"rss_kib"`
}

type peer struct {
	Name string
	Info struct {
		Version string
		Size    int64 `json:"size_bytes"`
	}
	ColdInit       *stat     `json:"cold_init_ms"`
	SpawnToRequest *stat     `json:"spawn_to_request_ms"`
	WarmRequest    *stat     `json:"warm_request_ms"`
	WarmTail       *stat     `json:"warm_tail_ms"`
	Delta          *stat     `json:"delta_latency_ms"`
	DeltaP99s      []float64 `json:"delta_p99_ms_by_run"`
	Throughput     *stat     `json:"deltas_per_s"`
	Idle           *memory   `json:"memory_idle"`
	AfterStream    *memory   `json:"memory_after_stream"`
	AfterTurns     *memory   `json:"memory_after_turns"`
	ToolRead       *stat     `json:"tool_read_ms"`
	ToolShell      *stat     `json:"tool_shell_ms"`
	ToolSandboxed  *stat     `json:"tool_sandboxed_ms"`
	AbortDone      *stat     `json:"abort_done_ms"`
	RequestBytes   float64   `json:"request_bytes"`
	Busy           float64   `json:"background_busy_pct"`
	Steal          float64   `json:"steal_pct"`
	Growth         []stretch
	Long           []stretch
	Groups         []group
	CachedShow     *cached `json:"cached_show"`
	CachedRead     *cached `json:"cached_read"`
}

// stretch is a range of turns of one conversation.
type stretch struct {
	From, To int
	Request  float64 `json:"request_ms"`
	Bytes    int     `json:"request_bytes"`
}

// group contains the figures of many parallel sessions in one process.
type group struct {
	Sessions int
	Latency  *spread `json:"delta_latency_ms"`
	Turn     *spread `json:"turn_ms"`
	Memory   *memory
	P99s     []float64 `json:"delta_p99_ms_by_run"`
}

type spread struct{ Min, P50, P99, Max float64 }

// of returns a function that reads a figure of the group of n sessions. The function returns 0 if
// there is no such group.
func of(n int, figure func(*group) float64) func(*peer) float64 {
	return func(p *peer) float64 {
		if c := p.group(n); c != nil && c.Latency != nil && c.Turn != nil {
			return figure(c)
		}
		return 0
	}
}

// group returns the group of n sessions, or nil.
func (p *peer) group(n int) *group {
	for i := range p.Groups {
		if p.Groups[i].Sessions == n {
			return &p.Groups[i]
		}
	}
	return nil
}

func groupP50(c *group) float64    { return c.Latency.P50 }
func groupMemory(c *group) float64 { return mib(c.Memory) }

// groupP99 returns the median over the groups of the same size, as for streams. One group that the
// machine slowed down therefore does not determine the figure.
func groupP99(c *group) float64 {
	if len(c.P99s) > 0 {
		return median(c.P99s)
	}
	return c.Latency.P99
}

// unfair returns the ratio of the slowest turn's time to the fastest turn's time.
func unfair(c *group) float64 { return c.Turn.Max / c.Turn.Min }

// row describes how to read a figure, and the project's target for it.
type row struct {
	name, unit string
	target     float64
	more       bool // whether a higher value is better
	value      func(*peer) float64
}

func p50(s *stat) float64 {
	if s == nil {
		return 0
	}
	return s.P50
}

func mib(m *memory) float64 {
	if m == nil {
		return 0
	}
	return float64(m.RSS) / 1024
}

func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	all = slices.Sorted(slices.Values(all))
	return all[len(all)/2]
}

func growth(at func(n int) int) func(*peer) float64 {
	return func(p *peer) float64 {
		if len(p.Growth) == 0 {
			return 0
		}
		return p.Growth[at(len(p.Growth))].Request
	}
}

var rows = []row{
	{"spawn → `initialize` answered", "ms", 12, false,
		func(p *peer) float64 { return p50(p.ColdInit) }},
	{"spawn → first model request", "ms", 20, false,
		func(p *peer) float64 { return p50(p.SpawnToRequest) }},
	{"prompt → model request", "ms", 2, false,
		func(p *peer) float64 { return p50(p.WarmRequest) }},
	{"model done → turn completed", "ms", 1, false,
		func(p *peer) float64 { return p50(p.WarmTail) }},
	{"added latency per delta, p50", "ms", 0.16, false,
		func(p *peer) float64 { return p50(p.Delta) }},
	{"added latency per delta, p99", "ms", 1, false,
		func(p *peer) float64 { return median(p.DeltaP99s) }},
	{"deltas per second, unpaced", "", 80000, true,
		func(p *peer) float64 { return p50(p.Throughput) }},
	{"memory idle", "MiB", 20, false, func(p *peer) float64 { return mib(p.Idle) }},
	{"memory after 2,000 deltas", "MiB", 28, false,
		func(p *peer) float64 { return mib(p.AfterStream) }},
	{"memory after the long conversation", "MiB", 40, false,
		func(p *peer) float64 { return mib(p.AfterTurns) }},
	{"tool round: read a file", "ms", 1, false, func(p *peer) float64 { return p50(p.ToolRead) }},
	{"tool round: shell `true`", "ms", 4, false, func(p *peer) float64 { return p50(p.ToolShell) }},
	{"tool round: sandboxed `true`", "ms", 6, false,
		func(p *peer) float64 { return p50(p.ToolSandboxed) }},
	{"abort → turn completed", "ms", 1, false, func(p *peer) float64 { return p50(p.AbortDone) }},
	{"prompt → request, first 20 turns", "ms", 1.5, false, growth(func(int) int { return 0 })},
	{"prompt → request, last 20 turns", "ms", 3, false, growth(func(n int) int { return n - 1 })},
	{"10 parallel sessions: delta, p50", "ms", 0.3, false, of(10, groupP50)},
	{"10 parallel sessions: delta, p99", "ms", 4, false, of(10, groupP99)},
	{"100 parallel sessions: delta, p50", "ms", 0.5, false, of(100, groupP50)},
	{"100 parallel sessions: delta, p99", "ms", 8, false, of(100, groupP99)},
	{"100 parallel sessions: slowest turn / fastest turn", "", 1.2, false, of(100, unfair)},
	{"memory with 100 sessions", "MiB", 80, false, of(100, groupMemory)},
	{"installed size", "MiB", 40, false,
		func(p *peer) float64 { return float64(p.Info.Size) / (1 << 20) }},
	{"first request, bytes", "", 8000, false, func(p *peer) float64 { return p.RequestBytes }},
}

// met reports whether a value meets the target.
func (r *row) met(v float64) bool {
	if r.more {
		return v >= r.target
	}
	return v > 0 && v <= r.target
}

// ahead returns the ratio by which agent-lsp is better than the best rival, or 0 if there is no
// rival.
func (r *row) ahead(own float64, rivals []*peer) float64 {
	best := 0.0
	for _, p := range rivals {
		v := r.value(p)
		if v <= 0 || own <= 0 {
			continue
		}
		ratio := v / own
		if r.more {
			ratio = own / v
		}
		if best == 0 || ratio < best {
			best = ratio
		}
	}
	return best
}

// document writes the page. frontEnds contains the runs with only agent-lsp's two front ends.
func document(r *results, frontEnds []*results) (string, error) {
	var own *peer
	var rivals, all []*peer
	for i := range r.Peers {
		p := &r.Peers[i]
		all = append(all, p)
		switch p.Name {
		case ours:
			own = p
		case acp, floor, direct:
		default:
			rivals = append(rivals, p)
		}
	}
	if own == nil {
		return "", fmt.Errorf("the results hold no column %q", ours)
	}
	var b strings.Builder
	b.WriteString(head)
	fmt.Fprintf(&b, "The figures were measured at %s on\n%s.\n", strings.TrimSuffix(r.When, "Z"),
		r.Machine)
	writeTable(&b, own, rivals, all)
	writeShort(&b, own)
	writeCached(&b, r)
	writeFrontEnds(&b, frontEnds)
	writeBars(&b, own, all)
	writeGrowth(&b, all)
	writeNoise(&b, all)
	b.WriteString(tail)
	return b.String(), nil
}

func writeTable(b *strings.Builder, own *peer, rivals, all []*peer) {
	b.WriteString("\n| |")
	for _, p := range all {
		b.WriteString(" " + strings.TrimSpace(p.Name+" "+version(p)) + " |")
	}
	b.WriteString(" target | ahead of the best rival |\n|---|" +
		strings.Repeat("---:|", len(all)+2) + "\n")
	for _, r := range rows {
		fmt.Fprintf(b, "| %s |", strings.TrimSuffix(r.name+", "+r.unit, ", "))
		for _, p := range all {
			b.WriteString(" " + number(r.value(p)) + " |")
		}
		sign, ahead := "<", "-"
		if r.more {
			sign = ">"
		}
		if x := r.ahead(r.value(own), rivals); x > 0 {
			ahead = fmt.Sprintf("%.1f×", x)
		}
		fmt.Fprintf(b, " %s %s | %s |\n", sign, number(r.target), ahead)
	}
}

func version(p *peer) string {
	if p.Name == ours || p.Name == acp || p.Name == floor {
		return ""
	}
	return p.Info.Version
}

func number(v float64) string {
	switch {
	case v == 0:
		return "-"
	case v >= 1000:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// writeShort lists the figures that missed their targets.
func writeShort(b *strings.Builder, own *peer) {
	b.WriteString("\n## What fell short\n\n")
	n := 0
	for _, r := range rows {
		v := r.value(own)
		if r.met(v) {
			continue
		}
		n++
		if v == 0 {
			fmt.Fprintf(b, "- %s: not measured in this run\n", r.name)
			continue
		}
		fmt.Fprintf(b, "- %s: %s (the target is %s)\n", r.name,
			strings.TrimSpace(number(v)+" "+r.unit), number(r.target))
	}
	if n == 0 {
		b.WriteString("In this run, all figures are within their targets.\n")
	}
}

// barred contains the indexes of the rows that writeBars draws.
var barred = []int{0, 2, 5, 7, 11}

const barWidth = 50

// writeBars draws some figures on a logarithmic scale.
func writeBars(b *strings.Builder, own *peer, all []*peer) {
	b.WriteString(
		"\n## At a glance\n\nThe bars have a logarithmic scale. Ten characters correspond to a factor of four. Shorter\nbars are better.\n\n```text\n",
	)
	for _, i := range barred {
		r := rows[i]
		fmt.Fprintf(b, "%s (%s)\n", strings.ReplaceAll(r.name, "`", ""), r.unit)
		for _, p := range all {
			if v := r.value(p); v > 0 {
				fmt.Fprintf(b, "  %-13s %s %s\n", p.Name, bar(v/r.value(own)), number(v))
			}
		}
	}
	b.WriteString("```\n")
}

// bar draws the ratio of a value to agent-lsp's value. The bar of agent-lsp is ten characters long.
func bar(ratio float64) string {
	n := int(math.Round(10 + 10*math.Log(ratio)/math.Log(4)))
	return strings.Repeat("█", min(max(n, 1), barWidth))
}

func writeGrowth(b *strings.Builder, all []*peer) {
	b.WriteString(
		"\n## Growth\n\nThe table shows the time from the prompt to the model request in ms, and the size of the request, as\nthe conversation grows:\n\n" +
			"| agent | start | first third | second third | end |\n|---|---|---|---|---|\n",
	)
	for _, p := range all {
		writeStretches(b, p.Name, p.Growth)
	}
	for _, p := range all {
		writeStretches(b, p.Name+", a very long conversation", p.Long)
	}
}

func writeStretches(b *strings.Builder, name string, rows []stretch) {
	if len(rows) == 0 {
		return
	}
	var parts []string
	for _, g := range rows {
		parts = append(parts, fmt.Sprintf("turns %d–%d: %s (%d KB)", g.From, g.To,
			number(g.Request), g.Bytes/1000))
	}
	fmt.Fprintf(b, "| %s | %s |\n", name, strings.Join(parts, " | "))
}

func writeNoise(b *strings.Builder, all []*peer) {
	for _, p := range all {
		if p.Busy > 10 || p.Steal > 5 {
			fmt.Fprintf(
				b,
				"\nNoisy: other programs kept the machine %.0f %% busy before %s was started. The host withheld %.0f %% of the processor time during the measurement.\n",
				p.Busy,
				p.Name,
				p.Steal,
			)
		}
	}
}

const head = `# Performance

This page compares agent-lsp with other agents that editors can use. ` + "`make bench-peers`" + ` writes the
page; do not edit it by hand. All agents use the same scripted model server on loopback. The
benchmark starts each agent as an editor would, in a separate network namespace. Times are medians
in milliseconds. Memory is the total for the whole process tree. Quote ratios instead of times: both
figures in a ratio come from the same run on the same machine. ` + "`refdaemon`" + ` is not an agent, because
it has no history on disk and only two tools. Its figures show the minimum cost of Go and the
protocol. ` + "`agentlsp-acp`" + ` is agent-lsp with the Agent Client Protocol.

`

const tail = `
## How to repeat it

| command | what it does |
|---|---|
| ` + "`make bench-peers`" + ` | writes this page; ` + "`INSTALL=1`" + ` first installs the other agents from npm; ` + "`ONLY=agentlsp,refdaemon`" + ` measures without the other agents |
| ` + "`make bench`" + ` | runs agent-lsp's own benchmarks, each named after the figure that it measures |
| ` + "`make soak`" + ` | plots the daemon's resources while 20 sessions run at full speed |

## Where the time goes

- **Start.** The daemon starts the Go runtime, reads the settings files, and requests the provider's
  model list without waiting for the response. Until a client requests a session or sends a prompt,
  the daemon opens no session and no index, and starts no MCP or language server.
- **Delta.** A delta is read from the model's connection, decoded, put into a buffer, and written by
  a single writer. If the writer is busy, deltas are merged instead of queued.
- **Tool round with an effect.** The assistant's message is synced to disk before the tool runs,
  which takes one ` + "`fsync`" + `. Read-only tools do not wait for the ` + "`fsync`" + `.
- **Shell command.** A supervisor ends every descendant of a command. One supervisor runs many
  commands, so only the first round includes the start of the supervisor.
- **Sandboxed command.** The sandbox for the next command is prepared while the model is thinking.
  In this row, the model waits 100 ms before each reply, for every program. The benchmark checks
  that a command can write in the workspace and not outside it. Agents without their own sandbox
  on Linux have no figure.
- **Request.** Only messages that are new since the last request are encoded. The stored encodings
  of all other messages are written without a copy.
`

package main

import (
	"strings"
	"testing"
)

// TestDocument checks the parts of the generated page, such as ratios, missed targets and the
// notice about noise.
func TestDocument(t *testing.T) {
	own := peer{Name: ours, ColdInit: &stat{10}, Throughput: &stat{50000},
		Idle: &memory{RSS: 10 << 10}}
	rival := peer{Name: "codex", ColdInit: &stat{60}, Throughput: &stat{25000},
		Idle: &memory{RSS: 100 << 10}, Busy: 50}
	rival.Info.Version = "1.2.3"
	own.ToolSandboxed, rival.ToolSandboxed = &stat{4}, &stat{60}
	own.Groups = []group{{Sessions: 100, Latency: &spread{P50: 0.4, P99: 2},
		Turn: &spread{Min: 10, Max: 11}}}
	own.Long = []stretch{{From: 981, To: 1000, Request: 5, Bytes: 4100000}}
	own.CachedShow, own.CachedRead = &cached{51, 96.5, 95507}, &cached{51, 96.4, 112164}
	rival.CachedShow, rival.CachedRead = &cached{51, 97.6, 135159}, &cached{51, 97.4, 153763}
	model := peer{Name: direct, Throughput: &stat{200000}}
	text, err := document(&results{When: "2026-01-02T03:04:05Z", Machine: "2 cores",
		Peers: []peer{own, rival, model}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"| spawn → `initialize` answered, ms | 10.0 | 60.0 | - | < 12.0 | 6.0× |",
		"| deltas per second, unpaced | 50000 | 25000 | 200000 | > 80000 | 2.0× |",
		"| codex 1.2.3 |",
		"| tool round: sandboxed `true`, ms | 4.00 | 60.0 | - | < 6.00 | 15.0× |",
		"| 100 parallel sessions: slowest turn / fastest turn | 1.10 |",
		"| agentlsp, a very long conversation | turns 981–1000: 5.00 (4100 KB) |",
		"- deltas per second, unpaced: 50000 (the target is 80000)",
		"a turn of 51 requests",
		"measured at 2026-01-02T03:04:05 on\n2 cores.\n\n| | agentlsp | codex 1.2.3 |\n|---|---:|---:|\n" +
			"| same results: cached share, % | 96.5 | 97.6 |\n",
		"| own tool: billed tokens | 112164 | 153763 |",
		"Noisy: other programs kept the machine 50 % busy before codex",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the page lacks %q:\n%s", part, text)
		}
	}
	if _, err := document(&results{Peers: []peer{rival}}, nil); err == nil {
		t.Error("a page without our own column")
	}
}

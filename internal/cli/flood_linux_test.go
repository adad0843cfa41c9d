package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/rpc/rpctest"
	"github.com/agent-lsp/agent-lsp/internal/testspeed"
)

// flood is a session in which one command prints a given number of bytes as lines, and another
// command prints a given number of bytes of binary data.
const flood = `-- config.json --
{"permissions": {"profile": "trust"}, "sandbox": "off"}
-- model.jsonl --
{"toolCalls": [{"name": "bash", "arguments": {"command": "yes 'a line of a command that floods' | head -c %[1]d", "timeout": 600}}]}
{"expect": {"lastTool": "bytes omitted; the (first \\d+ bytes are|full output is) in .*; read or grep it"}, "toolCalls": [{"name": "bash", "arguments": {"command": "head -c %[2]d /dev/zero", "timeout": 600}}]}
{"expect": {"lastTool": "20+,000,000 bytes of binary output, not shown"}, "text": "Flooded."}
-- script --
prompt "flood"
expect agent/delta {"kind": "toolOutput", "text": "~more output follows"}
await agent/turn/completed {"turn": {"status": "completed"}}
`

// TestFlood checks that the memory of the program stays under 50 MiB while a command prints 1 GB,
// or a tenth of that unless the test is selected by name. It uses the program itself, not the test
// binary.
func TestFlood(t *testing.T) {
	t.Parallel()
	const most = 50 << 20
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	bin := rpctest.Program(t)
	path := filepath.Join(dir, "flood.txtar")
	if err := os.WriteFile(path, fmt.Appendf(nil, flood, testspeed.HeavySize(1_000_000_000),
		testspeed.HeavySize(200_000_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	script, err := rpctest.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	var peak int
	watched := make(chan int, 1)
	script.Run(t, func(t testing.TB, args, env []string) rpctest.Daemon {
		cmd := exec.CommandContext(ctx, bin, args...)
		cmd.Env = env
		d := startCommand(t, cmd, func() {})
		go func() { watched <- watchPeak(cmd.Process.Pid) }()
		return d
	}, false)
	peak = <-watched
	t.Logf("at most %d MiB", peak>>20)
	if peak > most {
		t.Errorf("the daemon needed %d MiB, want at most %d", peak>>20, most>>20)
	}
}

// watchPeak returns the peak memory use of a process after that process has exited. The figure that
// the system reports for an exited child is not usable, because it includes the parent's memory
// from before the exec.
func watchPeak(pid int) (peak int) {
	for ; ; time.Sleep(20 * time.Millisecond) {
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		_, value, found := strings.Cut(string(status), "VmHWM:")
		if err != nil || !found {
			return peak
		}
		if kib, err := strconv.Atoi(strings.Fields(value)[0]); err == nil {
			peak = kib << 10
		}
	}
}

package sandbox

import "os"

// detect: sandbox-exec is on every macOS; Apple calls it deprecated and ships it.
func detect() Support {
	if _, err := os.Stat("/usr/bin/sandbox-exec"); err != nil {
		return Support{Kind: None, Why: "/usr/bin/sandbox-exec is missing"}
	}
	return Support{Kind: SandboxExec}
}

package sandbox

import "os"

// detect returns sandbox-exec, which every macOS has. Apple has deprecated it but still ships it.
func detect() Support {
	if _, err := os.Stat("/usr/bin/sandbox-exec"); err != nil {
		return Support{Kind: None, Why: "/usr/bin/sandbox-exec is missing"}
	}
	return Support{Kind: SandboxExec}
}

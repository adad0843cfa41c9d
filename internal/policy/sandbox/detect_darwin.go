package sandbox

import "os"

// detect returns sandbox-exec if it exists. Apple has deprecated it but still ships it with macOS.
func detect() Support {
	if _, err := os.Stat("/usr/bin/sandbox-exec"); err != nil {
		return Support{Kind: None, Why: "/usr/bin/sandbox-exec is missing"}
	}
	return Support{Kind: SandboxExec}
}

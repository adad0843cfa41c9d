//go:build !linux && !darwin

package sandbox

func detect() Support {
	return Support{Kind: None, Why: "agent-lsp does not support a sandbox on this system"}
}

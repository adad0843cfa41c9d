//go:build !linux && !darwin

package sandbox

func detect() Support {
	return Support{Kind: None, Why: "this system has no sandbox that agent-lsp knows"}
}

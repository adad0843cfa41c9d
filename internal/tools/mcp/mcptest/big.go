//go:build !race

package mcptest

// Big is the size of a big result, which "big" alone asks for: 50 MB.
const Big = 50_000_000

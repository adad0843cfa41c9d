//go:build race

package mcptest

// Big is smaller under the race detector, which takes a minute for 50 MB.
const Big = 5_000_000

//go:build race

package mcp

// bigResult is smaller under the race detector, which makes JSON twenty times slower.
const bigResult = 5 << 20

//go:build !race

package mcp

// bigResult is the size of a result that is too long for any model.
const bigResult = 50 << 20

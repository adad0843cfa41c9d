package mcptest

// Big is the size in bytes of the result for the text "big" without a number. It is only 5 MB,
// because ten times as much takes a minute under the race detector.
const Big = 5_000_000

package mcptest

// Big is the size of a big result, which "big" alone asks for: 5 MB, for the race detector takes a
// minute for ten times that.
const Big = 5_000_000

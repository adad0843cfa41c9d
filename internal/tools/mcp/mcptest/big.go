package mcptest

// Big is the size of the result of the text "big" without a number. It is 5 MB, because the race
// detector takes a minute for ten times as much.
const Big = 5_000_000

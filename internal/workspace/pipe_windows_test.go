package workspace

import "testing"

// makePipe does nothing: pipes have no place in the file system here.
func makePipe(*testing.T, string) {}

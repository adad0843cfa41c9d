package openai_test

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain holds every model to its word: after Close nothing of it runs.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

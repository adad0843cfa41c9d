//go:build !linux

package cli

import "time"

// processorTime returns 0, because the processor time is measured only on Linux.
func processorTime() time.Duration { return 0 }

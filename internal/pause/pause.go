// Package pause waits for a duration and supports cancellation.
package pause

import (
	"context"
	"time"
)

// For waits for d and returns nil. If ctx ends first, For immediately returns its cause.
func For(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Package pause waits for a time in a way that can be ended.
package pause

import (
	"context"
	"time"
)

// For waits for d. It returns nil, or the cause of ctx's end as soon as that ends.
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

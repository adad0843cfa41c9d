package pause

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestForWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		if err := For(t.Context(), time.Hour); err != nil || time.Since(begun) != time.Hour {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

func TestForEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		enough := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		begun := time.Now()
		time.AfterFunc(time.Minute, func() { cancel(enough) })
		if err := For(ctx, time.Hour); !errors.Is(err, enough) || time.Since(begun) != time.Minute {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}

package app

import (
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/session"
	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// cleanup removes sessions and checkpoints that exceed the age or size in the settings, and outputs
// that are older than spillAge. It is safe for concurrent use.
type cleanup struct {
	log       *slog.Logger
	folders   *folders
	workspace *workspace.Workspace
	library   *session.Library
	later     func(func()) // runs a function when no model request is urgent

	background sync.WaitGroup
	closing    chan struct{} // closed by close; tasks that have not begun are then dropped

	mu   sync.Mutex
	kept *config.Config // the settings at the last sweep
}

// close waits for running cleanups.
func (c *cleanup) close() {
	close(c.closing)
	c.background.Wait()
}

// retention returns the maximum age and size of stored data. 0 means that there is no limit.
func retention(r *config.Retention) (age time.Duration, size int64) {
	if r != nil && r.MaxAgeDays != nil {
		age = time.Duration(*r.MaxAgeDays) * 24 * time.Hour
	}
	if r != nil && r.MaxBytes != nil {
		size = *r.MaxBytes
	}
	return age, size
}

// sweep removes old data as described for cleanup. It runs in the background, at the first model
// call and after the settings are reloaded. now contains the current settings. A daemon that is not
// used removes nothing.
func (c *cleanup) sweep(now *config.Config) {
	c.mu.Lock()
	same, first := c.kept == now, c.kept == nil // sweep is called before each model call
	c.kept = now
	c.mu.Unlock()
	if same {
		return
	}
	age, size := retention(now.Checkpoints)
	c.workspace.KeepCheckpoints(workspace.Retention{MaxAge: age, MaxBytes: size})
	// Sessions that are open now are kept, even if they are closed before the sweep reaches them.
	r := session.Retention{Keep: c.library.InUse()}
	r.MaxAge, r.MaxBytes = retention(now.Sessions)
	calm := make(chan struct{})
	if first {
		c.later(func() { close(calm) }) // wait until the model request has been sent
	} else {
		close(calm)
	}
	c.background.Go(func() {
		select {
		case <-calm:
		case <-c.closing: // shutdown does not wait for a sweep
			return
		}
		if _, err := c.library.GC(r); err != nil {
			c.log.Warn("removing old sessions", "error", err)
		}
		removeOlder(c.folders.file("spill"), spillAge)
	})
}

// spillAge is how long a session's long outputs are kept after the last one was stored.
const spillAge = 14 * 24 * time.Hour

// removeOlder removes the entries of a folder that have not been written to for the given time.
func removeOlder(dir string, age time.Duration) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > age {
			_ = os.RemoveAll(filepath.Join(dir, e.Name()))
		}
	}
}

package rpc

import (
	"context"
	"os"
	"time"
)

// parentPoll is how often a system without process handles is asked whether the client lives.
const parentPoll = 2 * time.Second

// watchParent ends the connection when the client's process dies, if it was alive when
// initialize came. Zero is no process.
func (s *server) watchParent(pid int) {
	if pid <= 0 || pid == os.Getpid() {
		return
	}
	ended := processEnd(s.link.Context(), pid)
	if ended == nil {
		return
	}
	s.link.Go("watching the client", func() {
		select {
		case <-ended:
			s.log.Info("the client's process has ended", "pid", pid)
			s.life.stop()
		case <-s.link.Context().Done():
		}
	})
}

// poll returns a channel that is closed when alive says no, nil if it does at once.
func poll(ctx context.Context, alive func() bool) <-chan struct{} {
	if !alive() {
		return nil
	}
	ended := make(chan struct{})
	go func() {
		t := time.NewTicker(parentPoll)
		defer t.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-t.C:
				if !alive() {
					close(ended)
					return
				}
			}
		}
	}()
	return ended
}

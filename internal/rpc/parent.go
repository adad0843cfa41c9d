package rpc

import (
	"context"
	"os"
	"time"
)

// parentPoll is the interval for checking whether the client is alive, on systems that do not have
// pidfds.
const parentPoll = 2 * time.Second

// watchParent closes the connection when the client's process exits, if that process was running
// during initialize. A pid of zero means that the client has sent no process ID.
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

// poll calls alive repeatedly and closes the returned channel when alive returns false. If the
// first call already returns false, poll returns nil.
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

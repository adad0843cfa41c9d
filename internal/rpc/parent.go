package rpc

import (
	"context"
	"os"
	"time"
)

// parentPoll is the interval for checking whether the client is alive on systems without process
// handles.
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

// poll returns a channel that is closed when the function alive returns false. It returns nil if
// the first call of this function returns false.
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

package session

import (
	"errors"
	"fmt"
	"os"

	"github.com/agent-lsp/agent-lsp/internal/filelock"
)

// Lock acquires the writer's lock without storing anything, unless the session already holds it.
// ErrLocked reports that another process holds the lock. ErrChanged reports that another process
// has held it since the session was loaded. If the session already holds the lock, Lock never
// waits.
func (s *Session) Lock() error {
	if s.writer.Load() {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lock()
}

// Stale reports whether another process has written since the session was loaded.
func (s *Session) Stale() bool {
	if s.writer.Load() {
		return false
	}
	s.mu.Lock()
	seen := s.seen
	s.mu.Unlock()
	info, err := os.Stat(s.lib.logPath(s.id))
	return err == nil && info.Size() != seen
}

// Locked reports whether this process holds the writer's lock.
func (s *Session) Locked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.locked
}

// WrittenElsewhere reports whether another process holds the writer's lock.
func (s *Session) WrittenElsewhere() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.locked || s.openForWriting() != nil {
		return false
	}
	err := lockFile(s.file)
	if err == nil {
		_ = filelock.Unlock(s.file) // closing the file also releases the lock
	}
	return errors.Is(err, ErrLocked)
}

// lock acquires the writer's lock and removes an incomplete last line. If another process has
// written since the session was read, the state in memory is out of date and lock returns
// ErrChanged.
func (s *Session) lock() error {
	if s.closed {
		return ErrClosed
	}
	if s.locked {
		return nil
	}
	if err := s.openForWriting(); err != nil {
		return err
	}
	if err := lockFile(s.file); errors.Is(err, ErrLocked) {
		return err
	} else if err != nil {
		return fmt.Errorf("locking session %s: %w", s.id, err)
	}
	err := s.checkUnchanged()
	if err == nil && s.seen > s.size {
		err = s.file.Truncate(s.size)
	}
	if err != nil {
		_ = filelock.Unlock(s.file) // closing the file also releases the lock
		return fmt.Errorf("opening session %s for writing: %w", s.id, err)
	}
	s.locked = true
	s.writer.Store(true)
	return nil
}

// lockFile acquires the writer's lock without waiting. Closing the file releases it.
func lockFile(f *os.File) error {
	if taken, err := filelock.Try(f); taken || err != nil {
		return err
	}
	return ErrLocked
}

func (s *Session) openForWriting() error {
	if s.file != nil {
		return nil
	}
	f, err := os.OpenFile(s.lib.logPath(s.id), os.O_RDWR, 0)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("session %s: %w", s.id, ErrUnknown)
	}
	if err != nil {
		return fmt.Errorf("opening session %s for writing: %w", s.id, err)
	}
	s.file = f
	return nil
}

func (s *Session) checkUnchanged() error {
	info, err := s.file.Stat()
	if err != nil {
		return err
	}
	if info.Size() != s.seen {
		return ErrChanged
	}
	return nil
}

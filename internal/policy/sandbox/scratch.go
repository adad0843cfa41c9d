package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/filelock"
	"github.com/agent-lsp/agent-lsp/internal/policy/sandbox/launcher"
)

// Scratch manages the folders outside the workspace to which sandboxed commands write. A Scratch
// serves all sessions of one process. The folders contain temporary files and private layers over
// package caches. The next process removes the folders of a process that died. A Scratch is safe
// for concurrent use.
type Scratch struct {
	base string

	mu   sync.Mutex
	dir  string   // folder of this process, "" until it is needed
	lock *os.File // held until this process ends
}

// NewScratch returns a Scratch whose folders are in base. base is created when the first folder is
// needed.
func NewScratch(base string) *Scratch { return &Scratch{base: base} }

// Folders returns a session's folders for temporary files and for layers. The caller creates them.
func (s *Scratch) Folders(session string) (tmp, layer string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.needDir(); err != nil {
		return "", "", err
	}
	own := filepath.Join(s.dir, strings.Map(folderRune, session))
	return filepath.Join(own, "tmp"), filepath.Join(own, "layer"), nil
}

// Lock returns the path of the file that the sandboxes of all processes lock (Spec.Lock).
func (s *Scratch) Lock() string { return filepath.Join(s.base, "changes.lock") }

// Socket returns the path of this process's proxy socket.
func (s *Scratch) Socket() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.needDir()
	return filepath.Join(s.dir, "proxy.sock"), err
}

// needDir creates this process's folder if it does not exist. The caller holds mu.
func (s *Scratch) needDir() error {
	if s.dir != "" {
		return nil
	}
	if err := filelock.With(filepath.Join(s.base, "scratch"), s.open); err != nil {
		return fmt.Errorf("creating the folder of temporary files: %w", err)
	}
	return nil
}

// open creates this process's folder and removes the folders of dead processes. The caller holds mu
// and the lock of base, so no other process can remove the folder before it is locked.
func (s *Scratch) open() error {
	s.removeDead()
	dir, err := os.MkdirTemp(s.base, "run-")
	if err != nil {
		return err
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return errors.Join(err, os.Remove(dir))
	}
	if _, err := filelock.Try(lock); err != nil {
		return errors.Join(err, lock.Close(), os.RemoveAll(dir))
	}
	s.dir, s.lock = dir, lock
	return nil
}

const lockName = "lock"

// removeDead removes the folders that no live process has locked.
func (s *Scratch) removeDead() {
	dirs, _ := filepath.Glob(filepath.Join(s.base, "run-*"))
	for _, dir := range dirs {
		lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			continue
		}
		if free, err := filelock.Try(lock); free && err == nil {
			_ = launcher.RemoveLayer(dir)
		}
		lock.Close()
	}
}

// Tmp returns a session's folder for temporary files as Folders does, or "" if no session has
// folders.
func (s *Scratch) Tmp(session string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		return ""
	}
	return filepath.Join(s.dir, strings.Map(folderRune, session), "tmp")
}

// Drop removes a session's folders. No command of the session may be running.
func (s *Scratch) Drop(session string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		return nil
	}
	return launcher.RemoveLayer(filepath.Join(s.dir, strings.Map(folderRune, session)))
}

// Close removes all folders of this process. It is idempotent. No command may be running.
func (s *Scratch) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		return nil
	}
	err := errors.Join(launcher.RemoveLayer(s.dir), s.lock.Close())
	s.dir, s.lock = "", nil
	return err
}

// folderRune replaces a character that is not safe in the name of a folder.
func folderRune(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' ||
		r == '_' {
		return r
	}
	return '_'
}

package session

import (
	"errors"
	"os"
	"path/filepath"
)

// dirOf returns the folder that contains a session's files.
func (l *Library) dirOf(id string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ok := l.spare[id]; ok {
		return l.opts.Spare
	}
	return l.dir
}

// newLog creates a session's empty file in the library's folder or, if that cannot be written, in
// the spare folder.
func (l *Library) newLog(id string) (*os.File, error) {
	f, err := newFile(l.dir, id)
	if err == nil || l.opts.Spare == "" || l.opts.Spare == l.dir || errors.Is(err, os.ErrExist) {
		return f, err
	}
	f, again := newFile(l.opts.Spare, id)
	if again != nil {
		return nil, errors.Join(err, again)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spare[id] = err
	return f, nil
}

func newFile(dir, id string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir, id+logSuffix), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
}

// spareFiles lists the spare folder if it is in use.
func (l *Library) spareFiles() []os.DirEntry {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.spare) == 0 {
		return nil
	}
	files, err := os.ReadDir(l.opts.Spare)
	if err != nil {
		return nil // open sessions are listed even if the folder cannot be read
	}
	return files
}

// Elsewhere returns the file and the reason if the session is not stored in the library's own
// folder. Otherwise, it returns "" and nil. After a restart, such a session is listed only while
// the spare folder is in use again.
func (s *Session) Elsewhere() (path string, why error) {
	s.lib.mu.Lock()
	why = s.lib.spare[s.id]
	s.lib.mu.Unlock()
	if why == nil {
		return "", nil
	}
	return s.lib.logPath(s.id), why
}

package config

import (
	"io/fs"
	"os"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/fileid"
)

// stamp identifies the state of a file. A program can set a file's modification time to any value.
// It cannot set the time in the field changed, which is available only on some systems.
type stamp struct {
	size int64
	time time.Time
	// changed is the time of the last change of the text, the name or the permissions. Zero means
	// unknown.
	changed time.Time
	id      uint64
}

// racyTime is the longest time for which a file system's clock may return the same value.
const racyTime = 2 * time.Second

// racy reports whether the file could change again without a change of its stamp.
func (s stamp) racy() bool {
	last := s.time
	if s.changed.After(last) {
		last = s.changed
	}
	return time.Since(last) < racyTime
}

func stampOf(info fs.FileInfo) stamp {
	s := stamp{size: info.Size(), time: info.ModTime()}
	id := fileid.Of(info)
	s.changed, s.id = id.Changed, id.Inode
	return s
}

// stampAt returns the stamp of the file at a path, or zero if there is none.
func stampAt(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stampOf(info)
}

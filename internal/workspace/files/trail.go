package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/fileid"
	"github.com/agent-lsp/agent-lsp/internal/pause"
	"github.com/agent-lsp/agent-lsp/internal/workspace/path"
)

// Trail identifies a file and the folders on its path. If two trails are equal, no folder was
// replaced between them and no name in the folders changed, unless the change came within tick of
// an earlier one (see wait).
type Trail struct {
	marks   string
	changed time.Time // of the last change of a name in one of the folders
}

// tick is longer than the time for which a file system's clock may return the same value.
const tick = 20 * time.Millisecond

// wait returns how long to wait before the trail can be compared with a later one, because a
// folder has just changed. It ignores times in the future, which another machine's clock has set.
func (t Trail) wait(now time.Time) time.Duration {
	if age := now.Sub(t.changed); age >= 0 && age < tick {
		return tick - age
	}
	return 0
}

// TrailOf returns the current trail of a reference. An error usually means that a link has appeared
// on the path. A missing file or folder is part of the trail.
func TrailOf(ref path.Ref) (t Trail, err error) {
	at, err := openRoot(ref)
	if err != nil {
		return t, plain(err)
	}
	defer func() { at.root.Close() }()
	for {
		st, err := at.root.Stat(".")
		if err != nil {
			return t, plain(err)
		}
		t.pass(st)
		first, rest, deeper := strings.Cut(at.name, string(filepath.Separator))
		if !deeper {
			return t, t.end(at)
		}
		next, err := at.enter(first)
		if errors.Is(err, fs.ErrNotExist) {
			return t, nil
		}
		if err != nil {
			return t, plain(err)
		}
		at.root.Close()
		next.name, at = rest, next
	}
}

// pass adds a folder to the trail.
func (t *Trail) pass(folder fs.FileInfo) {
	id, changed := identity(folder)
	t.marks += fmt.Sprint(id, " ", changed.UnixNano(), "/")
	if changed.After(t.changed) {
		t.changed = changed
	}
}

// end adds the file itself.
func (t *Trail) end(at *folder) error {
	st, err := at.root.Lstat(at.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return plain(err)
	case st.Mode()&fs.ModeSymlink != 0:
		return errLinked
	}
	id, _ := identity(st)
	t.marks += id
	return nil
}

// identity returns what distinguishes a file from all others, and the time of its last change,
// which programs cannot set. On Windows, it only has the mode and the modification time.
func identity(info fs.FileInfo) (id string, changed time.Time) {
	of := fileid.Of(info)
	if of.Changed.IsZero() {
		of.Changed = info.ModTime()
	}
	return fmt.Sprint(info.Mode(), of.Device, " ", of.Inode), of.Changed
}

// errMoving reports that another program may have read a different file.
var errMoving = errors.New("another program keeps changing a folder of its path; try again")

// steadyTries limits how often Steady calls its function.
const steadyTries = 8

// Steady calls read, which makes another program read a file by its path, until nothing on the path
// changed during a call. If that does not happen, Steady returns an error, and the result of read
// must not be used, because it may come from a file to which a new link leads.
func Steady(ctx context.Context, ref path.Ref, read func()) error {
	for range steadyTries {
		before, err := TrailOf(ref)
		if err != nil {
			return err
		}
		if wait := before.wait(time.Now()); wait > 0 {
			if err := pause.For(ctx, wait); err != nil {
				return err
			}
			continue
		}
		read()
		if after, err := TrailOf(ref); err == nil && after == before {
			return nil
		}
	}
	return errMoving
}

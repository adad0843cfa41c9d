package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
)

// Undo contains the steps to return to the state before a checkpoint's turn. The steps are copies.
type Undo struct {
	Session, Message string
	Files            []*File           // includes all later steps, oldest first
	From             map[string]string // the old keys of renamed files, by their new keys
	NotCovered       []string          // files that commands changed in those turns

	list []*record
}

// Undo collects the steps from the beginning of a checkpoint's turn until now. It returns
// ErrUnknown if the checkpoint does not exist.
func (l *Log) Undo(id string) (*Undo, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, at := l.find(id)
	if at < 0 {
		return nil, fmt.Errorf("restoring checkpoint %s: %w", id, ErrUnknown)
	}
	list := slices.Clone(s.list[at:])
	return &Undo{
		Session: list[0].Session, Message: list[0].Message, list: list,
		Files: unwinding(list), From: renamedFrom(list), NotCovered: notCoveredBy(list),
	}, nil
}

// notCoveredBy lists the files that commands changed in the turns that are undone.
func notCoveredBy(undo []*record) (names []string) {
	for _, cp := range undo {
		names = append(names, cp.NotCovered...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// unwinding collects each file's steps from the checkpoints, oldest first. It omits steps that a
// later step reverted exactly.
func unwinding(list []*record) []*File {
	var out []*File
	byKey := map[string]*File{}
	for _, cp := range list {
		for _, f := range cp.Files {
			g := byKey[f.Key]
			if g == nil {
				g = &File{Key: f.Key, URI: f.URI, Path: f.Path}
				byKey[f.Key] = g
				out = append(out, g)
			}
			for _, s := range f.Steps {
				c := *s
				if n := len(g.Steps); n > 0 && g.Steps[n-1].Pre == c.Post &&
					g.Steps[n-1].Post == c.Pre {
					g.Steps = g.Steps[:n-1]
					continue
				}
				g.Steps = append(g.Steps, &c)
			}
		}
	}
	return slices.DeleteFunc(out, func(f *File) bool { return len(f.Steps) == 0 })
}

// renamedFrom maps each new key in the renames of checkpoints to the key before that rename. If a
// file was renamed several times, each rename has its own entry.
func renamedFrom(undo []*record) map[string]string {
	from := map[string]string{}
	for _, cp := range undo {
		for _, f := range cp.Files {
			for _, s := range f.Steps {
				if s.From != "" {
					from[f.Key] = s.From
				}
			}
		}
	}
	return from
}

// Content is the content of a file during an undo. Absent means that the file does not exist.
type Content struct {
	Text   []byte
	Absent bool
}

// Equal reports whether two contents are the same.
func (a Content) Equal(b Content) bool {
	return a.Absent == b.Absent &&
		bytes.Equal(a.Text, b.Text)
}

// The reasons why a file is not restored. The texts are shown to the user.
var (
	errUserChanged = errors.New("you have changed the same lines since then; it was left unchanged")
	errUserDeleted = errors.New("you have deleted it since then; it was not restored")
	errUserRemade  = errors.New("you have created it again; it was not changed")
	errUserAdded   = errors.New("the agent created it and you have changed it since then; it was not deleted")
)

// Unwind reverts the steps of a file in the file's current content, the newest first. The error is
// for the user and describes why the file was not restored. Unwind reads contents and takes no
// lock.
func (l *Log) Unwind(now Content, f *File) (Content, error) {
	var err error
	for _, s := range slices.Backward(f.Steps) {
		if now, err = l.undoStep(now, s); err != nil {
			return now, err
		}
	}
	return now, nil
}

// undoStep reverts one step of the agent in the given content.
func (l *Log) undoStep(now Content, s *Step) (Content, error) {
	pre, err := l.content(s.Pre)
	if err != nil {
		return now, err
	}
	post, err := l.content(s.Post)
	if err != nil {
		return now, err
	}
	before, after := Content{pre, s.Pre == ""}, Content{post, s.Post == ""}
	switch {
	case now.Equal(after):
		return before, nil
	case now.Equal(before):
		return now, nil
	case now.Absent:
		return now, errUserDeleted
	case after.Absent:
		return now, errUserRemade
	case before.Absent:
		return now, errUserAdded
	}
	merged, conflicts := edit.Merge3(post, now.Text, pre)
	if len(conflicts) > 0 {
		return now, errUserChanged
	}
	return Content{Text: merged}, nil
}

// MarkUndone records which turns a restore reverted and which it brought back. restoreID is the
// restore's own checkpoint, or "" if the restore changed nothing.
func (l *Log) MarkUndone(u *Undo, restoreID string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := map[*record]bool{}
	s := l.session(u.Session)
	for _, cp := range s.list {
		was[cp] = cp.Undone
	}
	for _, cp := range slices.Backward(u.list) {
		cp.Undone = true
		for _, o := range s.list {
			if slices.Contains(cp.Undid, o.ID) {
				o.Undone = false
			} else if slices.Contains(cp.Redid, o.ID) {
				o.Undone = true
			}
		}
	}
	var undid, redid []string
	for _, cp := range s.list {
		switch {
		case cp.Undone && !was[cp]:
			undid = append(undid, cp.ID)
		case !cp.Undone && was[cp]:
			redid = append(redid, cp.ID)
		default:
			continue
		}
		l.report(l.save(cp))
	}
	for _, cp := range s.list {
		if cp.ID == restoreID && restoreID != "" {
			cp.Undid, cp.Redid = undid, redid
			l.report(l.save(cp))
		}
	}
}

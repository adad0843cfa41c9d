package checkpoint

import (
	"errors"
	"io/fs"
	"slices"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
	"github.com/agent-lsp/agent-lsp/internal/workspace/path"
)

// Change is a change to one file that is about to be made. Its creator owns it. Two calls must not
// use the same Change at the same time.
type Change struct {
	Ref    path.Ref
	NewRef path.Ref // new name after a rename; the zero Ref otherwise

	Before, After  []byte // contents as text; ignored if Creates or Deletes excludes them
	Creates        bool   // whether the file did not exist before
	Deletes        bool   // whether the file did not exist after
	Encoding       edit.Text
	Mode           fs.FileMode
	From           string // set if a restore undoes a rename: key of the path to move from
	Added, Removed int    // lines

	kept []kept
}

// kept is a step of a change that was begun.
type kept struct {
	cp    *record
	file  *File
	step  *Step
	was   Step // state of the step before the change extended it; zero for a new step
	fresh bool
}

// Begin stores the current and the future contents of the files before they change. It returns one
// error for each change that must not be made. If a change was begun earlier but not made, it is
// begun again.
func (l *Log) Begin(t Turn, changes []*Change) []error {
	errs := make([]error, len(changes))
	if len(changes) == 0 {
		return errs
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.collected {
		l.collected = l.opt.Go(func() { l.Collect(l.opt.Now()) })
	}
	var cp *record
	for i, c := range changes {
		steps, err := l.steps(c)
		if err != nil {
			errs[i] = err
			continue
		}
		if cp == nil {
			cp = l.current(t)
		}
		c.revert()
		for ref, s := range steps {
			c.kept = append(c.kept, cp.add(ref, s))
		}
	}
	if cp == nil {
		return errs
	}
	if err := l.save(cp); err != nil {
		for i := range errs {
			if errs[i] == nil {
				errs[i] = err
			}
		}
	}
	return errs
}

// Add stores the step of a change that has already been made.
func (l *Log) Add(t Turn, c *Change) error {
	steps, err := l.steps(c)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	cp := l.current(t)
	for ref, s := range steps {
		cp.add(ref, s)
	}
	return l.save(cp)
}

// add begins a step, or extends the last one if the file has not changed since.
func (cp *record) add(ref path.Ref, s *Step) kept {
	f := cp.file(ref)
	if n := len(f.Steps); n > 0 && f.Steps[n-1].Post == s.Pre && s.Pre != "" {
		last := f.Steps[n-1]
		k := kept{cp: cp, file: f, step: last, was: *last}
		last.Post = s.Post
		last.Added, last.Removed = last.Added+s.Added, last.Removed+s.Removed
		return k
	}
	f.Steps = append(f.Steps, s)
	return kept{cp: cp, file: f, step: s, fresh: true}
}

// steps returns the steps of a change and stores their contents. A rename has a step for each of
// its two files.
func (l *Log) steps(c *Change) (map[path.Ref]*Step, error) {
	var before, after string
	var errBefore, errAfter error
	var wg sync.WaitGroup
	wg.Go(func() { before, errBefore = l.put(c.Creates, c.Before) })
	after, errAfter = l.put(c.Deletes, c.After)
	wg.Wait()
	if err := errors.Join(errBefore, errAfter); err != nil {
		return nil, err
	}
	s := &Step{
		Pre: before, Post: after, BOM: c.Encoding.BOM, Encoding: c.Encoding.Encoding, Mode: c.Mode,
		From:  c.From,
		Added: c.Added, Removed: c.Removed,
	}
	if c.NewRef.Key == "" {
		return map[path.Ref]*Step{c.Ref: s}, nil
	}
	leave, arrive := *s, *s
	leave.Post, arrive.Pre, arrive.From = "", "", c.Ref.Key
	return map[path.Ref]*Step{c.Ref: &leave, c.NewRef: &arrive}, nil
}

func (l *Log) put(absent bool, text []byte) (string, error) {
	if absent {
		return "", nil
	}
	return l.opt.Blobs.Put(text)
}

// revert drops the steps of an attempt that did not change the file. The caller holds the log's mu.
func (c *Change) revert() {
	for _, k := range c.kept {
		if k.fresh {
			k.file.Steps = slices.DeleteFunc(k.file.Steps,
				func(s *Step) bool { return s == k.step })
		} else {
			*k.step = k.was
		}
		if len(k.file.Steps) == 0 {
			k.cp.Files = slices.DeleteFunc(k.cp.Files, func(f *File) bool { return f == k.file })
		}
	}
	c.kept = nil
}

// Revert drops the steps of changes that were begun but not made.
func (l *Log) Revert(changes []*Change) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var cp *record
	for _, c := range changes {
		if len(c.kept) > 0 {
			cp = c.kept[0].cp
			c.revert()
		}
	}
	if cp != nil {
		l.report(l.save(cp))
	}
}

package checkpoint

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/workspace/files"
)

// Retention is how long checkpoints are kept and how much space their contents may use. 0 means no
// limit.
type Retention struct {
	MaxAge   time.Duration
	MaxBytes int64
}

// over reports whether a checkpoint must be removed. This is the case if its age exceeds MaxAge, or
// if total, the size of all checkpoints in bytes, exceeds MaxBytes.
func (r Retention) over(age time.Duration, total int64) bool {
	return r.MaxAge > 0 && age > r.MaxAge || r.MaxBytes > 0 && total > r.MaxBytes
}

// Keep sets how long checkpoints are kept. Expired checkpoints are removed immediately if files
// have already been changed, and otherwise when the first file changes.
func (l *Log) Keep(keep Retention) {
	l.mu.Lock()
	l.keep = keep
	again := l.collected
	l.mu.Unlock()
	if again {
		l.opt.Go(func() { l.Collect(l.opt.Now()) })
	}
}

// blobGrace is how long contents are kept that no checkpoint refers to. Another process may have
// just written them for a checkpoint that it has not written yet.
const blobGrace = time.Hour

// storedRecord describes one checkpoint file for the collection.
type storedRecord struct {
	path string
	cp   record
}

// Collect removes checkpoints that are too old or exceed the space, and contents that no checkpoint
// refers to. It runs in parallel with the first edit, and whenever the limits change after that.
func (l *Log) Collect(now time.Time) {
	if l.opt.StateDir == "" {
		return
	}
	l.mu.Lock()
	keep := l.keep
	l.mu.Unlock()
	all := l.stored()
	sizes := l.blobSizes(all)
	var total int64
	used := map[string]bool{}
	for _, s := range slices.Backward(all) {
		var more int64
		shas := s.cp.shas()
		for _, sha := range shas {
			if !used[sha] {
				more += sizes[sha]
			}
		}
		if keep.over(now.Sub(s.cp.Created), total+more) {
			l.drop(s)
			continue
		}
		total += more
		for _, sha := range shas {
			used[sha] = true
		}
	}
	l.opt.Blobs.Collect(used, now.Add(-blobGrace))
}

// stored reads all sessions' checkpoints, oldest first.
func (l *Log) stored() []storedRecord {
	var out []storedRecord
	names, _ := filepath.Glob(filepath.Join(l.opt.StateDir, "checkpoints", "*", "*.json"))
	for _, name := range names {
		s := storedRecord{path: name}
		if data, err := os.ReadFile(name); err == nil && json.Unmarshal(data, &s.cp) == nil {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b storedRecord) int { return a.cp.Created.Compare(b.cp.Created) })
	return out
}

func (cp *record) shas() []string {
	var out []string
	for _, f := range cp.Files {
		for _, s := range f.Steps {
			for _, sha := range []string{s.Pre, s.Post} {
				if files.ValidHash(sha) {
					out = append(out, sha)
				}
			}
		}
	}
	return out
}

func (l *Log) blobSizes(stored []storedRecord) map[string]int64 {
	sizes := map[string]int64{}
	for _, s := range stored {
		for _, sha := range s.cp.shas() {
			if _, known := sizes[sha]; !known {
				if size, ok := l.opt.Blobs.Size(sha); ok {
					sizes[sha] = size
				}
			}
		}
	}
	return sizes
}

func (l *Log) drop(s storedRecord) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if o := l.sessions[s.cp.Session]; o != nil {
		o.list = slices.DeleteFunc(o.list, func(cp *record) bool { return cp.ID == s.cp.ID })
	}
	l.report(files.RemoveState(s.path))
}

package workspace

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Retention says how long checkpoints are kept, and how much room their contents may take;
// 0 is for ever, and without a limit.
type Retention struct {
	MaxAge   time.Duration
	MaxBytes int64
}

// over reports whether a checkpoint of that age is not kept that makes total bytes.
func (r Retention) over(age time.Duration, total int64) bool {
	return r.MaxAge > 0 && age > r.MaxAge || r.MaxBytes > 0 && total > r.MaxBytes
}

// KeepCheckpoints says how long checkpoints are kept. What is not kept any more goes at once where files were
// changed already, else with the first change.
func (w *Workspace) KeepCheckpoints(keep Retention) {
	w.checkpoints.mu.Lock()
	w.checkpoints.keep = keep
	again := w.checkpoints.collected
	w.checkpoints.mu.Unlock()
	if again {
		w.spawn(func() { w.collectGarbage(w.opt.Now()) })
	}
}

// blobGrace spares contents that another process may just have written for a checkpoint that
// it has not written yet.
const blobGrace = time.Hour

// storedCheckpoint is one checkpoint file as the collection sees it.
type storedCheckpoint struct {
	path string
	cp   checkpoint
}

// collectGarbage removes checkpoints that are too old or too many, and the contents that
// none names any more. It runs beside the first edit, and when less is to be kept from then on.
func (w *Workspace) collectGarbage(now time.Time) {
	if w.opt.StateDir == "" {
		return
	}
	w.checkpoints.mu.Lock()
	keep := w.checkpoints.keep
	w.checkpoints.mu.Unlock()
	stored := w.storedCheckpoints()
	sizes := w.blobSizes(stored)
	var total int64
	used := map[string]bool{}
	for _, s := range slices.Backward(stored) {
		var more int64
		shas := s.cp.shas()
		for _, sha := range shas {
			if !used[sha] {
				more += sizes[sha]
			}
		}
		if keep.over(now.Sub(s.cp.Created), total+more) {
			w.dropCheckpoint(s)
			continue
		}
		total += more
		for _, sha := range shas {
			used[sha] = true
		}
	}
	w.dropBlobs(used, now)
}

// storedCheckpoints reads all sessions' checkpoints, oldest first.
func (w *Workspace) storedCheckpoints() []storedCheckpoint {
	var out []storedCheckpoint
	names, _ := filepath.Glob(filepath.Join(w.opt.StateDir, "checkpoints", "*", "*.json"))
	for _, name := range names {
		s := storedCheckpoint{path: name}
		if data, err := os.ReadFile(name); err == nil && json.Unmarshal(data, &s.cp) == nil {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b storedCheckpoint) int { return a.cp.Created.Compare(b.cp.Created) })
	return out
}

func (cp *checkpoint) shas() []string {
	var out []string
	for _, f := range cp.Files {
		for _, s := range f.Steps {
			for _, sha := range []string{s.Pre, s.Post} {
				if validSHA(sha) {
					out = append(out, sha)
				}
			}
		}
	}
	return out
}

func (w *Workspace) blobSizes(stored []storedCheckpoint) map[string]int64 {
	sizes := map[string]int64{}
	for _, s := range stored {
		for _, sha := range s.cp.shas() {
			if _, known := sizes[sha]; !known {
				if st, err := os.Stat(w.blobs.path(sha)); err == nil {
					sizes[sha] = st.Size()
				}
			}
		}
	}
	return sizes
}

func (w *Workspace) dropCheckpoint(s storedCheckpoint) {
	w.checkpoints.mu.Lock()
	defer w.checkpoints.mu.Unlock()
	if l := w.checkpoints.sessions[s.cp.Session]; l != nil {
		l.list = slices.DeleteFunc(l.list, func(cp *checkpoint) bool { return cp.ID == s.cp.ID })
	}
	w.reportState(removeIfThere(s.path))
}

func (w *Workspace) dropBlobs(used map[string]bool, now time.Time) {
	_ = filepath.WalkDir(w.blobs.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || used[strings.TrimSuffix(d.Name(), ".zst")] {
			return nil
		}
		if st, err := d.Info(); err == nil && now.Sub(st.ModTime()) > blobGrace {
			_ = os.Remove(path)
		}
		return nil
	})
}

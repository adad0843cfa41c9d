package workspace

import (
	"bytes"
	"context"
	"hash/maphash"
	"slices"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
)

// A buffer and its file may differ for two reasons. If the user has not saved the buffer, nothing
// needs to be done. If another program changed the file, the user must be informed. Confusing the
// two would lose one of the texts.

// keptTexts is how many of a buffer's recent texts are remembered. The editor may have written any
// of them to disk, because it reports a save only afterwards, while the user continues to type.
const keptTexts = 64

// rememberedBytes is the size of the largest buffer text that is remembered, because each text is
// hashed while the user types.
const rememberedBytes = 1 << 20

// compareDisk compares f, which contains a buffer, with the file on disk and sets the fields of f
// that describe the difference. If another program changed the file, compareDisk also notifies the
// user.
func (w *Workspace) compareDisk(f *File) {
	if !f.Ref.IsFile() {
		f.Dirty = true
		return
	}
	disk, err := readDisk(f.Ref)
	if err != nil {
		f.Dirty = true
		return
	}
	f.Mode = disk.Mode
	if bytes.Equal(disk.Text.Data, f.Text.Data) {
		w.noteSynced(f.Ref.Key, f.Text.Data)
		return
	}
	f.Dirty, f.Disk = true, disk.Text.Data
	if emptyInEditor(disk.Text.Data, f.Text.Data) {
		return
	}
	w.mu.Lock()
	d := w.byKey(f.Ref.Key)
	tell, ask := false, false
	if d != nil && d.diverged(disk) {
		f.Diverged = true
		tell, d.diskTold = !d.diskTold, true
		// The editor reloads a buffer without unsaved changes.
		unsaved := maphash.Bytes(docSeed, d.text) != d.synced
		ask = tell && unsaved && !d.asking && w.opt.AskReload != nil
		d.asking = d.asking || ask
	}
	w.mu.Unlock()
	if tell {
		w.notice("warning", f.Ref.Rel+
			" was changed on disk outside the editor and differs from the open buffer: reload it or save it")
	}
	if ask && !w.spawn(func() { w.askReload(f.Ref) }) {
		w.asked(f.Ref.Key)
	}
}

// diverged reports whether another program changed the file of a document whose text differs from
// the file. A file that was last modified before the document was opened has not diverged, because
// the document was then opened with unsaved text. The caller holds mu.
func (d *document) diverged(disk *File) bool {
	hash := maphash.Bytes(docSeed, disk.Text.Data)
	if d.written(hash) {
		d.synced = hash
	} else if disk.modified.Before(d.opened) {
		d.synced = hash
	}
	d.opened = time.Time{}
	return hash != d.synced
}

// remember records the buffer's current text, because the editor may be writing it to disk. The
// caller holds mu.
func (d *document) remember() {
	if len(d.text) > rememberedBytes {
		return
	}
	if len(d.unsaved) >= keptTexts {
		d.unsaved = slices.Delete(d.unsaved, 0, len(d.unsaved)-keptTexts+1)
	}
	d.unsaved = append(d.unsaved, maphash.Bytes(docSeed, d.text))
}

// written reports whether the buffer has contained the text with the given hash since it last
// matched its file. It forgets the texts up to that one. The caller holds mu.
func (d *document) written(hash uint64) bool {
	i := slices.Index(d.unsaved, hash)
	d.unsaved = d.unsaved[i+1:]
	return i >= 0
}

// emptyInEditor reports whether a buffer is an editor's form of an empty file. Neovim shows an
// empty file as one empty line with a line ending.
func emptyInEditor(disk, buffer []byte) bool {
	return len(disk) == 0 && (string(buffer) == "\n" || string(buffer) == "\r\n")
}

// noteSynced records that the buffer's text and its file match.
func (w *Workspace) noteSynced(key string, text []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d := w.byKey(key); d != nil {
		d.synced, d.opened = maphash.Bytes(docSeed, text), time.Time{}
		d.written(d.synced)
	}
}

// ReloadAnswer is the user's choice for a buffer whose file another program changed.
type ReloadAnswer string

// The possible answers. An empty answer changes nothing.
const (
	ReloadDisk ReloadAnswer = "reload" // load the file's text into the buffer
	KeepBuffer ReloadAnswer = "keep"   // the buffer is used until the file changes again
)

// askReload asks the user which text to keep, and applies the answer.
func (w *Workspace) askReload(ref Ref) {
	answer := w.opt.AskReload(w.ctx, ref.Rel)
	w.asked(ref.Key)
	disk, err := readDisk(ref)
	if err != nil {
		return // the file cannot be read, so the buffer is kept
	}
	switch answer {
	case KeepBuffer:
		w.noteSynced(ref.Key, disk.Text.Data)
	case ReloadDisk:
		w.reload(ref, disk.Text.Data)
	}
}

func (w *Workspace) asked(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if d := w.byKey(key); d != nil {
		d.asking = false
	}
}

// reload asks the editor to load the file's text into its buffer, as one undo step.
func (w *Workspace) reload(ref Ref, text []byte) {
	w.mu.Lock()
	d := w.byKey(ref.Key)
	if d == nil || maphash.Bytes(docSeed, text) == d.synced {
		w.mu.Unlock()
		return // the buffer was closed, or saved over the file, in the meantime
	}
	var splices []splice
	for _, h := range edit.Hunks(d.text, text) {
		splices = append(splices, splice{Start: h.BaseStart, End: h.BaseEnd, Text: h.New})
	}
	e := WorkspaceEdit{Documents: []DocumentEdit{w.textEdits(d, splices)}}
	w.mu.Unlock()
	ctx, cancel := context.WithTimeout(w.ctx, replyWait)
	defer cancel()
	r, err := w.opt.Client.ApplyEdit(ctx, "agent: reload "+ref.Rel, e)
	if err != nil || !r.Applied {
		w.notice("warning", ref.Rel+" was not reloaded: the editor refused; reload it there")
	}
}

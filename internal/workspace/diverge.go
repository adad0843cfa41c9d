package workspace

import (
	"bytes"
	"context"
	"hash/maphash"
	"slices"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
)

// A buffer and its file may differ because the user has not saved, which concerns only the user, or
// because another program changed the file, which the user has to know about: either text would be
// lost if one were mistaken for the other.

// keptTexts is how many texts of a buffer are remembered that may still reach the disk: the editor
// reports a save only afterwards, while the user continues to type.
const keptTexts = 64

// rememberedBytes is the size beyond which texts are not remembered: each is hashed as it is typed.
const rememberedBytes = 1 << 20

// compareDisk says how a buffer stands to its file.
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
		// The editor reloads a buffer without changes of its own.
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
// it. A document opened with unsaved text has an older file. The caller holds mu.
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

// remember notes the text that the buffer holds now, as one that the editor may be writing. Caller
// holds mu.
func (d *document) remember() {
	if len(d.text) > rememberedBytes {
		return
	}
	if len(d.unsaved) >= keptTexts {
		d.unsaved = slices.Delete(d.unsaved, 0, len(d.unsaved)-keptTexts+1)
	}
	d.unsaved = append(d.unsaved, maphash.Bytes(docSeed, d.text))
}

// written reports whether the buffer held a text since the file was last seen to agree with it, and
// forgets what is older. Caller holds mu.
func (d *document) written(hash uint64) bool {
	i := slices.Index(d.unsaved, hash)
	d.unsaved = d.unsaved[i+1:]
	return i >= 0
}

// emptyInEditor says whether a buffer is what an editor makes of an empty file: Neovim shows it
// as one empty line, ending included.
func emptyInEditor(disk, buffer []byte) bool {
	return len(disk) == 0 && (string(buffer) == "\n" || string(buffer) == "\r\n")
}

// noteSynced records that the buffer's text and its file agree.
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

// The answers; "" is none, and everything stays as it is.
const (
	ReloadDisk ReloadAnswer = "reload" // the file's text into the buffer
	KeepBuffer ReloadAnswer = "keep"   // the buffer is the truth, until the file changes again
)

// askReload asks the user which text counts, and makes it so.
func (w *Workspace) askReload(ref Ref) {
	answer := w.opt.AskReload(w.ctx, ref.Rel)
	w.asked(ref.Key)
	disk, err := readDisk(ref)
	if err != nil {
		return // gone meanwhile: there is nothing to load, and the buffer is kept anyhow
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

// reload has the editor put the file's text into its buffer, as one step of the editor's undo.
func (w *Workspace) reload(ref Ref, text []byte) {
	w.mu.Lock()
	d := w.byKey(ref.Key)
	if d == nil || maphash.Bytes(docSeed, text) == d.synced {
		w.mu.Unlock()
		return // closed, or saved over the file meanwhile
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
		w.notice("warning", ref.Rel+" was not loaded again: the editor refused; load it there")
	}
}

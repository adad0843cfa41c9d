package workspace

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/workspace/edit"
	"github.com/agent-lsp/agent-lsp/internal/workspace/files"
)

// Source is the origin of a file's text.
type Source string

// The sources of a File.
const (
	FromDisk    Source = "disk"
	FromBuffer  Source = "buffer"
	FromPending Source = "pending" // includes the session's own changes that are not applied yet
)

// File is the content of a file at one moment. Text.Data is shared and must not be changed.
type File struct {
	Ref        Ref
	Text       edit.Text
	Source     Source
	Dirty      bool   // the buffer differs from the disk; described as "buffer (unsaved)"
	Diverged   bool   // the disk was changed outside the editor, so the user must reload or save
	Version    *int32 // version of the open document
	LanguageID string
	SHA256     string // hash of the bytes on disk, or of the buffer's text if it is open
	Mode       fs.FileMode
	Disk       []byte // the decoded text on disk if Dirty, otherwise nil

	modified time.Time // modification time of the file on disk
}

// SourceLabel returns the source in words: "disk", "buffer", "buffer (unsaved)" or "pending".
func (f *File) SourceLabel() string {
	if f.Source == FromBuffer && f.Dirty {
		return "buffer (unsaved)"
	}
	return string(f.Source)
}

// Read returns the current text of a file. This is the editor's buffer if the file is open, and
// otherwise the file on disk. If the file does not exist, the error is fs.ErrNotExist.
func (w *Workspace) Read(ctx context.Context, ref Ref) (*File, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	if w.opt.Look != nil && ref.IsFile() {
		if err := w.opt.Look(ctx, ref.URI); err != nil {
			return nil, fmt.Errorf("reading %s: %w: %w", ref, ErrRefused, err)
		}
	}
	w.canonicalizeDocs()
	if f := w.readBuffer(ref); f != nil {
		w.compareDisk(f)
		return f, nil
	}
	if !ref.IsFile() {
		return nil, fmt.Errorf("reading %s: it is not open in the editor: %w", ref, fs.ErrNotExist)
	}
	return readDisk(ref)
}

// ReadFor works like Read for a session's agent, with the session's own collected changes applied.
func (w *Workspace) ReadFor(ctx context.Context, sessionID string, ref Ref) (*File, error) {
	f, err := w.Read(ctx, ref)
	if pending, ok := w.pendingText(sessionID, ref, f); ok {
		if pending == nil {
			return nil, fmt.Errorf("reading %s: a pending change deletes it: %w", ref,
				fs.ErrNotExist)
		}
		return pending, nil
	}
	return f, err
}

func (w *Workspace) readBuffer(ref Ref) *File {
	w.mu.Lock()
	defer w.mu.Unlock()
	d := w.byKey(ref.Key)
	if d == nil {
		return nil
	}
	v := d.version
	f := &File{Ref: ref, Source: FromBuffer, Version: &v, LanguageID: d.languageID, Mode: 0o644}
	f.Ref.URI = d.uri
	f.Text = edit.Text{Data: d.snapshot()}
	f.SHA256 = HashOf(f.Text.Data)
	return f
}

func (w *Workspace) dirty(ref Ref, text []byte) bool {
	disk, err := readDisk(ref)
	return err != nil || !bytes.Equal(disk.Text.Data, text)
}

// readDisk reads a file below its root.
func readDisk(ref Ref) (*File, error) {
	data, st, err := files.Read(ref)
	if err != nil {
		return nil, err
	}
	text, err := edit.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", ref, err)
	}
	return &File{Ref: ref, Text: text, Source: FromDisk, SHA256: HashOf(data), Mode: st.Mode(),
		modified: st.ModTime()}, nil
}

// ReadDiskRaw returns a file's bytes on disk, regardless of what the editor shows, up to
// MaxFileSize.
func (w *Workspace) ReadDiskRaw(ref Ref) ([]byte, fs.FileInfo, error) { return files.Read(ref) }

// Linked reports whether a link has appeared on the path of a file since the path was resolved. It
// also returns true if the path cannot be checked.
func (w *Workspace) Linked(ref Ref) bool {
	_, err := files.TrailOf(ref)
	return err != nil
}

// OpenDisk opens a regular file below its root for streaming. It refuses devices, pipes and
// sockets, even if another program created one there after the path was resolved.
func (w *Workspace) OpenDisk(ref Ref) (*os.File, fs.FileInfo, error) { return files.Open(ref) }

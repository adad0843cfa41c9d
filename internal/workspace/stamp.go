package workspace

import "github.com/agent-lsp/agent-lsp/internal/workspace/readset"

// Stamp records that a session has seen the file as it is in f, either all of it or a part. A part
// is enough to edit the file but not to replace it.
func (w *Workspace) Stamp(sessionID string, f *File, whole bool) {
	w.reads.Put(sessionID, f.Ref.Key,
		readset.Record{SHA: HashOf(f.Text.Data), Text: f.Text.Data, Whole: whole})
}

// StampRaw works like Stamp for a part of a file on disk that was read as a stream. sha is the
// SHA-256 of the bytes read.
func (w *Workspace) StampRaw(sessionID string, ref Ref, sha string) {
	w.reads.Put(sessionID, ref.Key, readset.Record{SHA: sha})
}

// DropStamp makes the session read the file again before it can edit the file.
func (w *Workspace) DropStamp(sessionID string, ref Ref) { w.reads.Drop(sessionID, ref.Key) }

// CheckStamp returns an error unless the session has seen the file as it is in f, either a part of
// it or, if whole is set, all of it. The errors and the note are those of readset.Set.Check.
func (w *Workspace) CheckStamp(sessionID string, f *File, whole bool) (note string, err error) {
	now := readset.Now{Key: f.Ref.Key, Name: f.Ref.String(), SHA256: f.SHA256, Text: f.Text.Data}
	return w.reads.Check(sessionID, now, whole)
}

// emptyHash is the hash of an empty file, which every session knows completely.
var emptyHash = HashOf(nil)

// stampOwn is called when the model is informed about a session's own proposal. It records that the
// session knows the text that the proposal left in the files. Later changes to the files are not in
// the record. The caller holds mu.
func (w *Workspace) stampOwn(p *proposal) {
	for _, c := range p.changes {
		if c.left == nil || c.op == Delete {
			continue
		}
		key := c.ref.Key
		if c.op == Rename {
			key = c.newRef.Key
		}
		before, known := w.reads.Get(p.reader, c.ref.Key)
		if !known {
			before, _ = w.reads.Get(p.reader, key) // the record moved with the file
		}
		whole := before.Whole || c.op == Create || c.base.SHA256 == emptyHash
		w.reads.Put(p.reader, key, readset.Record{SHA: HashOf(c.left), Text: c.left, Whole: whole,
			Own: true})
		c.left = nil
	}
}

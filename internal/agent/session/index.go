package session

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/agent-lsp/agent-lsp/internal/agent"
)

// maxLine bounds one line of a log, in bytes. A longer line is treated as damaged.
const maxLine = 64 << 20

// indexIfDue writes the index immediately if the user changed data that session lists show. If a
// turn has ended or much was written since the last index, it writes the index a little later, so
// that the end of a turn is not delayed.
func (s *Session) indexIfDue(records []agent.Record) {
	soon := s.size-s.index.size > indexEvery
	for i := range records {
		switch records[i].Type {
		case RecordTitle, RecordArchive, RecordBranch, RecordHeader, RecordConfig, RecordPaused:
			s.writeIndex()
			return
		case agent.RecordTurnEnd:
			soon = true
		}
	}
	if soon && !s.index.writing {
		s.index.writing = true
		go s.indexLater()
	}
}

// indexLater writes the current index in the background, unless the session is closed first.
func (s *Session) indexLater() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.index.writing = false
	if !s.closed {
		s.writeIndex()
	}
}

// writeIndex stores the list entry. Errors are ignored, because the index is only an optimization
// and a reader adds anything that the index lacks.
func (s *Session) writeIndex() {
	e := s.log.entry
	e.Bytes = s.size
	if s.lib.writeIndex(e) == nil {
		s.index.size = s.size
	}
}

// writeIndex overwrites the entry, preceded by a checksum. It does not replace the file by
// renaming, because that makes some file systems wait for the disk. A damaged index is rebuilt.
func (l *Library) writeIndex(e Entry) error {
	b, err := marshal(e)
	if err != nil {
		return err
	}
	b = bytes.TrimSpace(redacted(append(b, '\n'), l.opts.Redact))
	f, err := os.OpenFile(l.indexPath(e.ID), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	text := fmt.Appendf(nil, "%08x %s\n", crc32.ChecksumIEEE(b), b)
	if info, err := f.Stat(); err == nil && info.Size() > int64(len(text)) {
		text = append(text, bytes.Repeat([]byte{' '}, int(info.Size())-len(text))...)
	}
	_, err = f.WriteAt(text, 0)
	return errors.Join(err, f.Close())
}

// maxIndex limits the index of one session in bytes.
const maxIndex = 64 << 10

// readIndex returns the stored list entry if it is valid for a log of size bytes.
func (l *Library) readIndex(id string, size int64) (Entry, bool) {
	var e Entry
	b, err := os.ReadFile(l.indexPath(id))
	sum, text, ok := bytes.Cut(b, []byte(" "))
	text = bytes.TrimSpace(text)
	if err != nil || !ok || len(b) > maxIndex ||
		string(sum) != fmt.Sprintf("%08x", crc32.ChecksumIEEE(text)) {
		return Entry{}, false
	}
	if decode(text, &e) != nil || e.ID != id || e.Bytes <= 0 || e.Bytes > size {
		return Entry{}, false
	}
	return e, true
}

// entryFromDisk returns the list entry for a log of size bytes. It reads the index and applies the
// lines that were written after it. Without a valid index, it reads the log from the start.
func (l *Library) entryFromDisk(id string, size int64) (Entry, error) {
	e, ok := l.readIndex(id, size)
	if ok && e.Bytes == size {
		return e, nil
	}
	state := newLogState(id)
	if ok {
		state.entry = e
	}
	upTo := size
	if l.tooLarge(size) { // the session cannot be opened, so its first line is enough
		upTo = e.Bytes + maxIndex
	}
	read, err := l.scanLog(&state, e.Bytes, upTo)
	if err != nil {
		return Entry{}, err
	}
	state.entry.Bytes = read
	if upTo == size && size-e.Bytes > indexEvery {
		if err := l.writeIndex(state.entry); err != nil && !errors.Is(err, os.ErrPermission) {
			l.warn("writing the index of session "+id, err)
		}
	}
	return state.entry, nil
}

// tooLarge reports whether a log of size bytes is too long to be read.
func (l *Library) tooLarge(size int64) bool { return size > l.maxBytes()+maxLine }

// scanLog applies the log's lines between two offsets. It returns the offset after the last
// complete line.
func (l *Library) scanLog(state *logState, from, to int64) (int64, error) {
	f, err := os.Open(l.logPath(state.entry.ID))
	if err != nil {
		return 0, fmt.Errorf("reading session %s: %w", state.entry.ID, err)
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return 0, fmt.Errorf("reading session %s: %w", state.entry.ID, err)
	}
	r := bufio.NewReaderSize(io.LimitReader(f, to-from), 64<<10)
	for off := from; ; {
		line, n, err := readLine(r)
		if err != nil {
			return off, nil
		}
		var rec agent.Record
		if len(bytes.TrimSpace(line)) > 0 {
			if decode(line, &rec) == nil && rec.Type != "" {
				state.apply(&rec, off, n, l.title)
			} else {
				state.entry.Damaged++
			}
		}
		off += int64(n)
	}
}

// readLine returns the next complete line and its length n. A line that is longer than maxLine is
// returned incomplete.
func readLine(r *bufio.Reader) (line []byte, n int, err error) {
	for {
		part, err := r.ReadSlice('\n')
		n += len(part)
		if len(line)+len(part) <= maxLine {
			line = append(line, part...)
		}
		if err == nil {
			return line, n, nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return nil, n, err
		}
	}
}

// headerOf parses only the first line of a log.
func headerOf(line []byte) (Meta, bool) {
	var rec struct {
		Type agent.RecordType `json:"type"`
		Data json.RawMessage  `json:"data"`
	}
	var m Meta
	if decode(line, &rec) != nil || rec.Type != RecordHeader || decode(rec.Data, &m) != nil {
		return Meta{}, false
	}
	return m, true
}

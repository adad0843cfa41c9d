package tools

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/realpath"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// Limits for reading a large file.
const (
	streamBuffer = 256 << 10
	sniffBytes   = 8 << 10
	// streamCount limits how many bytes after the shown part are read to count lines.
	streamCount = 1 << 30
)

// readStream shows lines of a large file on disk in bounded memory.
func (e *sessionEnv) readStream(ctx context.Context, ref workspace.Ref, a readArgs,
	room int) (*tool.Result, error) {
	f, info, err := e.Workspace.OpenDisk(ref)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	hash := sha256.New()
	var r io.Reader = f
	editable := info.Size() <= workspace.MaxFileSize
	if editable {
		r = io.TeeReader(f, hash)
	}
	v, err := streamView(ctx, r, info.Size(), ref.Rel, a, room)
	if err != nil {
		return nil, err
	}
	res := text("%s", v.result(nil))
	res.Meta = tool.Meta{Kind: "file", Key: fmt.Sprintf("%s:%d-%d", ref.Key, v.first, v.last)}
	if editable {
		res.Meta.SHA256 = hex.EncodeToString(hash.Sum(nil))
		e.Workspace.StampRaw(e.ID, ref, res.Meta.SHA256)
		e.resetFailures(ref)
	}
	res.Locations = []tool.Location{{URI: ref.URI}}
	return res, nil
}

// spillPath returns the resolved path if path names a file with the complete text of a truncated
// output of this session, its sub-agents, or the sessions from which it was forked.
func (e *sessionEnv) spillPath(path string) (string, bool) {
	if e.SpillDir == "" || !filepath.IsAbs(path) {
		return "", false
	}
	dir, err := realpath.Eval(e.SpillDir)
	if err != nil {
		return "", false
	}
	real, err := realpath.Eval(path)
	if err != nil || real == dir || !below(dir, real) {
		return "", false
	}
	readable := []string{e.owner()}
	if e.Forked != nil {
		readable = append(readable, e.Forked()...)
	}
	for _, session := range readable {
		own := filepath.Join(dir, session)
		if filepath.IsLocal(session) && real != own && below(own, real) {
			return real, true
		}
	}
	return "", false
}

func (e *sessionEnv) readSpill(ctx context.Context, path string, a readArgs,
	room int) (*tool.Result, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the output: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil, fmt.Errorf("reading %s: it is not a file", path)
	}
	v, err := streamView(ctx, f, info.Size(), path, a, room)
	if err != nil {
		return nil, err
	}
	return text("%s", v.result(nil)), nil
}

func streamView(ctx context.Context, r io.Reader, size int64, name string, a readArgs,
	room int) (*view, error) {
	if a.Offset < 0 {
		return nil, fmt.Errorf("%s is too large (%s) to count from its end; send a line number from the beginning, or use bash with tail", name, plural(int(size), "byte"))
	}
	s := &stream{ctx: ctx, r: io.LimitReader(r, size), buf: make([]byte, 0, streamBuffer),
		v: newView(a, room), line: 1}
	if err := s.fill(); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if bytes.IndexByte(s.buf[:min(len(s.buf), sniffBytes)], 0) >= 0 {
		return nil, binaryError(name, int(size))
	}
	err := s.skip()
	if err == nil {
		err = s.show()
	}
	if err == nil {
		err = s.count()
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	return s.v, nil
}

// stream reads lines that end at LF through one buffer.
type stream struct {
	ctx  context.Context
	r    io.Reader
	buf  []byte // not consumed yet
	eof  bool
	v    *view
	line int  // number of the line that buf begins with, or continues
	open bool // the text read so far ends within a line
}

// fill replaces a buffer that has been read completely.
func (s *stream) fill() error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	n, err := io.ReadFull(s.r, s.buf[:cap(s.buf)])
	s.buf = s.buf[:n]
	if n > 0 {
		s.open = s.buf[n-1] != '\n'
	}
	switch err {
	case nil:
		return nil
	case io.EOF, io.ErrUnexpectedEOF:
		s.eof = true
		return nil
	}
	return err
}

// skip advances to the first requested line.
func (s *stream) skip() error {
	for {
		if n := bytes.Count(s.buf, []byte{'\n'}); s.line+n < s.v.want {
			s.line += n
			if s.eof {
				s.buf = nil
				return nil
			}
			if err := s.fill(); err != nil {
				return err
			}
			continue
		}
		for s.line < s.v.want {
			s.buf = s.buf[bytes.IndexByte(s.buf, '\n')+1:]
			s.line++
		}
		return nil
	}
}

// show adds lines to the view. It stores only the beginning of a long line.
func (s *stream) show() error {
	var part []byte
	for {
		i := bytes.IndexByte(s.buf, '\n')
		if i >= 0 {
			line := bytes.TrimSuffix(append(part, s.buf[:i]...), []byte{'\r'})
			if !s.v.add(s.line, bytes.ToValidUTF8(line, []byte("\ufffd"))) {
				return nil
			}
			s.buf, part = s.buf[i+1:], part[:0]
			s.line++
			continue
		}
		if room := 2*maxLine - len(part); room > 0 {
			part = append(part, s.buf[:min(room, len(s.buf))]...)
		}
		if s.buf = s.buf[:0]; s.eof {
			if len(part) > 0 {
				s.v.add(s.line, bytes.ToValidUTF8(part, []byte("\ufffd")))
			}
			return nil
		}
		s.buf = make([]byte, 0, streamBuffer)
		if err := s.fill(); err != nil {
			return err
		}
	}
}

// count counts the lines up to the end of the file, unless the end is more than streamCount bytes
// away.
func (s *stream) count() error {
	total := s.line - 1
	for read := 0; ; read += len(s.buf) {
		total += bytes.Count(s.buf, []byte{'\n'})
		if s.eof {
			break
		}
		if read > streamCount {
			s.v.total = -1
			return nil
		}
		if err := s.fill(); err != nil {
			return err
		}
	}
	if s.v.noEnd = s.open; s.open {
		total++
	}
	s.v.total = total
	return nil
}

// imageType returns the media type for an image's file extension, or "" for any other extension.
func imageType(ext string) string {
	switch strings.ToLower(ext) {
	case ".png":
		return "image/png"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".gif":
		return "image/gif"
	case ".webp":
		return "image/webp"
	}
	return ""
}

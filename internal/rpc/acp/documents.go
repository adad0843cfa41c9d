package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/coder/acp-go-sdk"
	"go.lsp.dev/jsonrpc2"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
	"github.com/agent-lsp/agent-lsp/internal/rpc/acp/content"
	"github.com/agent-lsp/agent-lsp/internal/rpc/textedit"
	"github.com/agent-lsp/agent-lsp/internal/rpc/wire"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/internal/workspace/files"
)

// fsTimeout is the time limit of fs/* requests, which clients answer without asking the user.
const fsTimeout = 5 * time.Second

// missingFor is the time to wait before asking the client again for a file that neither the disk
// nor the client has. While a file is being created, the workspace looks for it several times.
const missingFor = 2 * time.Second

// documents contains the files that the client reads and writes for agent-lsp. The ACP does not
// report changes, so a document is read again whenever the workspace uses its file.
type documents struct {
	c     *core
	turn  chan struct{}        // held while a document is read or changed
	open  map[string]*document // keyed by URI
	none  missing
	texts sync.Map // open texts, keyed by URI, for readers that must not wait for turn
}

type document struct {
	ref     workspace.Ref
	version int32
	text    string
}

// missing is the last file that was not found.
type missing struct {
	uri   string
	until time.Time
}

func newDocuments(c *core) *documents {
	return &documents{c: c, turn: make(chan struct{}, 1), open: map[string]*document{}}
}

// enter waits for access to the documents. The wait is bounded, because every request has a time
// limit.
func (d *documents) enter(ctx context.Context) bool {
	select {
	case d.turn <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (d *documents) leave() { <-d.turn }

// refresh updates the workspace's document from the client. The error reports that the client
// refused the file.
func (d *documents) refresh(ctx context.Context, uri string) error {
	if !d.c.a.client.Fs.ReadTextFile || !d.enter(ctx) {
		return nil
	}
	defer d.leave()
	_, err := d.sync(ctx, uri)
	return err
}

// sync reads a file through the client. It returns nil if the client does not have the file, or if
// the file on disk can be used instead. If the file is on disk, any client error except "not found"
// is a refusal, and sync returns an error.
func (d *documents) sync(ctx context.Context, uri string) (*document, error) {
	doc := d.open[uri]
	if content.PathOf(uri) == "" {
		return doc, nil
	}
	ref, disk, diskErr := d.disk(uri)
	gone := errors.Is(diskErr, fs.ErrNotExist)
	if diskErr != nil && !gone { // such as a pipe, which the client must not open either
		d.close(uri)
		return nil, nil
	}
	if gone && d.none.uri == uri && time.Now().Before(d.none.until) {
		return nil, nil
	}
	d.none = missing{}
	text, err := d.read(ctx, ref)
	if err != nil {
		if ctx.Err() != nil {
			return nil, nil
		}
		d.close(uri)
		if gone {
			d.none = missing{uri, time.Now().Add(missingFor)}
		}
		if gone || notFound(err) {
			return nil, nil
		}
		return nil, errors.New(refusal(err))
	}
	text, same := content.LikeDisk(text, disk, diskErr)
	if same && d.commandsRun() {
		d.close(uri)
		return nil, nil
	}
	if doc == nil {
		if same && (!d.c.a.client.Fs.WriteTextFile || !content.Plain(disk)) {
			return nil, nil
		}
		doc = &document{ref: ref, version: 1, text: text}
		d.open[uri] = doc
		// Open the document with the saved text and then change it. Otherwise, an unsaved buffer
		// would look like a file that another program has changed.
		if diskErr == nil && content.Plain(disk) {
			doc.text = string(disk)
		}
		d.texts.Store(uri, doc.text)
		language := strings.TrimPrefix(filepath.Ext(content.PathOf(uri)), ".")
		d.report(d.workspace().DidOpen(uri, language, doc.version, []byte(doc.text)))
	}
	if text != doc.text {
		d.change(uri, doc, text)
	}
	if same {
		d.report(d.workspace().DidSave(uri, nil))
	}
	return doc, nil
}

// notFound reports whether a client's error means that the client does not have the file. Some
// clients do not use an error code for this and report it only in the message. "Method not found"
// does not match.
func notFound(err error) bool {
	var e *jsonrpc2.Error
	if !errors.As(err, &e) || e.Code == codeMethodNotFound {
		return false
	}
	return e.Code == codeNotFound || saysNotFound().MatchString(e.Message) ||
		saysNotFound().Match(e.Data)
}

var saysNotFound = lazyregexp.New(`(?i)\b(?:ENOENT|no such file|` +
	`(?:file|path|resource|document) (?:was )?not found|does not exist)\b`)

// refusal returns a client's error message without the name of the request.
func refusal(err error) string {
	var e *jsonrpc2.Error
	if !errors.As(err, &e) {
		return err.Error()
	}
	var data struct{ Details string }
	if json.Unmarshal(e.Data, &data) == nil && data.Details != "" {
		// The official SDKs put an exception's message into data and "Internal error" into message.
		return data.Details
	}
	return e.Message
}

// disk finds a document's file again and reads it in the same way as the file tools.
func (d *documents) disk(uri string) (workspace.Ref, []byte, error) {
	ref, err := d.workspace().Resolve("", uri)
	if err != nil {
		return ref, nil, err
	}
	data, _, err := d.workspace().ReadDiskRaw(ref)
	return ref, data, err
}

// read reads a file through the client. The client follows links, so a command that replaces the
// file or one of its folders could make the client read any file. read therefore fails if the file
// is moved in the meantime.
func (d *documents) read(ctx context.Context, ref workspace.Ref) (text string, err error) {
	moved := files.Steady(ctx, ref, func() { text, err = d.readOnce(ctx, d.spelled(ref)) })
	return text, cmp.Or(moved, err)
}

func (d *documents) readOnce(ctx context.Context, path string) (string, error) {
	ctx, done := context.WithTimeout(ctx, fsTimeout)
	defer done()
	var res acp.ReadTextFileResponse
	err := d.c.a.call(ctx, acp.ClientMethodFsReadTextFile,
		acp.ReadTextFileRequest{SessionId: acp.SessionId(d.c.lastSession()), Path: path}, &res)
	return res.Content, err
}

// writes reports whether the client writes files for the agent. The client follows links, so it
// must not write while a command could replace a folder with a link. The agent then writes the file
// itself.
func (d *documents) writes() bool {
	return d.c.a.client.Fs.WriteTextFile && !d.commandsRun()
}

// commandsRun reports whether a command is running. No command runs while the core is being built.
func (d *documents) commandsRun() bool {
	built := d.c.api.Core()
	return built != nil && built.Workspace.RunsCommands()
}

// errRunning reports that the client must not write a file now.
var errRunning = errors.New("a command is running, so only saved files can be changed; " +
	"end the command, or save the file in the editor")

func (d *documents) write(ctx context.Context, ref workspace.Ref, text string) error {
	if !d.writes() {
		return errRunning
	}
	if _, err := files.TrailOf(ref); err != nil {
		return err
	}
	ctx, done := context.WithTimeout(ctx, fsTimeout)
	defer done()
	var res json.RawMessage
	return d.c.a.call(ctx, acp.ClientMethodFsWriteTextFile,
		acp.WriteTextFileRequest{SessionId: acp.SessionId(d.c.lastSession()), Path: d.spelled(ref),
			Content: text}, &res)
}

func (d *documents) spelled(ref workspace.Ref) string { return d.workspace().Spelled(ref) }

func (d *documents) workspace() *workspace.Workspace { return d.c.api.Core().Workspace }

// report logs that the workspace could not follow a document.
func (d *documents) report(err error) {
	if err != nil {
		d.c.a.log.Warn("a document could not be tracked", "error", err)
	}
}

func (d *documents) close(uri string) {
	if d.open[uri] != nil {
		delete(d.open, uri)
		d.texts.Delete(uri)
		d.report(d.workspace().DidClose(uri))
	}
}

func (d *documents) change(uri string, doc *document, text string) {
	doc.text = text
	d.texts.Store(uri, text)
	doc.version++
	whole := []workspace.ContentChange{{Text: []byte(text)}}
	d.report(d.workspace().DidChange(uri, doc.version, whole))
}

// applyEdit applies an edit with fs/write_text_file and then reports the client's actual text to
// the workspace. A client's reply may be wrong, so the workspace compares the texts.
func (d *documents) applyEdit(
	ctx context.Context,
	e workspace.WorkspaceEdit,
) (workspace.ApplyReply, error) {
	if !d.enter(ctx) {
		return workspace.ApplyReply{}, context.Cause(ctx)
	}
	defer d.leave()
	for _, op := range e.Files {
		if op.Op == workspace.Create && op.Text != "" {
			if reason := d.create(ctx, op.URI, op.Text); reason != "" {
				return workspace.ApplyReply{FailureReason: reason}, nil
			}
		}
	}
	for _, change := range e.Documents {
		if reason := d.applyTo(ctx, change); reason != "" {
			return workspace.ApplyReply{FailureReason: reason}, nil
		}
	}
	return workspace.ApplyReply{Applied: true}, nil
}

// applyTo edits one document. It returns the reason for a failure, or "".
func (d *documents) applyTo(ctx context.Context, change workspace.DocumentEdit) string {
	uri, version := change.URI, change.Version
	doc, err := d.sync(ctx, uri)
	if err != nil {
		return err.Error()
	}
	if doc == nil || version != nil && *version != doc.version {
		return textedit.Stale
	}
	if !d.c.a.client.Fs.WriteTextFile {
		return "the file has unsaved changes, and the editor does not let agent-lsp write it; save it"
	}
	text, err := textedit.Apply(doc.text, editsOf(change))
	if err != nil {
		return err.Error()
	}
	if err := d.write(ctx, doc.ref, text); err != nil {
		return "the editor did not write the file: " + refusal(err)
	}
	d.verify(ctx, uri, doc)
	return ""
}

// create makes the client write a new file. If the disk does not have the text afterwards, create
// reads it back from the client, which may keep the text in a buffer.
func (d *documents) create(ctx context.Context, uri, text string) string {
	ref, _, err := d.disk(uri)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = d.write(ctx, ref, text)
	}
	d.none = missing{}
	if err != nil {
		return "the editor did not write the file: " + refusal(err)
	}
	if _, disk, err := d.disk(uri); err == nil && string(disk) == text {
		return ""
	}
	if _, err := d.sync(ctx, uri); err != nil {
		return err.Error()
	}
	return ""
}

// verify reads back the client's text and compares it with the disk.
func (d *documents) verify(ctx context.Context, uri string, doc *document) {
	_, disk, diskErr := d.disk(uri)
	text, err := d.read(ctx, doc.ref)
	if err != nil {
		text = string(disk)
	}
	text, saved := content.LikeDisk(text, disk, diskErr)
	d.change(uri, doc, text)
	if saved {
		d.report(d.workspace().DidSave(uri, nil))
	} else {
		d.c.a.log.Warn("the client reported a write, but the file is not on the disk", "path",
			doc.ref.Path)
	}
}

// editsOf converts the edits of a document to those of package textedit.
func editsOf(change workspace.DocumentEdit) []textedit.Edit {
	out := make([]textedit.Edit, len(change.Edits))
	for i, e := range change.Edits {
		out[i].NewText = e.NewText
		from, to := e.Range.Start, e.Range.End
		out[i].Range.Start.Line, out[i].Range.Start.Character = int(from.Line), int(from.Character)
		out[i].Range.End.Line, out[i].Range.End.Character = int(to.Line), int(to.Character)
	}
	return out
}

// save makes the client write the documents that are not on disk yet. It returns the documents that
// it could not save.
func (d *documents) save(ctx context.Context, uris []string) (failed []string) {
	for _, uri := range uris {
		if !d.saveOne(ctx, uri) {
			failed = append(failed, uri)
		}
	}
	return failed
}

func (d *documents) saveOne(ctx context.Context, uri string) bool {
	if !d.enter(ctx) {
		return false
	}
	defer d.leave()
	doc, err := d.sync(ctx, uri)
	if err != nil || doc == nil {
		return false
	}
	if _, disk, err := d.disk(uri); err == nil && string(disk) == doc.text {
		return true
	}
	if d.write(ctx, doc.ref, doc.text) != nil {
		return false
	}
	_, disk, err := d.disk(uri)
	if _, same := content.LikeDisk(doc.text, disk, err); !same {
		return false
	}
	d.report(d.workspace().DidSave(uri, nil))
	return true
}

// known returns a file's text if the client has the file, or the empty text of a new file. It does
// not block.
func (d *documents) known(f *wire.ProposalFile) (string, bool) {
	if text, ok := d.texts.Load(f.URI); ok {
		return text.(string), true
	}
	return "", f.Op == "create"
}

// looked is like known but also reads the file from disk.
func (d *documents) looked(f *wire.ProposalFile) (string, bool) {
	if text, ok := d.known(f); ok {
		return text, true
	}
	info, err := os.Stat(content.PathOf(f.URI))
	if err != nil {
		return "", false
	}
	if !info.Mode().IsRegular() || info.Size() > content.MaxWhole {
		return "", false
	}
	data, err := os.ReadFile(content.PathOf(f.URI))
	return string(data), err == nil && content.Plain(data)
}

package workspace

import (
	"context"
	"sync"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/keylock"
	"github.com/agent-lsp/agent-lsp/internal/workspace/checkpoint"
	"github.com/agent-lsp/agent-lsp/internal/workspace/files"
	"github.com/agent-lsp/agent-lsp/internal/workspace/path"
	"github.com/agent-lsp/agent-lsp/internal/workspace/readset"
)

// Limits and times. docs/reference/protocol/proposals.md (6.3) contains some of the times.
const (
	// verifyWait is how long the workspace waits for a client's didChange after the client's reply.
	verifyWait = time.Second
	// idleVerifyWait is the wait for a client that sends didChange only when it is idle.
	idleVerifyWait = 8 * time.Second
	// replyWait limits the wait for a client that does not answer.
	replyWait = 10 * time.Second
	// abortWait limits the wait for an applyEdit in flight when its turn is aborted.
	abortWait = time.Second
	// maxClosed is how many closed proposals of a session can still be read.
	maxClosed = 50
)

// Client is the editor. A call may hang forever, so ctx bounds it.
type Client interface {
	// ApplyEdit asks the editor to change its buffers. The reply is a claim and must be verified.
	ApplyEdit(ctx context.Context, label string, e WorkspaceEdit) (ApplyReply, error)
	// Features describes what the editor supports. It never blocks.
	Features() ClientFeatures
}

// ClientFeatures contains the client's capabilities in workspace.workspaceEdit.
type ClientFeatures struct {
	DocumentChanges   bool
	Create            bool
	Rename            bool
	Delete            bool
	ChangeAnnotations bool
	// FirstVersionOnly marks clients that are known to check the version of only the first document
	// in a request (Neovim). They get one request per document.
	FirstVersionOnly bool
	// IdleChanges marks clients that are known to send didChange only when their user's command is
	// over and they are idle (eglot). The workspace waits longer for their didChange.
	IdleChanges bool
	// WritesNew is set for a client that creates new files itself. This is the ACP front end, whose
	// editor may delay the write.
	WritesNew bool
}

// ApplyReply is the answer to workspace/applyEdit.
type ApplyReply struct {
	Applied       bool
	FailureReason string
}

// Options configures a Workspace. With the zero value, there is no editor and nothing is stored on
// disk.
type Options struct {
	Client     Client
	StateDir   string // folder for checkpoints and pending proposals; "" keeps them in memory
	WorkingDir string // used if no workspace folder is open
	Home       string // the home folder, which is a root only if the user allows it

	// OnProposal gets every event of a proposal, in order. It must not block and must not
	// call Propose, Decide or Restore.
	OnProposal func(ProposalEvent)
	// OnNotice shows a message to the user. level is "info", "warning" or "error". OnNotice never
	// blocks.
	OnNotice func(level, text string)
	// Format, if set, formats a new text before it is proposed. If Format returns an error, the
	// text is not changed.
	Format func(ctx context.Context, path string, text []byte) ([]byte, error)
	// Look, if set, runs before a file is read, so that an editor that does not report changes can
	// update its document. It may wait for the editor and respects ctx. An error means that the
	// editor refuses the file, which is then not read.
	Look func(ctx context.Context, uri string) error
	// Before, if set, runs before files change. It must be fast. The state that it records is
	// passed to Check.
	Before func(ctx context.Context, paths []string) (seen any)
	// AskReload, if set, asks the user about a document with unsaved changes whose file another
	// program changed. It runs in its own goroutine and ends with ctx.
	AskReload func(ctx context.Context, name string) ReloadAnswer
	// OnDisk, if set, is called with files that something other than an edit changed. It must not
	// block.
	OnDisk func(paths []string)
	// Check, if set, runs after a session's edit changed files. Its text is added to the model's
	// result.
	Check func(ctx context.Context, session string, paths []string, seen any) (string, error)
	// Now is the clock. nil means time.Now.
	Now func() time.Time
}

// Workspace contains the documents, roots, proposals and checkpoints that the editor connections of
// a host share. All methods are safe for concurrent use. Their callers must not hold a lock.
//
//house:large reading, proposing, deciding and undoing are one contract that callers share
type Workspace struct {
	opt    Options
	locks  keylock.Locks
	events eventQueue
	roots  *path.Roots
	reads  *readset.Set
	// docEvents signals that documents were opened or closed, watched files changed, or
	// confirmations ended.
	docEvents broadcast

	ctx    context.Context // ends with Close; parent of every context that outlives a call
	cancel context.CancelFunc
	wg     sync.WaitGroup
	spawns sync.Mutex // no goroutine is started once Close waits

	mu        sync.Mutex
	encoding  Encoding
	docs      map[string]*document // by lexical key
	touches   uint64
	tracked   map[string][]*change // documents with hunks that follow typing, by canonical key
	proposals proposalTable
	commands  map[*Command]bool
	renames   []*rename // renames that the pending hunks have not followed yet
	// While the editor asks the user to confirm changes to a file on disk, confirming maps the
	// file's key to the proposals that the editor shows. Other proposals may not change the file,
	// because the positions in the preview refer to the text from when the preview opened.
	confirming map[string][]*proposal

	checkpoints *checkpoint.Log // has its own lock
}

// New returns a Workspace. The caller must close it.
func New(opt Options) *Workspace {
	if opt.Client == nil {
		opt.Client = noClient{}
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &Workspace{
		opt: opt, ctx: ctx, cancel: cancel,
		roots: path.NewRoots(opt.WorkingDir, opt.Home), reads: readset.New(),
		docs: map[string]*document{}, tracked: map[string][]*change{},
		proposals: proposalTable{
			byID: map[string]*proposal{},
		}, confirming: map[string][]*proposal{},
		commands: map[*Command]bool{},
	}
	w.checkpoints = checkpoint.NewLog(checkpoint.Options{
		StateDir: opt.StateDir, Blobs: files.NewBlobs(opt.StateDir), Now: opt.Now,
		Go: w.spawn, Report: w.reportState,
	})
	return w
}

// Close ends everything that is in progress, waits for it and keeps pending proposals for the next
// start.
func (w *Workspace) Close() {
	w.spawns.Lock()
	w.cancel()
	w.spawns.Unlock()
	w.wg.Wait()
	w.flush()
}

// spawn runs f in a goroutine that Close waits for. It returns false if Close has already begun.
func (w *Workspace) spawn(f func()) bool {
	w.spawns.Lock()
	defer w.spawns.Unlock()
	if w.ctx.Err() != nil {
		return false
	}
	w.wg.Go(f)
	return true
}

func (w *Workspace) onDisk(paths []string) {
	if w.opt.OnDisk != nil && len(paths) > 0 {
		w.opt.OnDisk(paths)
	}
}

func (w *Workspace) notice(level, text string) {
	if w.opt.OnNotice != nil {
		w.opt.OnNotice(level, text)
	}
}

// noClient is the editor of a headless run. It has no documents.
type noClient struct{}

func (noClient) ApplyEdit(context.Context, string, WorkspaceEdit) (ApplyReply, error) {
	return ApplyReply{FailureReason: "no editor is connected"}, nil
}

func (noClient) Features() ClientFeatures { return ClientFeatures{} }

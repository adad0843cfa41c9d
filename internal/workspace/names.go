package workspace

import (
	"github.com/agent-lsp/agent-lsp/internal/workspace/checkpoint"
	"github.com/agent-lsp/agent-lsp/internal/workspace/files"
	"github.com/agent-lsp/agent-lsp/internal/workspace/path"
	"github.com/agent-lsp/agent-lsp/internal/workspace/readset"
	"github.com/agent-lsp/agent-lsp/internal/workspace/text"
)

// The methods of Workspace use the types below. Defining them here saves callers a second import.
type (
	// Ref names a file or document.
	Ref = path.Ref
	// UnreadError means that a session would change a file that it has not read.
	UnreadError = readset.UnreadError
	// ChangedError means that a file differs from the text from which an edit was computed.
	ChangedError = readset.ChangedError
	// Stat counts the files and lines of a change.
	Stat = checkpoint.Stat
	// Checkpoint describes one checkpoint.
	Checkpoint = checkpoint.Checkpoint
	// Retention specifies how long checkpoints are kept.
	Retention = checkpoint.Retention
	// Encoding is the unit in which a position counts characters.
	Encoding = text.Encoding
	// Position is an LSP position.
	Position = text.Position
	// Range is an LSP range.
	Range = text.Range

	splice = text.Splice
)

// The encodings that can be negotiated.
const (
	UTF16 = text.UTF16
	UTF8  = text.UTF8
)

// MaxFileSize is files.MaxFileSize, in bytes.
const MaxFileSize = files.MaxFileSize

// ErrTooLarge means that a file is too large to be read completely. OpenDisk streams it.
var ErrTooLarge = files.ErrTooLarge

// ErrUnknownCheckpoint means that the checkpoint never existed or no longer exists.
var ErrUnknownCheckpoint = checkpoint.ErrUnknown

// HashOf is files.Hash, which agent/* messages contain as sha256.
func HashOf(data []byte) string { return files.Hash(data) }

// PathOfURI is path.FromURI, for callers that use nothing else from that package.
func PathOfURI(uri string) (string, error) { return path.FromURI(uri) }

// URIOfPath is path.ToURI, for callers that use nothing else from that package.
func URIOfPath(name string) string { return path.ToURI(name) }

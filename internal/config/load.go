package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/adrg/xdg"
)

const (
	// WorkspaceName is the name of the workspace's settings file, which is in the root.
	WorkspaceName = ".agent-lsp.json"
	// maxFile is the maximum size of a settings file in bytes.
	maxFile = 1 << 20
)

// Sources names the sources of the lower layers. The zero value has only the built-in layer.
type Sources struct {
	UserFile string     // "" means no file
	Root     string     // workspace root; "" means no workspace file
	Environ  []string   // in the format of os.Environ
	Trust    *TrustFile // the user's decisions about roots; nil if there is none

	files *fileDigests
}

// DefaultUserFile returns the path of the user's file: $AGENT_LSP_CONFIG, or agent-lsp/config.json
// in the user's configuration folder.
func DefaultUserFile() string {
	if path := os.Getenv("AGENT_LSP_CONFIG"); path != "" {
		return path
	}
	return filepath.Join(xdg.ConfigHome, "agent-lsp", "config.json")
}

// Load reads the layers that exist before a client sends anything. It never fails. A file that
// cannot be read becomes a notice.
func Load(src Sources) *Set {
	layers := []layer{{kind: Builtin, tree: builtin(), all: true}}
	if src.UserFile != "" {
		layers = append(layers, fileLayer(UserFile, src.UserFile))
	}
	if src.Root != "" {
		layers = append(layers, fileLayer(WorkspaceFile, filepath.Join(src.Root, WorkspaceName)))
	}
	layers = append(layers, envLayer(src.Environ))
	trust := verdict{root: src.Root, files: src.files}
	if src.Trust != nil && src.Root != "" {
		trust.answer = src.Trust.Answer(src.Root)
	}
	if trust.files == nil {
		trust.files = newFileDigests()
	}
	return build(layers, trust)
}

func fileLayer(kind Kind, path string) layer {
	l := layer{kind: kind, source: path, all: kind == UserFile}
	text, err := readBounded(path)
	if errors.Is(err, fs.ErrNotExist) {
		return l
	}
	if err == nil {
		l.tree, err = parse(text)
	}
	if err != nil {
		l.broken = []Notice{{Layer: l.name(), Text: "cannot be read and is ignored: " +
			place(text, err), Invalid: true}}
	}
	delete(l.tree, "$schema")
	return l
}

func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("reading %s: not a regular file", path)
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("reading %s: it has %d bytes, but the limit is %d", path,
			info.Size(), maxFile)
	}
	return os.ReadFile(path)
}

// place adds the line number to an error of the JSON decoder.
func place(text []byte, err error) string {
	off, ok := syntaxOffset(err)
	if !ok || off > int64(len(text)) {
		return err.Error()
	}
	// The last byte that was read is the invalid one.
	return fmt.Sprintf("line %d: %v", 1+strings.Count(string(text[:max(off-1, 0)]), "\n"), err)
}

package tools

import (
	"errors"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// named is a path from a call's arguments and the file that it names. It is resolved once, when the
// call is prepared, so that the tool reads or changes the same file that the user was asked about.
type named struct {
	path string // the path as the model wrote it
	ref  workspace.Ref
	err  error // why the path cannot be used
}

// paths are the named files of one call.
type paths []named

// resolve finds the files that a call names.
func (e *sessionEnv) resolve(call *tool.Call, names ...string) paths {
	out := make(paths, len(names))
	for i, name := range names {
		ref, err := e.Workspace.Resolve(call.Cwd, name)
		out[i] = named{path: name, ref: ref, err: err}
	}
	return out
}

var errNoPath = errors.New("no path is given; send the path of the file to change")

// of returns the file that the call names with the given path. An empty path is an error.
func (ps paths) of(name string) named {
	for _, p := range ps {
		if p.path == name {
			return p
		}
	}
	return named{path: name, err: errNoPath}
}

// keys returns the canonical names of the files, never nil.
func (ps paths) keys() []string {
	keys := []string{}
	for _, p := range ps {
		if p.err == nil {
			keys = append(keys, p.ref.Key)
		}
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}

// locations returns the positions for clients that follow the agent. line counts from 1, and 0
// means unknown.
func (ps paths) locations(line int) (locs []tool.Location) {
	for _, p := range ps {
		if p.err != nil {
			continue
		}
		loc := tool.Location{URI: p.ref.URI}
		if line > 0 {
			at := message.Position{Line: uint32(line - 1)}
			loc.Range = &message.Range{Start: at, End: at}
		}
		locs = append(locs, loc)
	}
	return locs
}

// subject returns the subject of a permission to read or change the files.
func (ps paths) subject(kind tool.SubjectKind, verb string) *tool.Subject {
	s := &tool.Subject{Kind: kind}
	var names []string
	for _, p := range ps {
		names = append(names, p.path)
		if p.err == nil && p.ref.Path != "" { // also an open document outside the folders
			s.Paths = append(s.Paths, p.ref.Path)
		} else {
			s.Paths = append(s.Paths, p.path)
		}
	}
	s.Title = verb + " " + strings.Join(names, ", ") // in full, because the user decides
	return s
}

package policy

import "slices"

// OwnFiles are agent-lsp's own files. They decide what the agent may do, so the agent may not
// change them unasked, even if they are in the workspace. The paths are absolute.
type OwnFiles struct {
	Data     []string // folders with sessions, grants, answers about trust and stored keys
	Settings []string // files and folders of the user's own settings
}

// has reports whether a path, or the file to which it leads, belongs to the files.
func (o OwnFiles) has(path string) bool {
	real := resolved(path)
	return slices.ContainsFunc(slices.Concat(o.Data, o.Settings), func(own string) bool {
		return isBelow(path, own) || isBelow(real, resolved(own))
	})
}

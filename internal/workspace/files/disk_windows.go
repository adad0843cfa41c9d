package files

import (
	"io/fs"
	"os"
	"path/filepath"
)

const nonblock = 0

// copyMeta does nothing, because a new file inherits its folder's access list.
func copyMeta(*os.File, fs.FileInfo) error { return nil }

// link gives a file a second name. Windows has no call for names in open folders.
func link(from, to *folder) error { return os.Link(from.full(), to.full()) }

// rename gives a file another name.
func rename(from, to *folder) error { return os.Rename(from.full(), to.full()) }

func (in *folder) full() string { return filepath.Join(in.root.Name(), in.name) }

// syncDir does nothing, because Windows has no such call.
func syncDir(*os.Root, string) {}

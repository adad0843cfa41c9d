//go:build amd64 || arm64

package launcher

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// layers mounts a private writable layer over each package cache. On a kernel or file system
// without overlays, the caches stay read-only.
func (v *view) layers() error {
	if err := memory(layerBase, "mode=755"); err != nil {
		return err
	}
	inMemory, dir := filepath.Join(layerBase, "memory"), ""
	if v.layer >= 0 {
		dir = filepath.Join(layerBase, "layers")
		if err := (tree{path: dir, fd: v.layer, dir: true}).place(); err != nil {
			return err
		}
	}
	for _, cache := range v.spec.Caches {
		switch fi, err := os.Stat(cache); {
		case err != nil || !fi.IsDir() || !v.has(cache):
		case dir != "" && layer(filepath.Join(dir, layerName(cache)), cache) == nil:
		default: // inside a container, the folder with the layers is often in an overlay itself
			_ = layer(filepath.Join(inMemory, layerName(cache)), cache)
		}
	}
	return nil
}

func layer(dir, cache string) error {
	upper, work := filepath.Join(dir, "upper"), filepath.Join(dir, "work")
	for _, d := range []string{upper, work} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return fmt.Errorf("creating the private layer of %s: %w", cache, err)
		}
	}
	options := fmt.Sprintf(
		"lowerdir=%s,upperdir=%s,workdir=%s,userxattr",
		escaped(cache),
		escaped(upper),
		escaped(work),
	)
	if err := unix.Mount(
		"overlay",
		cache,
		"overlay",
		unix.MS_NOSUID|unix.MS_NODEV,
		options,
	); err != nil {
		return fmt.Errorf("mounting a private layer over %s: %w", cache, err)
	}
	return nil
}

// layerName returns a file name for a path. Different paths have different names.
func layerName(path string) string {
	return strings.NewReplacer("%", "%25", "/", "%2f").Replace(strings.TrimPrefix(path, "/"))
}

// escaped returns a path with the escapes that the overlay's options need.
func escaped(path string) string {
	return strings.NewReplacer(`\`, `\\`, ":", `\:`, ",", `\,`).Replace(path)
}

// tree is a mount that is mounted at its path again after the folders above it were hidden.
type tree struct {
	path string
	fd   int
	dir  bool
}

const attrs = unix.MOUNT_ATTR_NOSUID

// openTree clones the mount at a path, including the mounts below it.
func openTree(path string, attr uint64) (int, error) {
	return cloneTree(unix.AT_FDCWD, path, path, attr)
}

// openInRoot is like openTree for a path that a command may be able to change. The path must not
// lead through a link, which a command could have created after the path was resolved.
func openInRoot(path string, attr uint64) (int, error) {
	at, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return -1, fmt.Errorf("opening %s for the sandbox: %w", path, err)
	}
	defer unix.Close(at)
	return cloneTree(at, "", path, attr)
}

func cloneTree(at int, name, path string, attr uint64) (int, error) {
	fd, err := unix.OpenTree(
		at,
		name,
		unix.AT_EMPTY_PATH|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE,
	)
	if err != nil {
		return -1, fmt.Errorf("opening %s for the sandbox: %w", path, err)
	}
	if err := setAttr(fd, "", attr); err != nil {
		return -1, fmt.Errorf("restricting %s: %w", path, err)
	}
	return fd, nil
}

func setAttr(fd int, path string, attr uint64) error {
	return unix.MountSetattr(
		fd,
		path,
		unix.AT_EMPTY_PATH|unix.AT_RECURSIVE,
		&unix.MountAttr{Attr_set: attr},
	)
}

// place mounts a tree at its path. If an empty folder hides the path, place creates it.
func (t tree) place() error {
	if _, err := os.Lstat(t.path); err != nil {
		if err := t.makePlace(); err != nil {
			return fmt.Errorf("creating the mount point %s: %w", t.path, err)
		}
	}
	if err := unix.MoveMount(
		t.fd,
		"",
		unix.AT_FDCWD,
		t.path,
		unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_SYMLINKS,
	); err != nil {
		return fmt.Errorf("placing %s: %w", t.path, err)
	}
	return unix.Close(t.fd)
}

func (t tree) makePlace() error {
	if t.dir {
		return os.MkdirAll(t.path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(t.path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(t.path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}

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

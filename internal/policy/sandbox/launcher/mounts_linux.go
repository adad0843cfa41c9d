//go:build amd64 || arm64

package launcher

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"golang.org/x/sys/unix"
)

// root is a workspace folder that the broker may change.
type root struct {
	path    string   // path from the command's perspective
	fd      int      // the folder's writable mount, which is not attached to a path
	guarded []string // more protected paths, see guards
}

// enter replaces this process's view of the file system and enables loopback. It returns the roots
// that the broker may change. It does not depend on the contents or names of files, so the view
// stays valid while the opened files stay at their paths (see state) and the mounts do not change.
func (v *view) enter() ([]root, error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("separating the mounts: %w", err)
	}
	roots, err := v.take()
	if err != nil {
		return nil, err
	}
	steps := []func() error{
		v.replaceRoot,
		v.devices,
		v.scratch,
		v.putBack,
		v.hideInRoots,
		v.layers,
		coverProc,
		LoopbackUp,
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return roots, nil
}

// finish performs the steps that depend on which files exist when the command starts, and enters
// the command's folder.
func (v *view) finish(dir string) error {
	if err := v.maskSecrets(); err != nil {
		return err
	}
	if err := terminals(); err != nil {
		return err
	}
	if err := os.Chdir(dir); err != nil {
		return fmt.Errorf("entering the command's folder: %w", err)
	}
	return nil
}

// view is a file system under construction.
type view struct {
	spec   *Spec
	taken  []tree
	nodes  []tree // devices
	tmpFD  int    // -1: /tmp is in memory
	layer  int    // -1: the layers are in memory
	homeFD int    // -1: the home is in memory
	state  state
	guards *guards // nil if the command may not write
}

// keptInRun are folders of /run that contain programs, not sockets.
var keptInRun = []string{"/run/current-system", "/run/wrappers", "/run/opengl-driver"}

// take opens everything that must stay visible although its path is about to be hidden.
func (v *view) take() ([]root, error) {
	var roots []root
	for _, r := range v.spec.Roots {
		if v.spec.Write {
			fd, err := openInRoot(r, attrs|unix.MOUNT_ATTR_NODEV)
			if err != nil {
				return nil, err
			}
			if err := v.saw(r, fd); err != nil {
				return nil, err
			}
			roots = append(roots, root{path: r, fd: fd})
		}
	}
	for _, path := range slices.Concat(hidden(), v.spec.Hidden, []string{v.spec.Home}) {
		v.state.Seen = append(v.state.Seen, identify(path))
	}
	for _, path := range v.visible() {
		fi, err := os.Stat(path)
		if errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrPermission) {
			v.state.Seen = append(v.state.Seen, file{Path: path})
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("examining %s: %w", path, err)
		}
		open := openTree
		if slices.ContainsFunc(v.spec.Roots, func(r string) bool { return Below(path, r) }) {
			open = openInRoot
		}
		fd, err := open(path, attrs|unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NODEV)
		if err != nil {
			return nil, err
		}
		if err := v.saw(path, fd); err != nil {
			return nil, err
		}
		v.taken = append(v.taken, tree{path, fd, fi.IsDir()})
	}
	var err error
	v.tmpFD = -1
	if v.spec.Tmp != "" {
		if v.tmpFD, err = openTree(v.spec.Tmp, attrs|unix.MOUNT_ATTR_NODEV); err != nil {
			return nil, err
		}
		if err := v.saw(v.spec.Tmp, v.tmpFD); err != nil {
			return nil, err
		}
	}
	return roots, v.takeLayer()
}

// saw records the file that was opened at a path.
func (v *view) saw(path string, fd int) error {
	f, err := identifyFD(path, fd)
	v.state.Seen = append(v.state.Seen, f)
	return err
}

// has reports whether the host has a cache. The private home may have a folder of the same name.
func (v *view) has(cache string) bool {
	return slices.ContainsFunc(v.taken, func(t tree) bool { return t.path == cache })
}

// takeLayer opens the folder of the layers and the private home in it. The kernel forbids two
// overlays with the same layer, so a command that runs at the same time gets layers in memory.
func (v *view) takeLayer() error {
	v.layer, v.homeFD = -1, -1
	if v.spec.Layer == "" {
		return nil
	}
	lock, err := unix.Open(v.spec.Layer, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("opening the sandbox's layers: %w", err)
	}
	if err := v.saw(v.spec.Layer, lock); err != nil {
		return err
	}
	if unix.Flock(lock, unix.LOCK_EX|unix.LOCK_NB) != nil { // held until this process ends
		v.state.Busy = v.spec.Layer
		return unix.Close(lock)
	}
	home := filepath.Join(v.spec.Layer, "home")
	if err := os.MkdirAll(home, 0o700); err != nil {
		return fmt.Errorf("creating the private home: %w", err)
	}
	if v.homeFD, err = openTree(home, attrs|unix.MOUNT_ATTR_NODEV); err != nil {
		return err
	}
	v.layer, err = openTree(v.spec.Layer, attrs|unix.MOUNT_ATTR_NODEV)
	return err
}

// visible lists the mounts to restore, parents before children, so that no mount hides another.
func (v *view) visible() []string {
	var out []string
	for _, list := range [][]string{keptInRun, v.spec.Readable, v.spec.Caches, v.spec.Roots} {
		out = append(out, list...)
	}
	sort.Strings(out)
	return slices.Compact(out)
}

// replaceRoot makes a read-only copy of the complete mount tree the root. It first mounts the copy
// over /tmp, because this folder always exists. No other process is in the mount namespace.
func (v *view) replaceRoot() error {
	fd, err := openTree("/", attrs|unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NODEV)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.MoveMount(
		fd,
		"",
		unix.AT_FDCWD,
		"/tmp",
		unix.MOVE_MOUNT_F_EMPTY_PATH,
	); err != nil {
		return fmt.Errorf("placing the read-only view: %w", err)
	}
	if err := unix.Mount(
		"proc",
		"/tmp/proc",
		"proc",
		unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC,
		"",
	); err != nil {
		return fmt.Errorf("mounting /proc: %w", err)
	}
	v.devNodes()
	if err := os.Chdir("/tmp"); err != nil {
		return err
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("entering the read-only view: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("leaving the old view: %w", err)
	}
	return os.Chdir("/")
}

// nodes are the devices that commands can use. They store nothing.
var nodes = []string{
	"/dev/null",
	"/dev/zero",
	"/dev/full",
	"/dev/random",
	"/dev/urandom",
	"/dev/tty",
}

func (v *view) devNodes() {
	// A device on a read-only mount can still be written to, but keeps its mode and times.
	for _, n := range nodes {
		if fd, err := openTree(n, attrs|unix.MOUNT_ATTR_NOEXEC|unix.MOUNT_ATTR_RDONLY); err == nil {
			v.nodes = append(v.nodes, tree{path: n, fd: fd})
		}
	}
}

// memory mounts an empty folder in memory.
func memory(path, options string) error {
	err := unix.Mount("tmpfs", path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, options)
	if err != nil {
		return fmt.Errorf("mounting an empty %s: %w", path, err)
	}
	return nil
}

// devices creates /dev with the harmless device nodes, private terminals and private shared memory.
func (v *view) devices() error {
	if err := memory("/dev", "mode=755"); err != nil {
		return err
	}
	for _, d := range []string{"/dev/pts", "/dev/shm"} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return err
		}
	}
	for _, t := range v.nodes {
		if err := t.place(); err != nil {
			return err
		}
	}
	for to, from := range map[string]string{"ptmx": "pts/ptmx", "fd": "/proc/self/fd",
		"stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2"} {
		if err := os.Symlink(from, "/dev/"+to); err != nil {
			return err
		}
	}
	if err := unix.MountSetattr(
		unix.AT_FDCWD,
		"/dev",
		0,
		&unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY},
	); err != nil {
		return fmt.Errorf("making /dev read-only: %w", err)
	}
	return nil
}

// scratch hides the folders that contain sockets, temporary files and users' files.
func (v *view) scratch() error {
	for _, dir := range slices.Concat(hidden(), []string{"/dev/shm"}, v.spec.Hidden) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		if err := hide(dir); err != nil {
			return err
		}
	}
	if v.tmpFD < 0 {
		if err := hide("/tmp"); err != nil {
			return err
		}
	} else if err := (tree{path: "/tmp", fd: v.tmpFD}).place(); err != nil {
		return err
	}
	return v.home()
}

// hidden returns the folders that are replaced by empty ones.
func hidden() []string { return []string{"/run", "/home", "/root"} }

// home mounts the private home. If the user's environment names the home by a link, home also
// creates the link.
func (v *view) home() error {
	home := v.spec.Home
	if home == "" || home == "/" {
		return nil
	}
	if err := os.MkdirAll(home, 0o755); err != nil && !errors.Is(err, unix.EROFS) {
		return fmt.Errorf("creating an empty home folder: %w", err)
	}
	if v.homeFD >= 0 {
		if err := (tree{path: home, fd: v.homeFD}).place(); err != nil {
			return err
		}
	} else if home != "/root" { // /root is already hidden
		if err := hide(home); err != nil {
			return err
		}
	}
	name := v.spec.HomeName
	if _, err := os.Lstat(name); name == "" || err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil && !errors.Is(err, unix.EROFS) {
		return fmt.Errorf("creating the link to the home folder: %w", err)
	}
	if err := os.Symlink(home, name); err != nil && !errors.Is(err, unix.EROFS) {
		return fmt.Errorf("creating the link to the home folder: %w", err)
	}
	return nil
}

// hide mounts an empty folder over one that exists.
func hide(dir string) error {
	fi, err := os.Lstat(dir)
	if err != nil || !fi.IsDir() {
		return nil
	}
	mode := "mode=755"
	if fi.Mode()&os.ModeSticky != 0 {
		mode = "mode=1777"
	}
	return memory(dir, mode)
}

// putBack mounts the workspace and the readable paths again.
func (v *view) putBack() error {
	for _, t := range v.taken {
		if err := t.place(); err != nil {
			return err
		}
	}
	return nil
}

// hideInRoots hides the folders in the roots, which putBack has made visible again.
func (v *view) hideInRoots() error {
	for _, dir := range v.spec.Hidden {
		if !slices.ContainsFunc(v.spec.Roots, func(r string) bool {
			return dir != r && Below(dir, r)
		}) {
			continue
		}
		if err := hide(dir); err != nil {
			return err
		}
	}
	return nil
}

// layerBase is the folder in which the private layers and the mask of secret files are created.
// /dev/pts is mounted over it afterwards.
const layerBase = "/dev/pts"

// terminals makes /dev/pts private, which also hides the folder of the layers.
func terminals() error {
	if err := unix.Mount(
		"devpts",
		"/dev/pts",
		"devpts",
		unix.MS_NOSUID|unix.MS_NOEXEC,
		"newinstance,ptmxmode=0666,mode=620",
	); err != nil {
		return fmt.Errorf("mounting /dev/pts: %w", err)
	}
	return nil
}

// procWritable are parts of /proc that root's user ID can write to without a capability.
var procWritable = []string{
	"acpi",
	"asound",
	"bus",
	"driver",
	"dynamic_debug",
	"fs",
	"irq",
	"latency_stats",
	"mtrr",
	"scsi",
	"sys",
	"sysrq-trigger",
	"timer_stats",
}

// coverProc makes the parts in procWritable read-only.
func coverProc() error {
	for _, name := range procWritable {
		path := "/proc/" + name
		fd, err := openTree(path, attrs|unix.MOUNT_ATTR_RDONLY)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := (tree{path: path, fd: fd}).place(); err != nil {
			return err
		}
	}
	return nil
}

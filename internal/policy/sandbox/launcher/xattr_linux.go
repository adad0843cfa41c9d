//go:build amd64 || arm64

package launcher

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// attribute resolves a call for an extended attribute. It returns the pinned file and the
// attribute's name.
func (c *call) attribute(follow bool) (path, name string, err error) {
	p, err := c.changeableTarget(at, c.args[0], follow)
	if err != nil {
		return "", "", err
	}
	if name, err = c.text(c.args[1]); err != nil {
		return "", "", err
	}
	if !strings.HasPrefix(name, "user.") && !strings.HasPrefix(name, "system.posix_acl_") {
		return "", "", unix.EPERM
	}
	fd, err := c.pin(p)
	return "/proc/self/fd/" + strconv.Itoa(fd), name, err
}

// setAttribute sets an extended attribute. cp -a uses such calls to copy access control lists.
func (c *call) setAttribute(follow bool) (int64, error) {
	path, name, err := c.attribute(follow)
	if err != nil {
		return 0, err
	}
	if c.args[3] > mostAttribute {
		return 0, unix.E2BIG
	}
	value := make([]byte, c.args[3])
	if len(value) > 0 {
		if err := c.read(c.args[2], value); err != nil {
			return 0, err
		}
	}
	return 0, unix.Setxattr(path, name, value, int(c.args[4]))
}

func (c *call) removeAttribute(follow bool) (int64, error) {
	path, name, err := c.attribute(follow)
	if err != nil {
		return 0, err
	}
	return 0, unix.Removexattr(path, name)
}

//go:build unix && !linux

package environ

import "errors"

// markInherited returns an error, because this system has no such call.
func markInherited() error { return errors.ErrUnsupported }

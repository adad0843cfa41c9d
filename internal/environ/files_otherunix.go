//go:build unix && !linux

package environ

import "errors"

// markInherited fails: this system has no such call.
func markInherited() error { return errors.ErrUnsupported }

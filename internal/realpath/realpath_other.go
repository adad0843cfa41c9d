//go:build !linux

package realpath

import "errors"

// noLinks returns an error, because this system cannot check a whole path in one call.
func noLinks(string) error { return errors.ErrUnsupported }

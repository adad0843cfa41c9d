package shell

import "os"

// rest does nothing: this system's pipes have no deadlines.
func rest(*os.File, []byte, func([]byte)) {}

// closeProxy does nothing: this system has no sandbox with a proxy.
func (s *supervisor) closeProxy() {}

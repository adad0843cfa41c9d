package shell

import "os"

// rest does nothing, because pipes have no deadlines on this system.
func rest(*os.File, []byte, func([]byte)) {}

// closeProxy does nothing, because there is no sandbox with a proxy on this system.
func (s *supervisor) closeProxy() {}

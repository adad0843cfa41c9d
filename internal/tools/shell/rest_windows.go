package shell

import "os"

// rest does nothing: this system's pipes have no deadlines.
func rest(*os.File, []byte, func([]byte)) {}

package environ

import "os"

// self leads to the file that this process runs, even if another file replaced it since.
const self = "/proc/self/exe"

// Self returns the path with which this process starts itself again. A command may be allowed to
// replace the file of this program, for example if the user runs it from the workspace that builds
// it. The new file must not run outside a sandbox.
func Self() (string, error) {
	if _, err := os.Stat(self); err != nil {
		return os.Executable()
	}
	return self, nil
}

package app

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A client that is started from a menu starts its agents in the home folder or in the root of the
// file system. These folders are not projects, so launchFolder does not return them.
func TestNoServerStartsAheadAtHome(t *testing.T) {
	home, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(home, link); err != nil {
		t.Skip("this system does not support links")
	}
	project := filepath.Join(home, "project")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]bool{home: false, "/": false, project: true} {
		t.Chdir(dir)
		for _, env := range []string{home, link} {
			if got := launchFolder([]string{"HOME=" + env}); (got != "") != want || want &&
				!strings.HasSuffix(got, "project") {
				t.Errorf("in %s with the home folder %s: %q", dir, env, got)
			}
		}
	}
}

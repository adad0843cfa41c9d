package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDoctorNamesAWorkspaceThatIsTooLarge checks that doctor reports a workspace that is the home
// folder or the root, even through a link, and reports nothing for a folder inside the home folder.
func TestDoctorNamesAWorkspaceThatIsTooLarge(t *testing.T) {
	home := t.TempDir()
	project, link := filepath.Join(home, "project"), filepath.Join(t.TempDir(), "link")
	if err := os.Mkdir(project, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(home, link); err != nil {
		t.Skip(err)
	}
	t.Setenv("HOME", home)
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
	for dir, what := range map[string]string{
		home: "your home folder", link: "your home folder", "/": "the root of the file system",
		project: "",
	} {
		t.Chdir(dir)
		out, _, _ := play(t, env, "doctor")
		if !strings.Contains(out, "workspace: ") {
			t.Errorf("%s: no report: %s", dir, out)
		}
		want := "notice: the workspace is " + what + ". agent-lsp asks before the agent may use " +
			"all of it. Without an answer, the agent can use only files that are open in the editor. " +
			"Start agent-lsp in a project folder\n"
		if what == "" {
			want = "notice: the workspace is"
		}
		if got := strings.Contains(out, want); got != (what != "") {
			t.Errorf("%s: %q in the report: %v\n%s", dir, want, got, out)
		}
	}
}

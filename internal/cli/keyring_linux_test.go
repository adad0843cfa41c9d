package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// lockedKeyring stores a key in a desktop keyring and then locks it by restarting the keyring
// service. $0 is the program. After each run and doctor, the script prints the exit code.
const lockedKeyring = `
printf x | gnome-keyring-daemon --unlock --components=secrets >/dev/null
echo k-right-key | "$0" login work --stdin
"$0" run hello; echo "unlocked: code $?"
gnome-keyring-daemon --replace --components=secrets >/dev/null 2>&1
"$0" run hello; echo "locked: code $?"
"$0" doctor; echo "doctor: code $?"
WORK_KEY=k-right-key "$0" run hello; echo "variable: code $?"
echo k-right-key | AGENT_LSP_KEYRING=file "$0" login work --stdin
AGENT_LSP_KEYRING=file "$0" run hello; echo "file: code $?"
`

// TestLockedKeyring checks that run and doctor say how to continue if the keyring is locked, and
// that a key in a variable and a login that stores the key in a file still work.
func TestLockedKeyring(t *testing.T) {
	for _, program := range []string{"dbus-run-session", "gnome-keyring-daemon"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("scripts/setup.sh installs ", program)
		}
	}
	t.Parallel()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home, server := t.TempDir(), newStrictProvider(t)
	file := filepath.Join(home, "config.json")
	put(t, file, `{"model": "work/house-model", "providers": {"work": {"baseUrl": "`+server.URL+
		`/v1", "apiKeyEnv": "WORK_KEY"}}}`)
	cmd := exec.CommandContext(t.Context(), "dbus-run-session", "--", "sh", "-c", lockedKeyring,
		exe)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{
		envRunMain + "=1", "HOME=" + home, "XDG_RUNTIME_DIR=" + home, "XDG_DATA_HOME=" + home +
			"/data",
		"PATH=" + os.Getenv("PATH"), "AGENT_LSP_CONFIG=" + file, "AGENT_LSP_RETRY_MAX_RETRIES=0",
	}
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	rest := string(out)
	for _, part := range []string{
		"The key for work is stored in the system keyring.", "Said by the provider.",
		"unlocked: code 0",
		"unlock it, or run `agent-lsp login work` again", "locked: code 1",
		"keys: work from the system keyring", "unlock it, or run `agent-lsp login work` again",
		"doctor: code 1",
		"Said by the provider.", "variable: code 0",
		"The key for work is stored in " + home, "Said by the provider.", "file: code 0",
	} {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Fatalf("%v: no %q in\n%s", err, part, out)
		}
		rest = after
	}
	if strings.Contains(string(out), "k-right-key") {
		t.Errorf("the key is shown:\n%s", out)
	}
}

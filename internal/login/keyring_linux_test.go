package login

import (
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
)

// inBus is set in the process that runs with its own session bus and an unlocked keyring.
const inBus = "AGENT_LSP_TEST_KEYRING_BUS"

// TestSystemKeyring checks that a real desktop keyring stores a key, that another store reads the
// key, and that the error for a locked keyring says what to do.
func TestSystemKeyring(t *testing.T) {
	if os.Getenv(inBus) != "" {
		useKeyring(t)
		return
	}
	for _, program := range []string{"dbus-run-session", "gnome-keyring-daemon"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("scripts/setup.sh installs ", program)
		}
	}
	home := t.TempDir()
	const script = `printf x | gnome-keyring-daemon --unlock --components=secrets >/dev/null
exec "$0" -test.run '^TestSystemKeyring$' -test.v`
	args := []string{"--", "sh", "-c", script, os.Args[0]}
	cmd := exec.CommandContext(t.Context(), "dbus-run-session", args...)
	cmd.Env = []string{
		"HOME=" + home, "XDG_RUNTIME_DIR=" + home, "XDG_DATA_HOME=" + home + "/data",
		"PATH=" + os.Getenv("PATH"), inBus + "=1",
	}
	cmd.WaitDelay = 10 * time.Second
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
}

func useKeyring(t *testing.T) {
	dir := t.TempDir()
	writer, reader := Open(dir, os.Getenv), Open(dir, os.Getenv)
	where, err := writer.Set("openai", "sk-secret")
	if where != "the system keyring" || err != nil {
		t.Fatalf("stored in %q, %v", where, err)
	}
	stored(t, reader, "openai", "sk-secret")
	data, err := os.ReadFile(writer.path)
	if err != nil || strings.Contains(string(data), "secret") {
		t.Errorf("the file has %s, %v", data, err)
	}
	lock(t)
	_, err = Open(dir, os.Getenv).Get("openai")
	for _, part := range []string{"unlock it", "agent-lsp login openai"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error of a locked keyring is %v, without %q", err, part)
		}
	}
	_, err = writer.Set("openai", "other")
	for _, part := range []string{"unlock it", FileVariable + "=file"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("storing a key in a locked keyring returns %v, without %q", err, part)
		}
	}
}

// lock locks the user's keyring.
func lock(t *testing.T) {
	bus, err := dbus.SessionBus()
	if err != nil {
		t.Fatal(err)
	}
	var locked []dbus.ObjectPath
	var prompt dbus.ObjectPath
	err = bus.Object("org.freedesktop.secrets", "/org/freedesktop/secrets").Call(
		"org.freedesktop.Secret.Service.Lock", 0,
		[]dbus.ObjectPath{"/org/freedesktop/secrets/collection/login"},
	).Store(&locked, &prompt)
	if err != nil || len(locked) != 1 {
		t.Fatalf("locked %v, %v", locked, err)
	}
}

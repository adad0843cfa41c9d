package login

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/zalando/go-keyring"
)

// system is the keyring of the operating system.
type system struct{}

func (system) Set(service, name, key string) error      { return keyring.Set(service, name, key) }
func (system) Get(service, name string) (string, error) { return keyring.Get(service, name) }
func (system) Delete(service, name string) error        { return keyring.Delete(service, name) }
func (system) DeleteAll(service string) error           { return keyring.DeleteAll(service) }

// hasKeyring reports whether a keyring may be available. On Unix, the library accesses the keyring
// over the D-Bus session bus. If no session bus is running, the library would start one, so
// hasKeyring returns false.
func hasKeyring(env func(string) string) bool {
	switch runtime.GOOS {
	case "darwin", "windows":
		return true
	}
	if env("DBUS_SESSION_BUS_ADDRESS") != "" {
		return true
	}
	dir := env("XDG_RUNTIME_DIR")
	if dir == "" {
		return false
	}
	_, err := os.Stat(filepath.Join(dir, "bus"))
	return err == nil
}

// isMissing reports whether err means that there is no keyring, because the platform does not
// support one, no service provides one or the session bus cannot be reached.
func isMissing(err error) bool {
	text := err.Error()
	return errors.Is(err, keyring.ErrUnsupportedPlatform) ||
		strings.Contains(text, "was not provided by any .service files") ||
		strings.Contains(text, "org.freedesktop.DBus.Error.ServiceUnknown") ||
		strings.Contains(text, "dial unix") || strings.Contains(text, "dbus-launch")
}

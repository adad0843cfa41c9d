package policy

import (
	"path/filepath"
	"strings"
)

// secretWords mark variables that are never inherited implicitly (protocol, "Environment of child processes").
var secretWords = []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "AUTH", "CREDENTIAL"}

// steering are variables that make a shell or a tool run, or read as its settings, what another program chose.
var steering = setOf("BASH_ENV ENV SHELLOPTS BASHOPTS CDPATH GLOBIGNORE PROMPT_COMMAND PS4 RIPGREP_CONFIG_PATH GREP_OPTIONS LESSOPEN LESSCLOSE")

// ChildEnv is the environment of a child process, made from the daemon's: without secrets, without the
// variables that make shells and tools run something, without exported shell functions, and with the
// absolute entries of PATH only. The argument is not changed.
func ChildEnv(env []string) []string {
	var out []string
	for _, kv := range ScrubEnv(env) {
		name, value, _ := strings.Cut(kv, "=")
		switch upper := strings.ToUpper(name); {
		case steering[upper], strings.HasPrefix(name, "BASH_FUNC_"), namesSecret(upper):
			continue
		case upper == "PATH":
			kv = name + "=" + absoluteEntries(value)
		}
		out = append(out, kv)
	}
	return out
}

func namesSecret(name string) bool {
	for _, w := range secretWords {
		if strings.Contains(name, w) {
			return true
		}
	}
	return false
}

// absoluteEntries drops relative entries from a PATH: they name programs of the current folder.
func absoluteEntries(path string) string {
	var kept []string
	for _, dir := range filepath.SplitList(path) {
		if filepath.IsAbs(dir) {
			kept = append(kept, dir)
		}
	}
	return strings.Join(kept, string(filepath.ListSeparator))
}

package mcp

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Hopeless returns the reason why starting a server cannot succeed, or "" if none is known.
func (c Config) Hopeless() string {
	switch {
	case c.URL != "":
		return ""
	case c.Command == "":
		return "its settings have neither a command nor a url"
	case !installed(c):
		return "there is no command " + c.Command
	}
	return ""
}

// advice describes what to do about a server that is not started again.
func (c Config) advice() string {
	if c.URL != "" {
		return "; it is not contacted again. Correct its settings, or make sure that it responds at its url"
	}
	return "; it is not started again. Correct its settings, or run its command in a terminal to see its messages"
}

// installed reports whether a server's command exists. It searches the PATH of the environment that
// the server's process will have.
func installed(c Config) bool {
	if strings.ContainsAny(c.Command, `/\`) {
		path := c.Command
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.Dir, path)
		}
		return executable(path)
	}
	for _, dir := range filepath.SplitList(pathIn(c.Env)) {
		if executable(filepath.Join(dir, c.Command)) {
			return true
		}
	}
	return false
}

func executable(path string) bool {
	if runtime.GOOS == "windows" {
		return slices.ContainsFunc([]string{"", ".exe", ".cmd", ".bat"},
			func(ext string) bool { return isFile(path + ext) })
	}
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular() && fi.Mode()&0o111 != 0
}

func isFile(path string) bool {
	fi, err := os.Stat(path)
	return err == nil && fi.Mode().IsRegular()
}

func pathIn(env []string) string {
	for _, kv := range slices.Backward(env) {
		name, v, ok := strings.Cut(kv, "=")
		if ok && (name == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(name, "PATH")) {
			return v
		}
	}
	return ""
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
)

var errNoVale = errors.New("vale is missing: run scripts/setup.sh, which installs it")

// findVale returns the path of the Vale that scripts/vale.sh installs, or the one on the PATH.
func findVale() (string, error) {
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(home, ".cache")
	}
	bin := filepath.Join(cache, "agent-lsp-test", "bin", "vale")
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	if bin, err := exec.LookPath("vale"); err == nil {
		return bin, nil
	}
	return "", errNoVale
}

// alert is one finding of Vale.
type alert struct {
	Line    int
	Message string
	Check   string
}

// vale runs Vale on Markdown and comments.
func vale(dir string, files []string) (findings []finding, err error) {
	bin, err := findVale()
	if err != nil {
		return nil, err
	}
	args := []string{"--no-global", "--no-exit", "--output=JSON"}
	n := len(args)
	for _, f := range files {
		switch path.Ext(f) {
		case ".md", ".go", ".ts", ".js", ".lua":
			args = append(args, f)
		}
	}
	if len(args) == n {
		return nil, nil // without arguments, Vale would read its standard input
	}
	cmd := exec.Command(bin, args...)
	var out, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s%s", bin, err, stderr.Bytes(), out.Bytes())
	}
	var alerts map[string][]alert
	if err := json.Unmarshal(out.Bytes(), &alerts); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", bin, err, out.Bytes())
	}
	for file, list := range alerts {
		for _, a := range list {
			findings = append(findings, finding{"words", filepath.ToSlash(file), a.Line, a.Message})
		}
	}
	return findings, nil
}

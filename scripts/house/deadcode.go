package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
)

// unreached lists the functions that main does not reach but that are kept, each with its reason.
var unreached = map[string]string{
	module + "/internal/agent.EnvironmentFunc.Next": "a function as an Environment, as http.HandlerFunc is for handlers; tests of four packages use it",
	module + "/internal/agent/history.Numbers":      "the documentation's table of thresholds is compared with it",
	module + "/internal/agent/repair.Numbers":       "the documentation's table of thresholds is compared with it",
	module + "/internal/policy/sandbox.Kinds":       "tests run in each kind of sandbox that the machine has",
}

// unreachedPackages lists packages that main does not use, each with its reason.
var unreachedPackages = map[string]string{}

// deadcode lists the functions that main does not reach, and the listed reasons that are no longer
// needed.
func deadcode() ([]string, error) {
	cmd := exec.Command(
		"go",
		"run",
		"golang.org/x/tools/cmd/deadcode@v0.52.0",
		"-json",
		"./cmd/agent-lsp",
	)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("running deadcode: %w", err)
	}
	var found []struct {
		Path  string
		Funcs []struct {
			Name     string
			Position struct {
				File string
				Line int
			}
			Generated bool
		}
	}
	if err := json.NewDecoder(bytes.NewReader(out)).Decode(&found); err != nil && len(out) > 0 {
		return nil, fmt.Errorf("reading deadcode's answer: %w", err)
	}
	var lines []string
	seen := map[string]bool{}
	for _, p := range found {
		seen[p.Path] = true
		for _, f := range p.Funcs {
			name := p.Path + "." + f.Name
			seen[name] = true
			if unreached[name] == "" && unreachedPackages[p.Path] == "" {
				lines = append(
					lines,
					fmt.Sprintf(
						"%s:%d: %s is not reached from main: delete it, or move it to a test",
						f.Position.File,
						f.Position.Line,
						name,
					),
				)
			}
		}
	}
	for path := range unreachedPackages {
		if !seen[path] {
			lines = append(
				lines,
				path+" is reached or no longer exists: delete its reason in scripts/house/deadcode.go",
			)
		}
	}
	for name := range unreached {
		if !seen[name] {
			lines = append(
				lines,
				name+" is reached or no longer exists: delete its reason in scripts/house/deadcode.go",
			)
		}
	}
	return lines, nil
}

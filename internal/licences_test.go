package internal_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Every module that go.mod requires stands in docs/licences.md, with its version and a licence that was read.
func TestLicencesAreListed(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(top, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(filepath.Join(top, "docs", "licences.md"))
	if err != nil {
		t.Fatal(err)
	}
	known := regexp.MustCompile(`^(MIT|BSD-[23]-Clause|Apache-2\.0|MPL-2\.0|ISC)`)
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllStringSubmatch(string(mod), -1) {
		_, rest, found := strings.Cut(string(doc), "| "+m[1]+" | "+m[2]+" | ")
		if !found {
			t.Errorf("docs/licences.md lacks %s %s", m[1], m[2])
		} else if !known.MatchString(rest) {
			t.Errorf("docs/licences.md: the licence of %s is unknown", m[1])
		}
	}
}

// lockfile is what is read of a package-lock.json.
type lockfile struct {
	Packages map[string]struct {
		Version      string            `json:"version"`
		License      string            `json:"license"`
		Dependencies map[string]string `json:"dependencies"`
	} `json:"packages"`
}

// Every npm package that the VS Code extension bundles, by its sources' imports and theirs, stands there too.
func TestLicencesOfBundledPackages(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(top, "editors", "vscode", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	var lock lockfile
	if err := json.Unmarshal(raw, &lock); err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(filepath.Join(top, "docs", "licences.md"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for todo := importedPackages(t); len(todo) > 0; todo = todo[1:] {
		name := todo[0]
		if seen[name] {
			continue
		}
		seen[name] = true
		p, ok := lock.Packages["node_modules/"+name]
		if !ok {
			t.Errorf("package-lock.json lacks %s", name)
		} else if !strings.Contains(string(doc), "| "+name+" | "+p.Version+" | "+p.License+" |") {
			t.Errorf("docs/licences.md lacks %s %s under %s", name, p.Version, p.License)
		}
		for d := range p.Dependencies {
			todo = append(todo, d)
		}
	}
	if len(seen) < 5 {
		t.Errorf("only %d packages were found", len(seen))
	}
}

// importedPackages are the packages that the extension's sources import by name.
func importedPackages(t *testing.T) (names []string) {
	t.Helper()
	from := regexp.MustCompile(`(?m)^(?:import|export)[^;]*?from '([^'.][^']*)'`)
	walkTree(func(path string) {
		if !strings.HasPrefix(path, "editors/vscode/src/") || !strings.HasSuffix(path, ".ts") {
			return
		}
		text, err := os.ReadFile(filepath.Join(top, filepath.FromSlash(path)))
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range from.FindAllStringSubmatch(string(text), -1) {
			if name := packageOf(m[1]); name != "vscode" && !strings.HasPrefix(name, "node:") {
				names = append(names, name)
			}
		}
	})
	return names
}

// packageOf takes the path within a package off an import.
func packageOf(module string) string {
	parts := strings.Split(module, "/")
	if strings.HasPrefix(module, "@") && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

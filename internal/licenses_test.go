package internal_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// docs/contribute/licenses.md lists every module that go.mod requires, with its version and a
// reviewed license.
func TestLicensesAreListed(t *testing.T) {
	mod, err := os.ReadFile(filepath.Join(top, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(filepath.Join(top, "docs", "contribute", "licenses.md"))
	if err != nil {
		t.Fatal(err)
	}
	known := regexp.MustCompile(`^(MIT|BSD-[23]-Clause|Apache-2\.0|MPL-2\.0|ISC)`)
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllStringSubmatch(string(mod),
		-1) {
		_, rest, found := strings.Cut(string(doc), "| "+m[1]+" | "+m[2]+" | ")
		if !found {
			t.Errorf("docs/contribute/licenses.md does not list %s %s", m[1], m[2])
		} else if !known.MatchString(rest) {
			t.Errorf("docs/contribute/licenses.md: the license of %s is unknown", m[1])
		}
	}
}

// lockfile contains the fields of package-lock.json that the tests read.
type lockfile struct {
	Packages map[string]struct {
		Version              string            `json:"version"`
		License              string            `json:"license"`
		Resolved             string            `json:"resolved"`
		Integrity            string            `json:"integrity"`
		Optional             bool              `json:"optional"`
		Dependencies         map[string]string `json:"dependencies"`
		DevDependencies      map[string]string `json:"devDependencies"`
		OptionalDependencies map[string]string `json:"optionalDependencies"`
	} `json:"packages"`
}

// readLockfile reads package-lock.json from an editor's folder.
func readLockfile(t *testing.T, editor string) (lock lockfile) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(top, "editors", editor, "package-lock.json"))
	if err == nil {
		err = json.Unmarshal(raw, &lock)
	}
	if err != nil {
		t.Fatal(err)
	}
	return lock
}

// The license page also lists every npm package that is bundled with the VS Code extension. The
// test finds these packages by the imports in the extension's sources and by the dependencies in
// package-lock.json.
func TestLicensesOfBundledPackages(t *testing.T) {
	lock := readLockfile(t, "vscode")
	doc, err := os.ReadFile(filepath.Join(top, "docs", "contribute", "licenses.md"))
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
			t.Errorf("package-lock.json does not list %s", name)
		} else if !strings.Contains(string(doc), "| "+name+" | "+p.Version+" | "+p.License+" |") {
			t.Errorf("docs/contribute/licenses.md does not list %s %s under %s",
				name, p.Version, p.License)
		}
		for d := range p.Dependencies {
			todo = append(todo, d)
		}
	}
	if len(seen) < 5 {
		t.Errorf("only %d packages were found", len(seen))
	}
}

// A lock file that npm wrote on one system works on all systems. It must contain every package that
// another of its packages names, including packages for other systems. npm omits those if it
// installs into an existing node_modules folder. Each package has a hash, unless it is optional,
// and no address.
func TestLockfilesAreWhole(t *testing.T) {
	for _, editor := range []string{"acp", "vscode"} {
		lock := readLockfile(t, editor)
		for at, p := range lock.Packages {
			if at != "" && p.Integrity == "" && !p.Optional || p.Resolved != "" {
				t.Errorf("editors/%s: %s has the hash %q and the address %q", editor, at,
					p.Integrity, p.Resolved)
			}
			for _, names := range []map[string]string{p.Dependencies, p.DevDependencies,
				p.OptionalDependencies} {
				for name := range names {
					if !lock.finds(at, name) {
						t.Errorf("editors/%s: %s is missing, which %s names", editor, name, at)
					}
				}
			}
		}
	}
}

// finds reports whether Node.js would find a package from a given folder. Node.js searches the
// node_modules folder in that folder and then those in its parent folders.
func (l lockfile) finds(at, name string) bool {
	for {
		if _, ok := l.Packages[strings.TrimPrefix(at+"/node_modules/"+name, "/")]; ok || at == "" {
			return ok
		}
		at = at[:max(0, strings.LastIndex(at, "/node_modules/"))]
	}
}

// importedPackages returns the names of the packages that the extension's sources import.
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

// packageOf returns the package name in an import path.
func packageOf(module string) string {
	parts := strings.Split(module, "/")
	if strings.HasPrefix(module, "@") && len(parts) > 1 {
		return parts[0] + "/" + parts[1]
	}
	return parts[0]
}

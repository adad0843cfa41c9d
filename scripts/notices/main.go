// Command notices prints the licenses of all code that is linked into the program. The licenses
// require this from anyone who distributes the program.
//
//	GOOS=linux GOARCH=amd64 go run ./scripts/notices PACKAGE
//
// Go's own license comes first, followed by those of each module, including the license files of
// its linked folders.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// license matches the names of files that contain a license or a notice that must be reproduced
// with it.
var license = regexp.MustCompile(`(?i)^(.*-)?(licen[cs]e|copying|notice|patents)([-.].*)?$`)

// part is a module, or Go itself, with the folders that are linked in.
type part struct {
	name, root string
	folders    []string
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: notices PACKAGE")
		os.Exit(2)
	}
	if err := notices(os.Stdout, os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

// notices writes the licenses of the modules that are linked into the package. A module without a
// license is an error.
func notices(w io.Writer, pkg string) error {
	parts, err := linked(pkg)
	if err != nil {
		return err
	}
	for _, p := range parts {
		files := p.licenses()
		if len(files) == 0 {
			return fmt.Errorf("%s has no license in %s", p.name, p.root)
		}
		for _, f := range files {
			if err := p.write(w, f); err != nil {
				return err
			}
		}
	}
	return nil
}

// linked lists Go and the third-party modules that are linked into the package, sorted by name.
func linked(pkg string) ([]part, error) {
	out, err := tool("list", "-deps", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}\t{{.Dir}}\t{{$.Dir}}{{end}}{{end}}",
		pkg)
	if err != nil {
		return nil, err
	}
	root, err := tool("env", "GOROOT")
	if err != nil {
		return nil, err
	}
	byName := map[string]*part{}
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 3 {
			continue
		}
		if byName[f[0]] == nil {
			byName[f[0]] = &part{name: f[0], root: f[1]}
		}
		byName[f[0]].folders = append(byName[f[0]].folders, f[2])
	}
	parts := []part{{name: "Go", root: strings.TrimSpace(root)}}
	for _, p := range byName {
		parts = append(parts, *p)
	}
	slices.SortFunc(parts[1:], func(a, b part) int { return strings.Compare(a.name, b.name) })
	return parts, nil
}

// tool runs the go command.
func tool(args ...string) (string, error) {
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", args[0], err)
	}
	return string(out), nil
}

// licenses returns the paths of the license files in the module's root and in every folder on the
// path to a linked folder. Paths are relative to the module.
func (p part) licenses() (files []string) {
	dirs := []string{"."}
	for _, f := range p.folders {
		rel, err := filepath.Rel(p.root, f)
		for ; err == nil && rel != "."; rel = filepath.Dir(rel) {
			dirs = append(dirs, rel)
		}
	}
	slices.Sort(dirs)
	for _, dir := range slices.Compact(dirs) {
		// A missing license is reported, so a folder that cannot be read needs no separate error.
		entries, _ := os.ReadDir(filepath.Join(p.root, dir))
		for _, e := range entries {
			if e.Type().IsRegular() && license.MatchString(e.Name()) &&
				filepath.Ext(e.Name()) != ".go" {
				files = append(files, filepath.Join(dir, e.Name()))
			}
		}
	}
	return files
}

func (p part) write(w io.Writer, file string) error {
	text, err := os.ReadFile(filepath.Join(p.root, file))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "==== %s: %s ====\n\n%s\n\n", p.name, filepath.ToSlash(file),
		strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")))
	return err
}

package launcher

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// guards collects the files and folders of the roots that start programs although their own names
// are not protected: the targets of links with protected names, and the files outside .git that Git
// reads or runs.
type guards struct {
	roots []string // without links
	home  string   // "": unknown
	found []string // absolute paths
}

// inRoots returns the paths that were found in a root, relative to it and with slashes.
func (g *guards) inRoots(root string) []string {
	var out []string
	for _, path := range g.found {
		// A link to the whole root protects nothing. Otherwise, commands could not change any file.
		if rel, err := filepath.Rel(root, path); err == nil && filepath.IsLocal(rel) && rel != "." {
			out = append(out, filepath.ToSlash(rel))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// walked examines a name during a walk of all folders of a root.
func (g *guards) walked(path string, e fs.DirEntry) {
	if e.Name() == "HEAD" {
		g.folder(filepath.Dir(path))
	}
	g.entry(path, e.Type())
}

// entry examines a name in a folder of a root.
func (g *guards) entry(path string, kind fs.FileMode) {
	switch {
	case kind&fs.ModeSymlink != 0 && g.startsPrograms(path):
		g.hop(path, "")
	case kind&fs.ModeSymlink != 0:
		if inner := pairFolder(filepath.Base(path)); inner != "" {
			g.hop(path, inner)
		}
	case kind.IsRegular() && strings.EqualFold(filepath.Base(path), ".git"):
		dir := filepath.Dir(path)
		if git := namedBy(path, "gitdir: ", dir); git != "" {
			g.hop(git, "")
			g.settings(filepath.Join(git, "config"), dir)
			if common := namedBy(filepath.Join(git, "commondir"), "", git); common != "" {
				g.hop(common, "")
				g.settings(filepath.Join(common, "config"), dir)
			}
		}
	}
}

func (g *guards) startsPrograms(path string) bool {
	for _, r := range g.roots {
		if rel, err := filepath.Rel(r, path); err == nil && filepath.IsLocal(rel) &&
			StartsPrograms(filepath.ToSlash(rel)) {
			return true
		}
	}
	return false
}

// folder examines a folder. Git treats a folder that contains these names as a repository.
func (g *guards) folder(dir string) {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return
		}
	}
	top := dir
	switch {
	case filepath.Base(dir) == ".git":
		top = filepath.Dir(dir)
	case slices.Contains(g.roots, dir):
		for _, name := range []string{"config", "config.worktree", "commondir", "hooks", "info"} {
			g.found = append(g.found, filepath.Join(dir, name))
		}
	default:
		g.found = append(g.found, dir)
	}
	g.settings(filepath.Join(dir, "config"), top)
	g.settings(filepath.Join(dir, "config.worktree"), top)
	g.byUser(top)
}

// byUser adds the files and folders that the user's own settings name for a repository, such as a
// folder of hooks with a relative path.
func (g *guards) byUser(top string) {
	for _, file := range userSettings(g.home) {
		g.settings(file, top)
	}
}

// hop adds a path, the file to which the path leads, and every link in between. If inner is set,
// the path leads to a folder. In that case, hop adds every link and the file inner in this folder.
func (g *guards) hop(path, inner string) {
	if inner == "" {
		g.found = append(g.found, path)
	}
	rest, at := fromTop(filepath.Clean(path))
	for links := 0; len(rest) > 0 && links < mostLinks; {
		next := filepath.Join(at, rest[0])
		rest = rest[1:]
		to, err := os.Readlink(next)
		if err != nil {
			at = next
			continue
		}
		links++
		g.found = append(g.found, next)
		steps, top := fromTop(to)
		if filepath.IsAbs(to) {
			at = top
		}
		rest = append(steps, rest...)
	}
	g.found = append(g.found, filepath.Join(at, inner))
}

// Steps returns a path, the file to which it leads, and every link in between.
func Steps(path string) []string {
	var g guards
	g.hop(path, "")
	return g.found
}

// fromTop splits a path into its names, without the volume name on Windows, and returns the folder
// at the top of that volume.
func fromTop(path string) (names []string, top string) {
	volume := filepath.VolumeName(path)
	const separator = string(filepath.Separator)
	return strings.Split(path[len(volume):], separator), volume + separator
}

// mostLinks bounds the links on the way to a file, as the kernel does.
const mostLinks = 40

// settings adds the files and folders with hooks, attributes, templates and further settings that a
// Git configuration file names. top is the folder in which Git runs hooks.
func (g *guards) settings(file, top string) {
	g.included(file, top, 0)
}

// mostIncludes bounds how deeply configuration files include each other, as Git does.
const mostIncludes = 10

func (g *guards) included(file, top string, depth int) {
	for _, s := range gitSettings(file) {
		base, include := top, false
		switch {
		case s.section == "include" && s.key == "path",
			s.section == "includeif" && s.key == "path":
			base, include = filepath.Dir(file), true
		case s.section == "core" && (s.key == "hookspath" || s.key == "attributesfile"),
			s.section == "init" && s.key == "templatedir":
		default:
			continue
		}
		path := s.value
		if rest, ok := strings.CutPrefix(path, "~/"); ok && g.home != "" {
			path = filepath.Join(g.home, rest)
		}
		if path == "" || path == os.DevNull {
			continue
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(base, path)
		}
		g.hop(path, "")
		if include && depth < mostIncludes {
			g.included(path, top, depth+1)
		}
	}
}

// Guards returns the paths of a root that start programs because of something in the folders above
// rel: a Git repository with any name, its settings, or a link with a protected name. The paths are
// relative to the root and use slashes. The root's path must not contain links.
func Guards(root, rel string) []string {
	home, _ := os.UserHomeDir()
	g := &guards{roots: []string{root}, home: home}
	for _, f := range GitFolders(root) {
		g.found = append(g.found, filepath.Join(root, filepath.FromSlash(f)))
	}
	dir := filepath.Join(root, filepath.FromSlash(rel))
	for dir != root && Below(dir, root) {
		dir = filepath.Dir(dir)
		g.above(dir)
	}
	g.byUser(root)
	return g.inRoots(root)
}

// above examines a folder and the protected names in it.
func (g *guards) above(dir string) {
	g.folder(dir)
	g.folder(filepath.Join(dir, ".git"))
	names := slices.Concat(slices.Collect(maps.Keys(startingFolders)),
		slices.Collect(maps.Keys(startingFiles)), slices.Collect(maps.Keys(startingPairs)))
	for _, name := range names {
		path := filepath.Join(dir, name)
		fi, err := os.Lstat(path)
		if err != nil {
			continue
		}
		g.entry(path, fi.Mode())
		if !fi.IsDir() {
			continue
		}
		entries, _ := os.ReadDir(path)
		for _, e := range entries[:min(len(entries), mostWorktrees)] {
			g.entry(filepath.Join(path, e.Name()), e.Type())
		}
	}
}

// userSettings returns the Git configuration files of the system and of the user.
func userSettings(home string) []string {
	files := []string{"/etc/gitconfig"}
	if home != "" {
		files = append(files, filepath.Join(home, ".gitconfig"),
			filepath.Join(home, ".config/git/config"))
	}
	return files
}

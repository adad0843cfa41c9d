// Package project reads the files for the agent in a repository: instructions (AGENTS.md), commands
// (.agent-lsp/commands/*.md) and agents (.agent-lsp/agents/*.md). It also reads the user's own
// files of these kinds.
//
// Each call checks the files' size and time, so that a change takes effect with the next prompt.
// The package does not watch or poll files. It never reads a repository's file from outside of the
// root, even through a link. A file that cannot be read causes a notice and not an error. Start at
// Project.
package project

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

const (
	// MaxFile is the maximum number of bytes that are read from one file.
	MaxFile = 64 << 10
	// MaxFiles is the maximum number of files that are read from one folder.
	MaxFiles = 500
	// DefaultMaxBytes is the default of Rules.MaxBytes.
	DefaultMaxBytes = 64 << 10
	// folder is the folder in which a repository stores its commands and agents.
	folder = ".agent-lsp"
)

// Options configure a Project. The zero value reads nothing.
type Options struct {
	Root string // workspace root, or ""
	// Held reports whether the root must not be read now. If Held is nil, it may be read.
	Held    func() bool
	UserDir string // folder of the user's own AGENTS.md, commands and agents, or ""
	// Secret reports whether a file of the workspace must not be sent. If Secret is nil, no file is
	// secret.
	Secret func(path string) bool
}

// Rules describe which instructions are read. The zero value means the defaults.
type Rules struct {
	// Names contains the names of instruction files. The first one that exists is used. nil means
	// AGENTS.md.
	Names []string
	// MaxBytes is the maximum size of all instructions together. Those nearest to the working
	// directory are kept. 0 means DefaultMaxBytes.
	MaxBytes int
}

func (r Rules) orDefaults() Rules {
	if len(r.Names) == 0 {
		r.Names = []string{"AGENTS.md"}
	}
	if r.MaxBytes == 0 {
		r.MaxBytes = DefaultMaxBytes
	}
	return r
}

// File is a file that was read. Path is for display. It is relative to the root, or absolute.
type File struct {
	Path string
	Text string
}

// Project reads one root. It is safe for concurrent use.
type Project struct {
	opts Options

	mu    sync.Mutex
	cache map[string]cached
}

type cached struct {
	size int64
	time time.Time
	text string
}

// New returns a Project for a root. It does not read any files.
func New(opts Options) *Project {
	return &Project{opts: opts, cache: map[string]cached{}}
}

// held reports whether base is a workspace root that must not be read now. It reads the disk.
func (p *Project) held(base string) bool {
	return base == p.opts.Root && p.opts.Held != nil && p.opts.Held()
}

// Instructions returns the instructions for a working directory: the user's own, then those of the
// root and of each folder down to cwd. Later instructions take precedence. If all of them together
// are too long, those farthest from cwd are omitted with a notice.
func (p *Project) Instructions(cwd string, rules Rules) (files []File, notices []string) {
	rules = rules.orDefaults()
	read := func(base, name string) {
		f, err := p.read(base, name)
		switch {
		case err == nil && strings.TrimSpace(f.Text) != "":
			files = append(files, f)
		case err != nil && !os.IsNotExist(err):
			notices = append(notices, err.Error())
		}
	}
	if p.opts.UserDir != "" {
		read(p.opts.UserDir, rules.Names[0])
	}
	for _, dir := range p.foldersTo(cwd) {
		for _, name := range rules.Names {
			before := len(files) + len(notices)
			if read(p.opts.Root, path.Join(dir, name)); len(files)+len(notices) > before {
				break
			}
		}
	}
	return rules.bounded(files, notices)
}

// foldersTo returns the folders from the root to cwd, relative to the root. For a cwd outside of
// the root, it returns only the root.
func (p *Project) foldersTo(cwd string) []string {
	if p.opts.Root == "" {
		return nil
	}
	dirs := []string{"."}
	rel, err := filepath.Rel(p.opts.Root, cwd)
	if err != nil || rel == "." || !filepath.IsLocal(rel) {
		return dirs
	}
	dir := "."
	for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		dir = path.Join(dir, part)
		dirs = append(dirs, dir)
	}
	return dirs
}

// bounded keeps the nearest files that fit into the limit.
func (r Rules) bounded(files []File, notices []string) ([]File, []string) {
	total := 0
	for i := len(files) - 1; i >= 0; i-- {
		if total += len(files[i].Text); total > r.MaxBytes {
			notices = append(
				notices,
				fmt.Sprintf(
					"instructions have more than %d bytes: %s and files farther away are skipped",
					r.MaxBytes,
					files[i].Path,
				),
			)
			return files[i+1:], notices
		}
	}
	return files, notices
}

// System returns instructions as a block for the system prompt, or "" if there are none.
func System(files []File) string {
	if len(files) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("Instructions from the user and the project. If they conflict, later instructions take precedence.\n")
	for _, f := range files {
		fmt.Fprintf(&b, "\n<instructions from=%q>\n%s\n</instructions>\n", f.Path,
			strings.TrimSpace(f.Text))
	}
	return b.String()
}

// Agents returns the Markdown files that define sub-agents: first those of the user, then those of
// the project.
func (p *Project) Agents() (files []File, notices []string) { return p.folderFiles("agents") }

// folderFiles reads the Markdown files in the user's folder with this name, and then those in the
// project's folder with this name.
func (p *Project) folderFiles(name string) (files []File, notices []string) {
	for _, place := range []struct{ base, dir string }{{p.opts.UserDir, name},
		{p.opts.Root, path.Join(folder, name)}} {
		if place.base == "" {
			continue
		}
		f, n := p.markdown(place.base, place.dir)
		files, notices = append(files, f...), append(notices, n...)
	}
	return files, notices
}

func (p *Project) markdown(base, dir string) (files []File, notices []string) {
	if missing(base, dir) || p.held(base) {
		return nil, nil
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil, nil // the folder does not exist
	}
	defer root.Close()
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		if !os.IsNotExist(err) {
			notices = append(notices, fmt.Sprintf("reading %s: %v", dir, err))
		}
		return nil, notices
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".md") || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if len(files) == MaxFiles {
			return files, append(
				notices,
				fmt.Sprintf("%s has more than %d files; the rest is skipped", dir, MaxFiles),
			)
		}
		f, err := p.read(base, path.Join(dir, e.Name()))
		if err != nil {
			notices = append(notices, err.Error())
			continue
		}
		files = append(files, f)
	}
	return files, notices
}

// missing reports whether a file does not exist, which is the usual case. The check is cheap. It is
// called for each model call. If a link leads out of base, missing may check a path outside of
// base. This reveals nothing, because the file itself is opened in the root of base.
func missing(base, name string) bool {
	_, err := os.Stat(filepath.Join(base, filepath.FromSlash(name)))
	return os.IsNotExist(err)
}

// read returns a file below base, from memory if it has not changed.
func (p *Project) read(base, name string) (File, error) {
	shown := name
	if base != p.opts.Root {
		shown = filepath.Join(base, filepath.FromSlash(name))
	}
	if missing(base, name) || p.held(base) {
		return File{}, os.ErrNotExist
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return File{}, err
	}
	defer root.Close()
	info, err := root.Stat(filepath.FromSlash(name))
	if os.IsNotExist(err) {
		return File{}, err
	}
	if err != nil {
		return File{}, fmt.Errorf("reading %s: %w", shown, err)
	}
	if !info.Mode().IsRegular() {
		return File{}, fmt.Errorf("reading %s: not a regular file", shown)
	}
	if err := p.refuse(base, name, info); err != nil {
		return File{}, fmt.Errorf("reading %s: %w", shown, err)
	}
	key := base + "\x00" + name
	p.mu.Lock()
	c, ok := p.cache[key]
	p.mu.Unlock()
	if !ok || c.size != info.Size() || !c.time.Equal(info.ModTime()) {
		text, err := content(root, filepath.FromSlash(name), info)
		if err != nil {
			return File{}, fmt.Errorf("reading %s: %w", shown, err)
		}
		c = cached{size: info.Size(), time: info.ModTime(), text: text}
		p.mu.Lock()
		p.cache[key] = c
		p.mu.Unlock()
	}
	return File{Path: shown, Text: c.text}, nil
}

// refuse returns the reason why a file of the workspace is not read. The model receives the file's
// text, so the file must not be secret or a link to a secret file. A Markdown file may link only to
// another Markdown file.
func (p *Project) refuse(base, name string, info fs.FileInfo) error {
	if base != p.opts.Root {
		return nil
	}
	full := filepath.Join(base, filepath.FromSlash(name))
	target, err := filepath.EvalSymlinks(full)
	if err != nil {
		return err
	}
	if now, err := os.Lstat(target); err != nil || !os.SameFile(now, info) {
		return errors.New("it changed while it was read")
	}
	switch {
	case p.opts.Secret != nil && (p.opts.Secret(full) || p.opts.Secret(target)):
		return errors.New("it is a secret file, whose text is not sent")
	case isMarkdown(full) && !isMarkdown(target):
		return fmt.Errorf("it is a link to %s, which is not a Markdown file", filepath.Base(target))
	}
	return nil
}

func isMarkdown(path string) bool {
	ext := strings.ToLower(filepath.Ext(path))
	return ext == ".md" || ext == ".markdown"
}

// content reads a file if info still describes it.
func content(root *os.Root, name string, info fs.FileInfo) (string, error) {
	f, err := root.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if now, err := f.Stat(); err != nil || !os.SameFile(now, info) {
		return "", errors.New("it changed while it was read")
	}
	b, err := io.ReadAll(io.LimitReader(f, MaxFile))
	if err != nil {
		return "", err
	}
	text := strings.ToValidUTF8(strings.TrimPrefix(string(b), "\uFEFF"), "\uFFFD")
	if len(b) == MaxFile {
		text += "\n[cut: the file is longer]"
	}
	return strings.ReplaceAll(text, "\r\n", "\n"), nil
}

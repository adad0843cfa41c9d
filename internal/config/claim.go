package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/visible"
)

// Claim is something that takes effect only after the user trusts it: settings from a layer other
// than the user's own, or a program that runs workspace files. Trust applies to the contents of the
// claim, not to the workspace as a whole. Digest covers every value and the text of every workspace
// file that the values name.
type Claim struct {
	Layer    string // the layer's kind
	Source   string // the path of the layer's file, if it has one
	Settings []Claimed
	Files    []ClaimedFile
	Runs     bool   // whether the claim is about a program that runs files, not about settings
	Digest   string // "" means that the claim cannot be trusted, because it names too many files

	watch []string // names below the root whose files affect the digest
}

// Claimed is one value of a claim.
type Claimed struct {
	Path  string
	Value any // the value as decoded from JSON
}

// ClaimedFile is a file of the workspace whose text belongs to a claim.
type ClaimedFile struct {
	Name   string // relative to the root, with slashes
	Digest string
}

// Programs creates claims for programs that run files of a workspace. It is safe for concurrent
// use.
type Programs struct{ files *fileDigests }

// NewPrograms returns a Programs that has not read any files.
func NewPrograms() *Programs { return &Programs{newFileDigests()} }

// Claim returns the claim for a program that runs files from a folder, with their current contents.
// Each name is a file, or a folder that stands for the files directly in it.
func (p *Programs) Claim(root, layer string, settings []Claimed, names []string) Claim {
	c := Claim{Layer: layer, Settings: settings, Runs: true}
	if len(names) <= maxReferences {
		c.bind(root, set(names...), p.files)
	}
	return c
}

// With returns the claim with the files of another claim, which is about the files in a folder. The
// result names these files by their absolute paths.
func (c Claim) With(other Claim, folder string) Claim {
	for _, f := range other.Files {
		f.Name = filepath.Join(folder, filepath.FromSlash(f.Name))
		c.Files = append(slices.Clip(c.Files), f)
	}
	if c.Digest == "" || other.Digest == "" {
		c.Digest = ""
		return c
	}
	sum := sha256.Sum256([]byte(c.Digest + "\n" + folder + "\n" + other.Digest))
	c.Digest = "sha256:" + hex.EncodeToString(sum[:])
	return c
}

// complete finds a claim's files and computes its digest.
func (c *Claim) complete(root string, files *fileDigests) {
	if names, ok := references(root, c.Settings); ok {
		c.bind(root, names, files)
	}
}

// bind finds the files for the names in a claim's values, and computes the claim's digest.
func (c *Claim) bind(root string, names map[string]bool, files *fileDigests) {
	var ok bool
	c.Files, c.watch, ok = files.of(root, names)
	if !ok {
		return
	}
	h := sha256.New()
	for _, s := range c.Settings {
		fmt.Fprintf(h, "%q=%s\n", s.Path, jsonText(s.Value))
	}
	for _, f := range c.Files {
		fmt.Fprintf(h, "%q:%s\n", f.Name, f.Digest)
	}
	c.Digest = "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// Keys returns the paths of the claim's values.
func (c *Claim) Keys() (keys []string) {
	for _, s := range c.Settings {
		keys = append(keys, s.Path)
	}
	return keys
}

// Write writes all values and files of a claim, one per line, for the user who decides about it.
func (c *Claim) Write(w io.Writer) error {
	from := c.Layer
	if c.Source != "" {
		from = c.Source
	}
	var b strings.Builder
	verb := "sets"
	if c.Runs {
		verb = "runs"
	}
	fmt.Fprintf(&b, "%s %s:\n", visible.Text(from), verb)
	for _, s := range c.Settings {
		fmt.Fprintf(&b, "  %s = %s\n", visible.Text(s.Path), visible.Text(jsonText(s.Value)))
	}
	for _, f := range c.Files {
		digest := f.Digest[:min(len(f.Digest), shownDigest)]
		fmt.Fprintf(&b, "  with the file %s (%s)\n", visible.Text(f.Name), digest)
	}
	if c.Digest == "" {
		b.WriteString("  There are too many files to check, so you cannot trust these values.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// shownDigest is the number of bytes of a file's digest that the user sees.
const shownDigest = len("sha256:") + 12

// jsonText returns a value as JSON on one line, with the keys of objects sorted.
func jsonText(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Claims returns the claims of all layers other than the user's own, trusted or not, with the
// current contents of the files.
func (s *Set) Claims() []Claim {
	claims := slices.Clone(s.claims)
	for i := range claims {
		claims[i].complete(s.trust.root, s.trust.files)
	}
	return claims
}

// Untrusted returns the claims that the user does not trust. If there are none, the user need not
// be asked.
func (s *Set) Untrusted() []Claim {
	return slices.DeleteFunc(s.Claims(), s.trust.answer.Covers)
}

// verdict contains the information from which a set decides whether a claim is trusted.
type verdict struct {
	root   string
	answer Answer
	files  *fileDigests
}

// trusts reports whether the user trusts a claim. If the answer depends on the contents of files,
// trusts completes the claim first. The digest covers exactly the values that take effect.
func (j *verdict) trusts(c *Claim) bool {
	if j.answer.Refused || j.answer.Trusted[c.Layer] == "" {
		return false
	}
	c.complete(j.root, j.files)
	return j.answer.Covers(*c)
}

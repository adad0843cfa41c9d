package config

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/visible"
)

// Claim is what a layer that is not the user's own sets in addition once the user trusts the
// workspace. The user trusts the contents of a claim, not the workspace: Digest covers every value
// and the text of every workspace file that the values name.
type Claim struct {
	Layer    string // the layer's kind
	Source   string // the path of the layer's file, if it has one
	Settings []Claimed
	Files    []ClaimedFile
	Runs     bool   // it is about a program that runs the files, not about settings
	Digest   string // "": the claim cannot be trusted, because it names too many files

	watch []string // names below the root whose change can change the digest
}

// Claimed is one value of a claim.
type Claimed struct {
	Path  string
	Value any // as JSON decodes it
}

// ClaimedFile is a file of the workspace whose text belongs to a claim.
type ClaimedFile struct {
	Name   string // relative to the root, with slashes
	Digest string
}

// Programs makes claims of programs that run files of a workspace. Safe for concurrent use.
type Programs struct{ files *fileDigests }

// NewPrograms returns Programs that have read no file yet.
func NewPrograms() *Programs { return &Programs{newFileDigests()} }

// Claim returns what a program runs of a folder, with the files as they are now. The names are of
// files, or of folders for their direct files.
func (p *Programs) Claim(root, layer string, settings []Claimed, names []string) Claim {
	c := Claim{Layer: layer, Settings: settings, Runs: true}
	if len(names) <= maxReferences {
		c.bind(root, set(names...), p.files)
	}
	return c
}

// complete finds the files of a claim and computes its digest.
func (c *Claim) complete(root string, files *fileDigests) {
	if names, ok := references(root, c.Settings); ok {
		c.bind(root, names, files)
	}
}

// bind computes the digest of a claim whose values refer to these names.
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

// Keys returns the paths of the values.
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
		b.WriteString("  There are too many files to check, so this cannot be trusted.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// shownDigest is how much of a file's digest the user sees, in bytes.
const shownDigest = len("sha256:") + 12

// jsonText is a value as JSON on one line, with the keys of objects in order.
func jsonText(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Claims returns what the layers that are not the user's own claim, trusted or not, with the files
// as they are now.
func (s *Set) Claims() []Claim {
	claims := slices.Clone(s.claims)
	for i := range claims {
		claims[i].complete(s.trust.root, s.trust.files)
	}
	return claims
}

// Untrusted returns the claims that the user does not trust. Empty: there is nothing to ask.
func (s *Set) Untrusted() []Claim {
	return slices.DeleteFunc(s.Claims(), s.trust.answer.Covers)
}

// verdict is what a set needs to know whether a claim is trusted.
type verdict struct {
	root   string
	answer Answer
	files  *fileDigests
}

// trusts reports whether the user trusts a claim, and completes it if that matters. The digest is
// that of the very values that take effect.
func (j *verdict) trusts(c *Claim) bool {
	if j.answer.Refused || j.answer.Trusted[c.Layer] == "" {
		return false
	}
	c.complete(j.root, j.files)
	return j.answer.Covers(*c)
}

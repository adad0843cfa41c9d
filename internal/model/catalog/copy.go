package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"charm.land/catwalk/pkg/catwalk"
	"charm.land/catwalk/pkg/embedded"
)

// copyFormat is the version of the format that Encode writes. It increases with every change that
// older versions cannot read.
const copyFormat = 1

// Copy is a copy of the catalog that is newer than the one in the binary. It does not change.
type Copy struct {
	Fetched time.Time
	ETag    string // ETag of the service's response
	// Models is the number of models.
	Models    int
	providers []catwalk.Provider
}

// copyFile is a Copy as it is stored.
type copyFile struct {
	Format    int                `json:"format"`
	Fetched   time.Time          `json:"fetched"`
	ETag      string             `json:"etag,omitempty"`
	Providers []catwalk.Provider `json:"providers"`
}

// NewCopy reads the response of a catwalk service at /v2/providers.
func NewCopy(answer []byte, etag string, fetched time.Time) (*Copy, error) {
	f := copyFile{Fetched: fetched, ETag: etag}
	if err := json.Unmarshal(answer, &f.Providers); err != nil {
		return nil, fmt.Errorf("reading the model catalog: %w", err)
	}
	return f.checked()
}

// Read decodes the result of Encode.
func Read(data []byte) (*Copy, error) {
	var f copyFile
	var version struct {
		Format int `json:"format"`
	}
	err := json.Unmarshal(data, &version)
	if err == nil && version.Format > copyFormat {
		return nil, errors.New("it was written by a newer version of agent-lsp")
	}
	if err == nil {
		err = json.Unmarshal(data, &f)
	}
	if err != nil {
		return nil, fmt.Errorf("it is damaged: %w", err)
	}
	return f.checked()
}

// checked returns an error for lists that cannot be a catalog, and omits entries that cannot be
// models.
func (f *copyFile) checked() (*Copy, error) {
	c := &Copy{Fetched: f.Fetched, ETag: f.ETag}
	for _, p := range f.Providers {
		p.Models = slices.DeleteFunc(slices.Clone(p.Models), func(m catwalk.Model) bool {
			return m.ID == "" || m.ContextWindow < 0 || m.DefaultMaxTokens < 0
		})
		if p.ID != "" && len(p.Models) > 0 {
			c.providers = append(c.providers, p)
			c.Models += len(p.Models)
		}
	}
	if c.Models == 0 {
		return nil, errors.New("it is damaged: it lists no models")
	}
	return c, nil
}

// Encode returns the copy as the content of a file.
func (c *Copy) Encode() ([]byte, error) {
	return json.Marshal(copyFile{copyFormat, c.Fetched, c.ETag, c.providers})
}

// Use makes later lookups use the copy. For providers that are not in the copy, they use the data
// in the binary. With nil, they use only the data in the binary.
func Use(c *Copy) {
	if c == nil {
		current.Store(builtin())
		return
	}
	list := slices.Clone(c.providers)
	for _, p := range embedded.GetAll() {
		has := func(q catwalk.Provider) bool { return q.ID == p.ID }
		if !slices.ContainsFunc(c.providers, has) {
			list = append(list, p)
		}
	}
	current.Store(newIndex(list))
}

package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"charm.land/catwalk/pkg/catwalk"
)

// copyFormat is the version of the format that Encode writes. It increases with every change that
// older versions cannot read.
const copyFormat = 1

// Copy is a copy of the catalog that a catwalk service returned. It is immutable.
type Copy struct {
	Fetched time.Time
	ETag    string // ETag of the service's response
	// Models is the number of models.
	Models int
	lists  []list
}

// copyFile is a Copy as it is stored.
type copyFile struct {
	Format  int       `json:"format"`
	Fetched time.Time `json:"fetched"`
	ETag    string    `json:"etag,omitempty"`
	Models  int       `json:"models"`
	Lists   string    `json:"lists"` // see catalog.format
}

// NewCopy reads the response of a catwalk service at /v2/providers. It skips entries that cannot be
// models.
func NewCopy(answer []byte, etag string, fetched time.Time) (*Copy, error) {
	var providers []catwalk.Provider
	if err := json.Unmarshal(answer, &providers); err != nil {
		return nil, fmt.Errorf("reading the model catalog: %w", err)
	}
	c := &Copy{Fetched: fetched, ETag: etag}
	for i := range providers {
		if l, n := listOf(&providers[i]); n > 0 && l.provider != "" {
			c.lists = append(c.lists, l)
			c.Models += n
		}
	}
	return c.checked()
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
	c := &Copy{Fetched: f.Fetched, ETag: f.ETag, Models: f.Models, lists: parse(f.Lists).lists}
	return c.checked()
}

// checked returns c, or an error if c contains no models.
func (c *Copy) checked() (*Copy, error) {
	if c.Models == 0 || len(c.lists) == 0 {
		return nil, errors.New("it is damaged: it lists no models")
	}
	return c, nil
}

// Encode returns the copy as the content of a file.
func (c *Copy) Encode() ([]byte, error) {
	return json.Marshal(copyFile{copyFormat, c.Fetched, c.ETag, c.Models,
		(&catalog{lists: c.lists}).format()})
}

// Use makes later lookups use the copy. For providers that are not in the copy, they use the data
// in the binary. With nil, they use only the data in the binary.
func Use(c *Copy) {
	if c == nil {
		current.Store(nil)
		return
	}
	lists := slices.Clone(c.lists)
	for _, l := range builtin().lists {
		has := func(fresh list) bool { return fresh.provider == l.provider }
		if !slices.ContainsFunc(c.lists, has) {
			lists = append(lists, l)
		}
	}
	current.Store(newCatalog(lists))
}

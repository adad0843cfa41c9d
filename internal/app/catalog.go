package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/adrg/xdg"

	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/filelock"
	"github.com/agent-lsp/agent-lsp/internal/model/catalog"
	modelhttp "github.com/agent-lsp/agent-lsp/internal/model/http"
)

const (
	// catalogService is the public service of catwalk, from which the catalog is fetched by
	// default.
	catalogService = "https://catwalk.charm.sh"
	catalogEvery   = 24 * time.Hour
	// catalogTimeout is the time limit of a refresh. maxCatalog is the maximum size of its response
	// in bytes.
	catalogTimeout = 30 * time.Second
	maxCatalog     = 8 << 20
)

// modelCatalog keeps the catalog of models up to date if the settings allow it. Several processes
// may share its files. It is safe for concurrent use.
type modelCatalog struct {
	// path is the file that contains the copy of the catalog. The modification time of path.checked
	// is the time of the last attempt.
	path string
	log  *slog.Logger // nil means that nothing is logged

	ctx  context.Context // canceled by close
	stop context.CancelFunc
	wait sync.WaitGroup

	mu      sync.Mutex
	on      bool      // whether the copy is in use
	running bool      // whether a refresh is running
	next    time.Time // time before which no refresh starts
}

func newModelCatalog(cache string, log *slog.Logger) *modelCatalog {
	k := &modelCatalog{path: filepath.Join(cache, "models.json"), log: log}
	k.ctx, k.stop = context.WithCancel(context.Background())
	return k
}

// CacheDir returns the folder in which agent-lsp stores data that it can fetch again.
func CacheDir(env []string) string {
	if dir := Lookup(env, "XDG_CACHE_HOME"); dir != "" {
		return filepath.Join(dir, "agent-lsp")
	}
	return filepath.Join(xdg.CacheHome, "agent-lsp")
}

// follow applies the settings for the catalog. It returns immediately, and reads and refreshes the
// copy in the background.
func (k *modelCatalog) follow(c *config.Config) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if !refreshes(c) {
		if k.on {
			k.on = false
			catalog.Use(nil)
		}
		return
	}
	if k.running || time.Now().Before(k.next) || k.ctx.Err() != nil {
		return
	}
	k.running = true
	k.wait.Go(func() {
		k.load(c)
		err := k.refresh(catalogURL(c))
		if err != nil && k.ctx.Err() == nil && k.log != nil {
			k.log.Warn("refreshing the model catalog: " + err.Error())
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.running, k.next = false, time.Now().Add(catalogEvery/24)
	})
}

// load makes lookups use the stored copy if the settings allow it and a copy exists.
func (k *modelCatalog) load(c *config.Config) {
	if !refreshes(c) {
		return
	}
	if stored, err := readCopy(k.path); err == nil {
		k.use(stored)
	}
}

func (k *modelCatalog) use(c *catalog.Copy) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.on = true
	catalog.Use(c)
}

func (k *modelCatalog) close() {
	k.stop()
	k.wait.Wait()
}

func refreshes(c *config.Config) bool { return c.Catalog != nil && c.Catalog.Refresh }

func catalogURL(c *config.Config) string { return firstOf(c.Catalog.URL, catalogService) }

func readCopy(path string) (*catalog.Copy, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return catalog.Read(data)
}

// refresh fetches a new copy unless the last attempt was less than a day ago.
func (k *modelCatalog) refresh(url string) error {
	stored, err := readCopy(k.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		stored = nil // the new copy replaces it
	}
	if mine, err := k.claim(); !mine || err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(k.ctx, catalogTimeout)
	defer cancel()
	client := modelhttp.New(modelhttp.Options{BaseURL: url})
	defer func() { _ = client.Close() }()
	header := http.Header{}
	if stored != nil && stored.ETag != "" {
		header.Set("If-None-Match", stored.ETag)
	}
	resp, body, err := client.Get(ctx, "/v2/providers", header, maxCatalog)
	switch {
	case err != nil:
		return err
	case resp.StatusCode == http.StatusNotModified:
		return nil
	case resp.StatusCode != http.StatusOK:
		return fmt.Errorf("%s answered %s", client.Host, resp.Status)
	}
	fresh, err := catalog.NewCopy(body, resp.Header.Get("ETag"), time.Now())
	if err != nil {
		return err
	}
	data, err := fresh.Encode()
	if err != nil {
		return err
	}
	if err := filelock.Replace(k.path, data); err != nil {
		return err
	}
	k.use(fresh)
	return nil
}

// claim reports whether a refresh is due, and if so records this process's attempt. The next
// attempt is made at least a day later, even if this one fails.
func (k *modelCatalog) claim() (due bool, err error) {
	checked := k.path + ".checked"
	err = filelock.With(checked, func() error {
		info, err := os.Stat(checked)
		if err == nil && time.Since(info.ModTime()).Abs() < catalogEvery {
			return nil
		}
		due = true
		return filelock.Replace(checked, nil)
	})
	return due, err
}

// DescribeCatalog describes which model catalog is used. It returns nil if the settings do not
// allow refreshing the catalog.
func DescribeCatalog(c *config.Config, env []string) []string {
	if !refreshes(c) {
		return nil
	}
	path := newModelCatalog(CacheDir(env), nil).path
	stored, err := readCopy(path)
	if errors.Is(err, fs.ErrNotExist) {
		return []string{"catalog: built-in; a daemon refreshes it from " + catalogURL(c)}
	}
	if err != nil {
		return []string{fmt.Sprintf("notice: the model catalog in %s is ignored: %v. Delete %s* "+
			"to fetch it again. Until then, the built-in catalog is used", path, err, path)}
	}
	return []string{fmt.Sprintf("catalog: %d models, fetched on %s from %s",
		stored.Models, stored.Fetched.Format(time.DateOnly), catalogURL(c))}
}

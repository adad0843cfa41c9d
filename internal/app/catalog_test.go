package app

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/config"
	"github.com/agent-lsp/agent-lsp/internal/model/catalog"
)

// catwalkService is a service whose catalog contains one model from the provider acme-house.
type catwalkService struct {
	*httptest.Server
	asked   atomic.Int32
	answer  atomic.Value // string
	hangs   chan struct{}
	started chan struct{}
}

func newCatwalk(t *testing.T) *catwalkService {
	s := &catwalkService{started: make(chan struct{}, 8)}
	s.answer.Store(`[{"id":"acme-house","models":[{"id":"acme-9","context_window":9000}]}]`)
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	t.Cleanup(func() { catalog.Use(nil) })
	return s
}

func (s *catwalkService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.asked.Add(1)
	s.started <- struct{}{}
	if s.hangs != nil {
		<-s.hangs
	}
	switch {
	case r.URL.Path != "/v2/providers" || r.Header.Get("Authorization") != "":
		w.WriteHeader(http.StatusTeapot)
	case r.Header.Get("If-None-Match") == `"one"`:
		w.WriteHeader(http.StatusNotModified)
	default:
		w.Header().Set("ETag", `"one"`)
		fmt.Fprint(w, s.answer.Load())
	}
}

func (s *catwalkService) settings() *config.Config {
	return &config.Config{Catalog: &config.Catalog{Refresh: true, URL: s.URL}}
}

// day sets the time of the last refresh attempt to one day ago.
func day(t *testing.T, k *modelCatalog) {
	t.Helper()
	old := time.Now().Add(-catalogEvery - time.Minute)
	if err := os.Chtimes(k.path+".checked", old, old); err != nil {
		t.Fatal(err)
	}
}

func acme() int { return catalog.Lookup("acme-house", "acme-9").Window }

// TestCatalogIsRefreshed checks that, of several processes, only one fetches the catalog, at most
// once a day and only if the settings allow it. The fetched catalog is used until the setting is
// turned off.
func TestCatalogIsRefreshed(t *testing.T) {
	s, dir := newCatwalk(t), t.TempDir()
	k := newModelCatalog(dir, nil)
	defer k.close()
	k.follow(&config.Config{})
	k.wait.Wait()
	if files, _ := os.ReadDir(dir); len(files) != 0 || s.asked.Load() != 0 {
		t.Fatalf("without the setting: %d files, %d requests", len(files), s.asked.Load())
	}
	for _, c := range []*modelCatalog{k, newModelCatalog(dir, nil)} {
		c.follow(s.settings())
		c.wait.Wait()
		c.follow(s.settings())
		c.wait.Wait()
		if acme() != 9000 || s.asked.Load() != 1 {
			t.Errorf("window %d after %d requests", acme(), s.asked.Load())
		}
	}
	day(t, k)
	if err := k.refresh(s.URL); err != nil || s.asked.Load() != 2 || acme() != 9000 {
		t.Errorf("unchanged after a day: %v, %d requests", err, s.asked.Load())
	}
	k.follow(&config.Config{})
	if acme() != 0 {
		t.Error("the copy is used after the setting was turned off")
	}
	k.load(s.settings())
	if acme() != 9000 {
		t.Error("the stored copy is not used")
	}
}

// A failed refresh does not change the stored copy of the catalog, and is retried a day later.
// Neither a prompt nor the shutdown of the daemon waits for a refresh.
func TestCatalogFailures(t *testing.T) {
	s := newCatwalk(t)
	k := newModelCatalog(t.TempDir(), nil)
	if err := k.refresh(s.URL); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(k.path)
	if err != nil {
		t.Fatal(err)
	}
	put := func(text string) {
		if err := os.WriteFile(k.path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for answer, want := range map[string]string{
		"<html>": "reading the model catalog", "[]": "lists no models",
		strings.Repeat(" ", maxCatalog+1): "is longer than",
	} {
		put(strings.ReplaceAll(string(before), `\"one\"`, "other"))
		s.answer.Store(answer)
		day(t, k)
		if err := k.refresh(s.URL); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.9s: %v, want %s", answer, err, want)
		}
		if err := k.refresh(s.URL); err != nil {
			t.Errorf("tried twice in a day: %v", err)
		}
		if stored, err := readCopy(k.path); err != nil || stored.Models != 1 {
			t.Errorf("%.9s: the catalog copy is now %+v, %v", answer, stored, err)
		}
	}
	day(t, k)
	s.hangs = make(chan struct{})
	defer close(s.hangs)
	for len(s.started) > 0 {
		<-s.started
	}
	k.follow(s.settings())
	<-s.started // the refresh now hangs
	k.follow(s.settings())
	k.close()
}

// TestDescribeCatalog checks what doctor reports about the catalog. A stored copy that is damaged,
// or that a newer version wrote, is not used.
func TestDescribeCatalog(t *testing.T) {
	s, cache := newCatwalk(t), t.TempDir()
	env := []string{"XDG_CACHE_HOME=" + cache}
	k := newModelCatalog(CacheDir(env), nil)
	defer k.close()
	says := func(want ...string) {
		t.Helper()
		got := strings.Join(DescribeCatalog(s.settings(), env), "\n")
		for _, part := range want {
			if !strings.Contains(got, part) {
				t.Errorf("doctor says %q, without %q", got, part)
			}
		}
	}
	if got := DescribeCatalog(&config.Config{}, env); got != nil {
		t.Errorf("without the setting doctor says %q", got)
	}
	says("catalog: built-in", s.URL)
	if err := k.refresh(s.URL); err != nil {
		t.Fatal(err)
	}
	says("catalog: 1 models, fetched on "+time.Now().Format(time.DateOnly), s.URL)
	for text, want := range map[string]string{
		`{"format":1,"providers":[{"id":"anth`: "it is damaged",
		`{"format":9,"providers":{}}`:          "a newer version of agent-lsp",
	} {
		catalog.Use(nil)
		path := filepath.Join(cache, "agent-lsp", "models.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		says("notice: ", path+" is ignored: ", want, "Delete ", "the built-in catalog is used")
		k.load(s.settings())
		if acme() != 0 || catalog.Lookup("openai", "gpt-4.1").Window == 0 {
			t.Errorf("%s: the built-in catalog is not used", text)
		}
	}
}

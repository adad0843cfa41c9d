package filelock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
)

func TestWithRunsOneAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "count")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				err := With(path, func() error {
					b, _ := os.ReadFile(path)
					n, _ := strconv.Atoi(string(b))
					return os.WriteFile(path, []byte(strconv.Itoa(n+1)), 0o600)
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if b, err := os.ReadFile(path); string(b) != "80" {
		t.Errorf("counted to %s (%v), want 80", b, err)
	}
}

func TestWithGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "file")
		enough := errors.New("enough")
		err := With(path, func() error {
			if err := With(path, func() error { return nil }); err == nil {
				t.Error("two callers held the lock at the same time")
			}
			return enough
		})
		if !errors.Is(err, enough) {
			t.Errorf("got %v, want what the function returned", err)
		}
		if err := With(path, func() error { return nil }); err != nil {
			t.Errorf("afterwards: %v", err)
		}
	})
}

func TestReadMap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "map.json")
	for _, c := range []struct{ content, want string }{{"", "map[]"}, {"null", "map[]"},
		{`{"a": 1}`, "map[a:1]"}} {
		if c.content != "" {
			if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := ReadMap[int](path)
		if err != nil || got == nil || fmt.Sprint(got) != c.want {
			t.Errorf("%q: %v, %v, want %s", c.content, got, err, c.want)
		}
	}
	if err := os.WriteFile(path, []byte("[]"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := ReadMap[int](path); err == nil {
		t.Errorf("a list: %v", got)
	}
}

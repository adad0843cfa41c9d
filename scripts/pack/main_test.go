package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Packing the same content gives the same bytes, regardless of file times and location.
func TestPackIsReproducible(t *testing.T) {
	for _, name := range []string{"a.tar.gz", "a.zip"} {
		var packed [2][]byte
		for i := range packed {
			dir := t.TempDir()
			for _, f := range []string{"release/bin/program", "release/README.md"} {
				path := filepath.Join(dir, f)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(f), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(path, time.Unix(int64(i)*1e8, 0),
					time.Unix(int64(i)*1e8, 0)); err != nil {
					t.Fatal(err)
				}
			}
			out := filepath.Join(dir, name)
			if err := pack(out, filepath.Join(dir, "release"), stamp("1700000000")); err != nil {
				t.Fatal(err)
			}
			packed[i], _ = os.ReadFile(out)
		}
		if len(packed[0]) == 0 || !bytes.Equal(packed[0], packed[1]) {
			t.Errorf("%s differs from one run to the next", name)
		}
	}
}

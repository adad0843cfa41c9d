// Command pack writes a folder as .tar.gz or .zip. The same content and time always result in the
// same bytes.
//
//	go run ./scripts/pack OUT FOLDER
//
// Names are sorted, owners are omitted, and times are SOURCE_DATE_EPOCH (or 1980, the first year
// that zip supports).
package main

import (
	"archive/tar"
	"archive/zip"
	"compress/flate"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// firstYear is the earliest time that a zip file can store.
var firstYear = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// entry adds a file to an archive.
type entry func(name string, mode fs.FileMode, data []byte) error

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: pack OUT FOLDER")
		os.Exit(2)
	}
	if err := pack(os.Args[1], os.Args[2], stamp(os.Getenv("SOURCE_DATE_EPOCH"))); err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}

func stamp(epoch string) time.Time {
	n, err := strconv.ParseInt(epoch, 10, 64)
	if t := time.Unix(n, 0).UTC(); err == nil && t.After(firstYear) {
		return t
	}
	return firstYear
}

func pack(out, folder string, at time.Time) error {
	f, err := os.Create(out)
	if err != nil {
		return err
	}
	write := tarball
	if strings.HasSuffix(out, ".zip") {
		write = zipped
	}
	if err := write(f, folder, at); err != nil {
		f.Close()
		return fmt.Errorf("writing %s: %w", out, err)
	}
	return f.Close()
}

// each calls add with every file below folder, in sorted order. Names begin with the folder's own
// name.
func each(folder string, add entry) error {
	return filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		name, err := filepath.Rel(filepath.Dir(folder), path)
		if err != nil {
			return err
		}
		return add(filepath.ToSlash(name), mode, data)
	})
}

func tarball(w io.Writer, folder string, at time.Time) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	t := tar.NewWriter(z)
	err = each(folder, func(name string, mode fs.FileMode, data []byte) error {
		h := &tar.Header{Name: name, Mode: int64(mode), Size: int64(len(data)), ModTime: at,
			Format: tar.FormatUSTAR}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		_, err := t.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	if err := t.Close(); err != nil {
		return err
	}
	return z.Close()
}

func zipped(w io.Writer, folder string, at time.Time) error {
	z := zip.NewWriter(w)
	z.RegisterCompressor(zip.Deflate,
		func(w io.Writer) (io.WriteCloser,
			error) {
			return flate.NewWriter(w, flate.BestCompression)
		})
	err := each(folder, func(name string, mode fs.FileMode, data []byte) error {
		h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: at}
		h.SetMode(mode)
		f, err := z.CreateHeader(h)
		if err != nil {
			return err
		}
		_, err = f.Write(data)
		return err
	})
	if err != nil {
		return err
	}
	return z.Close()
}

//go:build !unix

package search

import (
	"io"
	"os"
)

type rawFile struct{ f *os.File }

func openFile(path string) (rawFile, error) {
	f, err := os.Open(path)
	return rawFile{f}, err
}

// read returns 0 at the end of the file.
func (f rawFile) read(p []byte) (int, error) {
	n, err := f.f.Read(p)
	if err == io.EOF {
		err = nil
	}
	return n, err
}

func (f rawFile) close() { f.f.Close() }

func openFolder(path string) (*os.File, error) { return os.Open(path) }

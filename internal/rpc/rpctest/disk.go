package rpctest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ballast is the name of the file that fills a daemon's disk.
const ballast = "ballast"

// fill uses up all free space on the daemon's own disk.
func cmdFill(r *runner, _ string) error {
	if r.daemon.Disk == nil {
		return errors.New("this daemon has no disk of its own: name one in the section env")
	}
	f, err := os.Create(filepath.Join(r.daemon.Disk(), ballast))
	if err != nil {
		return err
	}
	block := make([]byte, 64<<10)
	for err = error(nil); err == nil; {
		_, err = f.Write(block)
	}
	if closed := f.Close(); closed != nil {
		return closed
	}
	if !diskFull(err) {
		return fmt.Errorf("filling the disk: %w", err)
	}
	return nil
}

// readonly FOLDER makes a folder in the script's temporary folder (home/…, ws/…) read-only for the
// next daemon. Without an argument, no folder is read-only.
func cmdReadOnly(r *runner, rest string) error {
	if r.readOnly = ""; rest != "" {
		r.readOnly = filepath.Join(r.dir, filepath.FromSlash(rest))
	}
	return nil
}

// room deletes the file that the command `fill` wrote.
func cmdRoom(r *runner, _ string) error {
	return os.Remove(filepath.Join(r.daemon.Disk(), ballast))
}

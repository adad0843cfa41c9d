//go:build amd64 || arm64

package launcher

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// tracked maps the path of each secret file that Git has stored in its current state to the file's
// index entry. A mask would not hide such files, because their content is in the repository, which
// the command can read. A mask would also break git diff, and tests that read their own keys.
type tracked map[string]entry

// entry is a file's record in Git's index.
type entry struct {
	ctime, mtime syscall.Timespec
	ino, size    uint32 // the low 32 bits
}

// unchanged reports whether Git has stored a file exactly as it is now.
func (t tracked) unchanged(path string) bool {
	known, ok := t[path]
	if !ok {
		return false
	}
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFREG {
		return false
	}
	return known == entry{
		ctime: st.Ctim,
		mtime: st.Mtim,
		ino:   uint32(st.Ino),
		size:  uint32(st.Size),
	}
}

// trackedIn reads the index of the repository that contains a folder.
func trackedIn(root string) tracked {
	for dir := root; ; dir = filepath.Dir(dir) {
		if index := indexOf(filepath.Join(dir, ".git")); index != "" {
			return readIndex(index, dir)
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}

// indexOf returns the path of the index in a .git folder, or in the folder that a .git file names.
// It returns "" if there is none.
func indexOf(git string) string {
	fi, err := os.Stat(git)
	if err != nil {
		return ""
	}
	if !fi.IsDir() {
		data, err := os.ReadFile(git)
		name, ok := strings.CutPrefix(strings.TrimSpace(string(data)), "gitdir: ")
		if err != nil || !ok {
			return ""
		}
		if git = name; !filepath.IsAbs(name) {
			git = filepath.Join(filepath.Dir(git), name)
		}
	}
	return filepath.Join(git, "index")
}

const (
	indexHeader = 12          // bytes: signature, version, number of entries
	indexStat   = 40          // bytes of an entry before the object's name
	indexFixed  = 40 + 20 + 2 // including the object's name (SHA-1) and the flags
	extended    = 0x4000      // flag: two more bytes of flags follow
	largeIndex  = 256 << 20
)

// readIndex returns the secret files of an index. It skips entries that it cannot read, so these
// files are masked. It also skips a file that changed within the same clock tick in which the index
// was written.
func readIndex(path, top string) tracked {
	var st syscall.Stat_t
	if err := syscall.Stat(path, &st); err != nil || st.Size > largeIndex {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil || len(data) < indexHeader || string(data[:4]) != "DIRC" {
		return nil
	}
	version, out := binary.BigEndian.Uint32(data[4:]), tracked{}
	rest, before := data[indexHeader:], ""
	for range binary.BigEndian.Uint32(data[8:]) {
		e, name, size := indexEntry(rest, version, before)
		if size == 0 {
			break
		}
		if Secret(name) && older(e.mtime, st.Mtim) {
			out[filepath.Join(top, name)] = e
		}
		rest, before = rest[size:], name
	}
	return out
}

func older(a, b syscall.Timespec) bool { return a.Nano() < b.Nano() }

// indexEntry reads the first entry and returns its size, or 0 if there is none.
func indexEntry(data []byte, version uint32, before string) (e entry, name string, size int) {
	if len(data) < indexFixed+2 {
		return e, "", 0
	}
	word := func(i int) uint32 { return binary.BigEndian.Uint32(data[4*i:]) }
	e.ctime = syscall.Timespec{Sec: int64(word(0)), Nsec: int64(word(1))}
	e.mtime = syscall.Timespec{Sec: int64(word(2)), Nsec: int64(word(3))}
	e.ino, e.size = word(5), word(9)
	at := indexFixed
	if version >= 3 && binary.BigEndian.Uint16(data[indexFixed-2:])&extended != 0 {
		at += 2
	}
	kept := 0
	if version >= 4 { // a name is stored as its difference from the previous one
		drop, n := varint(data[at:])
		if n == 0 || drop > len(before) {
			return e, "", 0
		}
		at, kept = at+n, len(before)-drop
	}
	end := bytes.IndexByte(data[at:], 0)
	if end < 0 {
		return e, "", 0
	}
	name = before[:kept] + string(data[at:at+end])
	size = at + end + 1
	if version < 4 {
		size = (at + end + 8) &^ 7 // padded with 1 to 8 zero bytes
	}
	if size > len(data) {
		return e, "", 0
	}
	return e, name, size
}

// varint reads the variable-width number of version 4 of Git's index.
func varint(data []byte) (value, n int) {
	for i, b := range data {
		if i > 4 {
			return 0, 0
		}
		if i > 0 {
			value++
		}
		value = value<<7 | int(b&0x7f)
		if b&0x80 == 0 {
			return value, i + 1
		}
	}
	return 0, 0
}

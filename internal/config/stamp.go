package config

import (
	"io/fs"
	"os"
	"reflect"
	"time"
)

// stamp distinguishes two states of a file. A program can set the time of the last change of the
// text as it likes, but not changed, where the system has it.
type stamp struct {
	size    int64
	time    time.Time
	changed time.Time // of the text, the name or the permissions; zero: the system does not say
	id      uint64
}

// racyTime is how long the clock of a file system may stand still.
const racyTime = 2 * time.Second

// racy reports whether the file may change again without a change of its stamp.
func (s stamp) racy() bool {
	last := s.time
	if s.changed.After(last) {
		last = s.changed
	}
	return time.Since(last) < racyTime
}

func stampOf(info fs.FileInfo) stamp {
	s := stamp{size: info.Size(), time: info.ModTime()}
	s.changed, s.id = identity(info)
	return s
}

// identity returns when a file's status changed, and its number, where the system has them. They
// are found by name, because macOS names the time differently from Linux.
func identity(info fs.FileInfo) (changed time.Time, id uint64) {
	st := reflect.Indirect(reflect.ValueOf(info.Sys()))
	if st.Kind() != reflect.Struct {
		return time.Time{}, 0
	}
	if n := st.FieldByName("Ino"); n.IsValid() && n.CanUint() {
		id = n.Uint()
	}
	for _, name := range []string{"Ctim", "Ctimespec"} {
		if at := st.FieldByName(name); at.IsValid() && at.CanAddr() {
			if at, ok := at.Addr().Interface().(interface{ Unix() (sec, nsec int64) }); ok {
				changed = time.Unix(at.Unix())
			}
		}
	}
	return changed, id
}

// stampAt is the stamp of what a path leads to; zero if there is nothing.
func stampAt(path string) stamp {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}
	}
	return stampOf(info)
}

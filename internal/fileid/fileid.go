// Package fileid identifies a file on all systems.
package fileid

import (
	"io/fs"
	"reflect"
	"time"
)

// ID contains what the system says about a file apart from its name and content. A field is zero if
// the system does not have it, as on Windows. IDs can be compared.
type ID struct {
	Device, Inode uint64
	// Changed is the time of the last change of the content, the names or the permissions. Programs
	// cannot set this time.
	Changed time.Time
}

// Of returns the ID of the file that info describes. It finds the fields by name, because macOS and
// Linux use different names and types.
func Of(info fs.FileInfo) (id ID) {
	st := reflect.Indirect(reflect.ValueOf(info.Sys()))
	if st.Kind() != reflect.Struct {
		return id
	}
	id.Device, id.Inode = number(st.FieldByName("Dev")), number(st.FieldByName("Ino"))
	for _, name := range []string{"Ctim", "Ctimespec"} {
		if at := st.FieldByName(name); at.IsValid() && at.CanAddr() {
			if at, ok := at.Addr().Interface().(interface{ Unix() (sec, nsec int64) }); ok {
				id.Changed = time.Unix(at.Unix())
			}
		}
	}
	return id
}

func number(v reflect.Value) uint64 {
	switch {
	case !v.IsValid():
		return 0
	case v.CanUint():
		return v.Uint()
	case v.CanInt():
		return uint64(v.Int())
	}
	return 0
}

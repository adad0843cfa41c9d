package launcher

// This machine has the newer forms only.
func (f *filter) legacy() {}

func modern(nr int32, a [6]uint64) (int32, [6]uint64) { return nr, a }

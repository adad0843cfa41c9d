package launcher

// This architecture has only the newer forms.
func (f *filter) legacy() {}

func (f *filter) legacyModes() {}

func modern(nr int32, a [6]uint64) (int32, [6]uint64) { return nr, a }

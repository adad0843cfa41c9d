package config

import (
	"encoding/json"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
)

// Live manages the settings of one connection: files, environment, the client's settings, and the
// settings of each session. It reads changed files again before it returns settings. It is safe for
// concurrent use.
type Live struct {
	mu       sync.Mutex
	src      Sources
	init     json.RawMessage
	client   json.RawMessage
	stamps   []stamp
	set      *Set
	reported *Set // the settings that the last call of Changed or ClientChanged returned
}

// NewLive reads the lower layers. init is the client's initializationOptions, or nil.
func NewLive(src Sources, init json.RawMessage) *Live {
	src.files = newFileDigests()
	l := &Live{src: src, init: init}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reload()
	l.reported = l.set
	return l
}

func (l *Live) reload() {
	before := l.stat()
	l.set = Load(l.src)
	if l.init != nil {
		l.set = l.set.With(Initialization, l.init)
	}
	if l.client != nil {
		l.set = l.set.With(ClientConfig, l.client)
	}
	// Use the stamps from before the read, so that a file that changes during the read is later
	// detected as changed.
	l.stamps = append(before, l.statTrusted()...)
}

// stat returns the stamps of the settings files.
func (l *Live) stat() []stamp {
	stamps := []stamp{stampAt(l.src.UserFile), {}, {}}
	if l.src.Root != "" {
		stamps[1] = stampAt(filepath.Join(l.src.Root, WorkspaceName))
	}
	if l.src.Trust != nil {
		stamps[2] = stampAt(l.src.Trust.path)
	}
	return stamps
}

// statTrusted returns the stamps of the files whose changes can revoke the trust in the workspace.
func (l *Live) statTrusted() (stamps []stamp) {
	for i := range l.set.claims {
		for _, name := range l.set.claims[i].watch {
			stamps = append(stamps, stampAt(filepath.Join(l.src.Root, filepath.FromSlash(name))))
		}
	}
	return stamps
}

// changed reports whether a file may have changed since it was read. The stamp of a file that was
// written a moment ago is not reliable. For such a file, changed returns true only if the user's
// trust depends on the contents of files.
func (l *Live) changed() bool {
	now := append(l.stat(), l.statTrusted()...)
	if !slices.Equal(now, l.stamps) {
		return true
	}
	depends := slices.ContainsFunc(l.set.claims, func(c Claim) bool { return len(c.watch) > 0 })
	return depends && slices.ContainsFunc(now[1:], stamp.racy)
}

// Set returns the current settings without the sessions' own layers.
func (l *Live) Set() *Set {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed() {
		l.reload()
	}
	return l.set
}

// Changed returns the same Set as the method Set, and whether its effect has changed since the last
// call of Changed or ClientChanged.
func (l *Live) Changed() (set *Set, news bool) {
	set = l.Set()
	l.mu.Lock()
	defer l.mu.Unlock()
	news = set != l.reported &&
		!(slices.Equal(set.held, l.reported.held) && reflect.DeepEqual(set.tree, l.reported.tree))
	l.reported = set
	return set, news
}

// Session returns the settings in force for a session with its own config (nil if there is none),
// and notices for the user. The error names the keys of the session's config that have a wrong
// type.
func (l *Live) Session(own json.RawMessage) (Config, []string, error) {
	base := l.Set()
	set := base
	if len(own) > 0 {
		set = base.With(Session, own)
	}
	var notices []string
	var wrong []error
	for _, n := range set.Notices() {
		switch {
		case n.Layer == Session.String() && n.Invalid:
			wrong = append(wrong, errors.New(n.short()))
		// The notices about the client's settings were sent when the settings arrived.
		case n.Layer != ClientConfig.String():
			notices = append(notices, n.String())
		}
	}
	return *set.Config(), notices, errors.Join(wrong...)
}

// Storable returns the part of a session's own config that is stored. It omits the keys that a
// session cannot set.
func (l *Live) Storable(own json.RawMessage) json.RawMessage { return storable(own) }

// Merge applies changes to a session's own config. A null value removes a key.
func (l *Live) Merge(own, changes json.RawMessage) (json.RawMessage, error) {
	return Patch(own, changes)
}

// ClientChanged applies the section agentLsp of workspace/didChangeConfiguration.
func (l *Live) ClientChanged(section json.RawMessage) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.client = section
	l.reload()
	l.reported = l.set
	var notices []string
	for _, n := range l.set.Notices() {
		if n.Layer == ClientConfig.String() {
			notices = append(notices, n.String())
		}
	}
	return notices, nil
}

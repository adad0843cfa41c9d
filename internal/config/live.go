package config

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Live is the settings of one connection: files and environment, what the client said, and for
// each session its own. Files that changed are read again when a session asks. Safe for
// concurrent use.
type Live struct {
	mu     sync.Mutex
	src    Sources
	init   json.RawMessage
	client json.RawMessage
	stamps [2]stamp
	set    *Set
}

// stamp tells one state of a file from another.
type stamp struct {
	size int64
	time time.Time
}

// NewLive reads the lower layers; init is the client's initializationOptions, nil for none.
func NewLive(src Sources, init json.RawMessage) *Live {
	l := &Live{src: src, init: init}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.reload()
	return l
}

func (l *Live) reload() {
	l.stamps = l.stat()
	l.set = Load(l.src)
	if l.init != nil {
		l.set = l.set.With(Initialization, l.init)
	}
	if l.client != nil {
		l.set = l.set.With(ClientConfig, l.client)
	}
}

func (l *Live) stat() (stamps [2]stamp) {
	for i, path := range [2]string{l.src.UserFile, filepath.Join(l.src.Root, WorkspaceName)} {
		if info, err := os.Stat(path); err == nil && (i == 0 || l.src.Root != "") {
			stamps[i] = stamp{info.Size(), info.ModTime()}
		}
	}
	return stamps
}

// Set returns the layers below the sessions' as they are now.
func (l *Live) Set() *Set {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stat() != l.stamps {
		l.reload()
	}
	return l.set
}

// Trust puts the user's answer about the workspace into effect.
func (l *Live) Trust(trusted bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.src.Trusted = trusted
	l.reload()
}

// Session returns the settings in force for a session whose own config is given (nil: none),
// with what the user should know. The error names a key of the own config that has a wrong type.
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
		case n.Layer != ClientConfig.String(): // those were told when they came
			notices = append(notices, n.String())
		}
	}
	return *set.Config(), notices, errors.Join(wrong...)
}

// Merge lays changes over a session's own config; null takes a key away.
func (l *Live) Merge(own, changes json.RawMessage) (json.RawMessage, error) {
	return Patch(own, changes)
}

// ClientChanged takes over the section agentLsp of workspace/didChangeConfiguration.
func (l *Live) ClientChanged(section json.RawMessage) ([]string, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.client = section
	l.reload()
	var notices []string
	for _, n := range l.set.Notices() {
		if n.Layer == ClientConfig.String() {
			notices = append(notices, n.String())
		}
	}
	return notices, nil
}

package session

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// titled creates a closed session with one prompt.
func titled(t *testing.T, l *Library, prompt string) string {
	t.Helper()
	s := create(t, l)
	m := msg("u1", message.RoleUser, prompt)
	m.Time = l.now()
	must(t, s.Append(messageRecord(m)))
	must(t, s.Close())
	return s.ID()
}

// titles lists sessions and returns their titles and the cursor of the next page.
func titles(t *testing.T, l *Library, q Query) (string, string) {
	t.Helper()
	list, next, err := l.List(q)
	must(t, err)
	var out []string
	for _, e := range list {
		out = append(out, e.Title)
	}
	return strings.Join(out, " "), next
}

func wantTitles(t *testing.T, l *Library, q Query, want string) {
	t.Helper()
	if got, _ := titles(t, l, q); got != want {
		t.Errorf("%+v: %q, want %q", q, got, want)
	}
}

// change loads a closed session, calls do with it, and closes it again.
func change(t *testing.T, l *Library, id string, do func(*Session) error) {
	t.Helper()
	s := load(t, l, id).Session
	must(t, do(s))
	must(t, s.Close())
}

func TestListNewestFirst(t *testing.T) {
	l := newLibrary(t)
	wantTitles(t, Open(filepath.Join(l.dir, "none")), Query{}, "")
	ids := map[string]string{}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		ids[name] = titled(t, l, name)
	}
	wantTitles(t, l, Query{}, "e d c b a")
	change(t, l, ids["b"], func(s *Session) error { return s.SetTitle("B") })
	wantTitles(t, l, Query{}, "B e d c a")
	change(t, l, ids["d"], func(s *Session) error { return s.SetArchived(true) })
	wantTitles(t, l, Query{}, "B e c a")
	wantTitles(t, l, Query{Archived: true}, "d")
	must(t, l.Delete(ids["c"]))
	wantTitles(t, l, Query{}, "B e a")
	if _, err := os.Stat(l.indexPath(ids["c"])); err == nil {
		t.Error("the index of a deleted session still exists")
	}
	first, next := titles(t, l, Query{Limit: 2})
	rest, end := titles(t, l, Query{Limit: 2, Cursor: next})
	if first != "B e" || rest != "a" || end != "" {
		t.Errorf("pages %q, %q, cursor at the end %q", first, rest, end)
	}
	if _, _, err := l.List(Query{Cursor: "x"}); err == nil {
		t.Error("a wrong cursor was accepted")
	}
}

// An index is replaced if it is missing, out of date or damaged, or if it belongs to another
// session.
func TestStaleIndex(t *testing.T) {
	l := newLibrary(t)
	s := create(t, l)
	story(t, s)
	must(t, s.Append(messageRecord(msg("u2", message.RoleUser, "more"))))
	crash(s)
	want := s.Entry()
	s.log.entry.Bytes = want.Bytes
	for name, spoil := range map[string]func(path string) error{
		"old":     func(string) error { return nil },
		"missing": os.Remove,
		"damaged": func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
		"foreign": func(path string) error {
			return l.writeIndexAs(path,
				Entry{Meta: Meta{ID: "x"}, Bytes: 10})
		},
		"too big": func(path string) error {
			return l.writeIndexAs(path,
				Entry{Meta: Meta{ID: s.ID()}, Bytes: 1e9})
		},
		"torn": func(path string) error { return tear(path) },
	} {
		must(t, l.writeIndex(s.log.entry))
		must(t, spoil(l.indexPath(s.ID())))
		e, err := OpenWith(l.dir, Options{}).Entry(s.ID())
		must(t, err)
		if e.Title != want.Title || e.Messages != want.Messages || e.Usage != want.Usage ||
			!e.UpdatedAt.Equal(want.UpdatedAt) || e.Bytes != want.Bytes {
			t.Errorf("%s: %+v, want %+v", name, e, want)
		}
	}
}

func TestSearchTitlesAndMessages(t *testing.T) {
	l := newLibrary(t)
	titled(t, l, "Größe \"ändern\"\nund <mehr>")
	s := create(t, l)
	story(t, s)
	must(t, s.Close())
	for query, want := range map[string]string{
		"GRÖSSE": "", "größe": `Größe "ändern" und <mehr>`, `"ändern"` +
			"\nund <MEHR>": `Größe "ändern" und <mehr>`,
		"main.go": "fix <the> bug please", "looking": "fix <the> bug please", "message": "",
		"nowhere": "",
	} {
		wantTitles(t, l, Query{Text: query}, want)
	}
}

func TestTitle(t *testing.T) {
	for prompt, want := range map[string]string{
		"  fix\n\tthe bug ":          "fix the bug",
		strings.Repeat("wörd ", 100): strings.Repeat("wörd ", 15) + "wörd…", "": "",
		strings.Repeat("x", 9999): strings.Repeat("x", 79) + "…",
	} {
		if got := ShortTitle(prompt); got != want {
			t.Errorf("%.20q: %q, want %q", prompt, got, want)
		}
	}
}

// TestGCLeavesBeginning runs GC while sessions are being created. GC must keep a session whose
// header has not been written yet, whether this or another process is creating the session.
func TestGCLeavesBeginning(t *testing.T) {
	dir := t.TempDir()
	l := OpenWith(dir, Options{})
	defer l.Close()
	if err := os.WriteFile(l.logPath("begun-elsewhere"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	stop, swept := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			gone, err := l.GC(Retention{MaxAge: 24 * time.Hour})
			if err != nil || len(gone) > 0 {
				swept <- fmt.Errorf("collected %v: %w", gone, err)
				return
			}
			select {
			case <-stop:
				swept <- nil
				return
			default:
			}
		}
	}()
	for range 200 {
		s, err := l.Create(Meta{})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	close(stop)
	if err := <-swept; err != nil {
		t.Fatal(err)
	}
}

func TestGC(t *testing.T) {
	l := newLibrary(t)
	var ids []string
	for i := range 6 {
		ids = append(ids, titled(t, l, fmt.Sprint(i)))
	}
	open := load(t, l, ids[0])
	e, err := l.Entry(ids[5])
	must(t, err)
	gone, err := l.GC(Retention{MaxBytes: 4 * e.Bytes})
	must(t, err)
	if len(gone) != 1 || gone[0] != ids[1] { // session 0 is open, so GC keeps it
		t.Errorf("by size: %v of %v", gone, ids)
	}
	gone, err = l.GC(Retention{MaxAge: l.now().Sub(e.UpdatedAt) + 3*time.Second/2})
	must(t, err)
	wantTitles(t, l, Query{}, "5 0")
	if len(gone) != 3 {
		t.Errorf("by age: %v", gone)
	}
	wantOutline(t, load(t, l, ids[0]), "u:0")
	kept := Retention{MaxBytes: 1, Keep: l.InUse()}
	must(t, open.Session.Close())
	if gone, err := l.GC(kept); err != nil || len(gone) != 1 || gone[0] != ids[5] {
		t.Errorf("closed after the sweep was requested: %v of %v, %v", gone, ids, err)
	}
	if gone, err := l.GC(Retention{}); err != nil || len(gone) != 0 {
		t.Errorf("without limits: %v, %v", gone, err)
	}
}

func TestFork(t *testing.T) {
	l := newLibrary(t)
	s := create(t, l)
	story(t, s)
	must(t, s.Append(agent.Record{Type: agent.RecordCompaction,
		Commit: &agent.Commit{Through: "r1", Strategy: "x"}}))
	for _, c := range []struct {
		at     string
		before bool
		want   string
		items  int
	}{
		{"", false, storyOutline, 3},
		{"u1", false, "u:fix <the> bug\nplease", 1},
		{"u1", true, "", 0},
		{"i2", false, "u:fix <the> bug\nplease a:looking t:main.go", 2}, // keeps its result
		{"i3", true, "u:fix <the> bug\nplease a:looking t:main.go", 2},
	} {
		fork, err := l.Fork(s.ID(), c.at, c.before)
		must(t, err)
		in := load(t, l, fork.ID())
		wantOutline(t, in, c.want)
		items, err := fork.Items(0)
		must(t, err)
		if len(items) != c.items || len(items) > 0 &&
			(items[0].Seq != 1 || items[0].Item.Text != "fix <the> bug\nplease") {
			t.Errorf("fork at %q: items %+v", c.at, items)
		}
		if in.Entry.ForkOf != s.ID() || in.Entry.Title != "fix <the> bug please" ||
			string(in.Config) != `{"model":"m1"}` {
			t.Errorf("fork at %q: %+v", c.at, in)
		}
		if want := c.items >= 2; (len(in.Commits) == 1) != want {
			t.Errorf("fork at %q: commits %v", c.at, in.Commits)
		}
	}
	if _, err := l.Fork(s.ID(), "nope", false); err == nil {
		t.Error("forked at an item that does not exist")
	}
	wantOutline(t, load(t, l, s.ID()), storyOutline)
}

// writeIndexAs writes e as the index at path, which belongs to another session.
func (l *Library) writeIndexAs(path string, e Entry) error {
	if err := l.writeIndex(e); err != nil {
		return err
	}
	return os.Rename(l.indexPath(e.ID), path)
}

// tear damages an index by changing a digit in its middle.
func tear(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(strings.Replace(string(b), `"total":15`, `"total":16`, 1)),
		0o600)
}

// GC removes an old empty log, but not a new one, because another process may be creating that
// session.
func TestGCLeavesWhatIsBeingMade(t *testing.T) {
	l := Open(t.TempDir())
	made, old := filepath.Join(l.dir, "made"+logSuffix), filepath.Join(l.dir, "abandoned"+logSuffix)
	for _, path := range []string{made, old} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-48 * time.Hour)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	gone, err := l.GC(Retention{MaxAge: time.Hour})
	if err != nil || len(gone) != 1 || gone[0] != "abandoned" {
		t.Errorf("%v %v", gone, err)
	}
	if _, err := os.Stat(made); err != nil {
		t.Error(err)
	}
}

// Each workspace has its own folder for sessions. The folder's name depends on the workspace's
// whole path.
func TestFolderOfAWorkspace(t *testing.T) {
	seen := map[string]string{}
	for _, root := range []string{"/home/a/work", "/home/b/work", "/home/a/work/sub", "/",
		"/home/a/wörk", "/home/a/" + strings.Repeat("long", 100)} {
		dir := Dir("/state", root)
		if other, ok := seen[dir]; ok {
			t.Errorf("%s and %s share %s", root, other, dir)
		}
		seen[dir] = root
		if again := Dir("/state", root+"/."); again != dir ||
			filepath.Dir(dir) != filepath.Join("/state", "sessions") ||
			len(filepath.Base(dir)) > 60 {
			t.Errorf("%s: %s, with another spelling %s", root, dir, again)
		}
	}
}

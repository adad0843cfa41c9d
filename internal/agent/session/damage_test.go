package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("error %v, want %v", err, want)
	}
}

// stored returns the content of the log that story writes.
func stored(t testing.TB) []byte {
	t.Helper()
	l := newLibrary(t)
	s := create(t, l)
	story(t, s)
	must(t, s.Close())
	data, err := os.ReadFile(l.logPath(s.ID()))
	must(t, err)
	return data
}

// put writes data to a new file. It removes an existing file instead of truncating it, because
// truncation waits for the disk on some file systems.
func put(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	must(t, os.WriteFile(path, data, 0o600))
}

// place creates a library that contains one log with the given data.
func place(t testing.TB, data []byte) *Library {
	l := newLibrary(t)
	put(t, l.logPath("s1"), data)
	return l
}

// A log may be cut off at any byte. Loading it either succeeds or returns an error with the reason.
// If the log loads, records can be appended to it.
func TestCutAtEachByte(t *testing.T) {
	data := stored(t)
	l := newLibrary(t)
	first := strings.IndexByte(string(data), '\n')
	for n := range len(data) + 1 {
		put(t, l.logPath("s1"), data[:n])
		in, err := l.Load("s1")
		if err != nil {
			if n >= first {
				t.Fatalf("cut at %d: %v", n, err)
			}
			continue
		}
		cut := data[n-1] != '\n' && !json.Valid(data[strings.LastIndexByte(string(data[:n]), '\n')+
			1:n])
		if got := len(in.Problems) == 1; got != cut {
			t.Fatalf("cut at %d: problems %v", n, in.Problems)
		}
		if n%32 != 0 && data[n-1] != '\n' && (n == len(data) || data[n] != '\n') {
			must(t, in.Session.Close())
			continue // test appending only at the end of each line and at a few other offsets
		}
		must(t, in.Session.Append(messageRecord(msg("u9", message.RoleUser, "on"))))
		must(t, in.Session.Close())
		in = load(t, l, "s1")
		if got := outline(in.Messages); !strings.HasSuffix(got, "u:on") || len(in.Problems) != 0 {
			t.Fatalf("cut at %d, then appended to: %s, %v", n, got, in.Problems)
		}
		must(t, l.Delete("s1"))
	}
}

func TestDamagedMiddle(t *testing.T) {
	lines := strings.SplitAfter(string(stored(t)), "\n")
	for i := range lines[:len(lines)-1] {
		for _, junk := range []string{"\x00\x00\x00\n", "{\"type\":\"message\"}\n", "42\n",
			"{\"role\":\"user\",\"content\":\"hi\"}\n", "<html>\n"} {
			bad := append(append(append([]string{}, lines[:i]...), junk), lines[i+1:]...)
			l := place(t, []byte(strings.Join(bad, "")))
			in := load(t, l, "s1")
			if len(in.Problems) == 0 || in.Problems[0].Line != i+1 {
				t.Errorf("line %d is %q: problems %v", i+1, junk, in.Problems)
			}
			checkPaired(t, in.Messages)
			must(t, in.Session.Append(messageRecord(msg("u9", message.RoleUser, "on"))))
			l.Close()
		}
	}
}

// checkPaired checks that every call is immediately followed by its one result, in order.
func checkPaired(t testing.TB, ms []*message.Message) {
	t.Helper()
	for i := 0; i < len(ms); i++ {
		if ms[i].Role == message.RoleTool {
			t.Fatalf("message %d is a result without a call", i)
		}
		for _, c := range ms[i].ToolCalls() {
			if i++; i >= len(ms) || ms[i].CallID != c.ID {
				t.Fatalf("call %s is not immediately followed by a result", c.ID)
			}
		}
	}
}

func TestNewerVersion(t *testing.T) {
	l := place(t, []byte(`{"type":"session","data":{"version":99,"id":"s1",`+
		`"createdAt":"2026-03-01T12:00:00Z"}}`+"\n"))
	_, err := l.Load("s1")
	wantErr(t, err, ErrNewer)
}

func TestMigration(t *testing.T) {
	migrations[0] = func(line []byte) ([]byte, error) {
		return []byte(strings.Replace(string(line), `"kind":`, `"type":`, 1)), nil
	}
	defer delete(migrations, 0)
	l := place(t, []byte(`{"type":"session","data":{"version":0,"id":"s1",`+
		`"createdAt":"2026-03-01T12:00:00Z"}}
{"kind":"message","message":{"id":"u1","role":"user","content":[{"type":"text","text":"old"}]}}
`))
	wantOutline(t, load(t, l, "s1"), "u:old")
}

func TestUnknownAndOddIDs(t *testing.T) {
	l := newLibrary(t)
	for _, id := range []string{"nope", "", "../x", "a/b", strings.Repeat("x", 99), ".hidden"} {
		_, err := l.Load(id)
		wantErr(t, err, ErrUnknown)
		wantErr(t, l.Delete(id), ErrUnknown)
		_, err = l.Entry(id)
		wantErr(t, err, ErrUnknown)
	}
}

func TestFullLog(t *testing.T) {
	l := OpenWith(t.TempDir(), Options{now: clock(), maxBytes: 2000})
	s := create(t, l)
	defer s.Close()
	wantErr(t, s.Append(messageRecord(msg("u1", message.RoleUser, strings.Repeat("x", 3000)))),
		ErrFull)
	must(t, s.Append(messageRecord(msg("u2", message.RoleUser, "small"))))
	wantOutline(t, load(t, l, s.ID()), "u:small")
}

func TestReadOnlyFolder(t *testing.T) {
	l := newLibrary(t)
	s := create(t, l)
	story(t, s)
	must(t, s.Close())
	must(t, os.Remove(l.indexPath(s.ID())))
	must(t, os.Chmod(l.logPath(s.ID()), 0o400))
	must(t, os.Chmod(l.dir, 0o500))
	t.Cleanup(func() { os.Chmod(l.dir, 0o700) })
	in := load(t, l, s.ID())
	wantOutline(t, in, storyOutline)
	if list, _, err := l.List(Query{}); err != nil || len(list) != 1 {
		t.Errorf("list: %v, %v", list, err)
	}
	if os.Geteuid() == 0 {
		return // root can write to read-only files
	}
	wantErr(t, in.Session.SetTitle("x"), os.ErrPermission)
	if _, err := l.Create(Meta{}); !errors.Is(err, os.ErrPermission) {
		t.Errorf("creating in a read-only folder: %v", err)
	}
}

// If the path of the library's folder is a file, Create and List return an error.
func TestFolderIsAFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "f")
	must(t, os.WriteFile(dir, nil, 0o600))
	l := Open(dir)
	if _, err := l.Create(Meta{}); err == nil {
		t.Error("created a session in a file")
	}
	if _, _, err := l.List(Query{}); err == nil {
		t.Error("listed a file")
	}
}

func TestSecretsAreNotStored(t *testing.T) {
	const secret = `sk-live-"1234`
	redact := func(b []byte) []byte {
		return []byte(strings.ReplaceAll(string(b), "sk-live",
			`[red"acted]`))
	}
	l := OpenWith(t.TempDir(), Options{now: clock(), Redact: redact})
	s := create(t, l)
	must(t, s.Append(messageRecord(msg("u1", message.RoleUser, "my key is "+secret))))
	must(t, s.SetTitle("about "+secret))
	s.AddItem(Item{Seq: s.NextSeq(), Item: agentItem("u1", "my key is "+secret)})
	must(t, s.Close())
	files, _ := filepath.Glob(l.dir + "/*")
	for _, f := range files {
		if b, _ := os.ReadFile(f); strings.Contains(string(b), "sk-live") {
			t.Errorf("%s holds the key: %s", filepath.Base(f), b)
		}
	}
	in := load(t, l, s.ID())
	wantOutline(t, in, `u:my key is [red"acted]-"1234`)
	if len(files) != 2 || len(in.Problems) > 0 {
		t.Errorf("files %v, problems %v", files, in.Problems)
	}
}

// Whatever the order of the results in the log, each call is followed by exactly one result after
// loading.
func TestPairing(t *testing.T) {
	for log, want := range map[string]string{
		"u a:1 r:1":           "u: a: t:r2",
		"u r:1 a:1 r:1":       "u: a: t:r3", // a result before its call is ignored
		"u a:1,2 r:2 r:1":     "u: a: t:r3 t:r2",
		"u a:1 r:1 u a:1 r:1": "u: a: t:r2 u: a: t:r5",
		"u a:1 u r:1":         "u: a: t:r3 u:",
		"u a:1 r:1 r:1 r:9":   "u: a: t:r2",
		"r:1":                 "",
		"u a:1,1 r:1":         "u: a: t:r2 t:interrupted",
	} {
		r := newLibrary(t).newReader("s1", 0)
		var history []*message.Message
		for i, word := range strings.Fields(log) {
			kind, ids, _ := strings.Cut(word, ":")
			switch id := fmt.Sprintf("m%d", i); kind {
			case "u":
				history = append(history, msg(id, message.RoleUser, ""))
			case "a":
				history = append(history, msg(id, message.RoleAssistant, "",
					strings.Split(ids, ",")...))
			default:
				history = append(history, result(id, ids, fmt.Sprintf("r%d", i)))
			}
		}
		got := outline(r.pair(history))
		got, _, _ = strings.Cut(got, ": agent-lsp ended")
		if got != want {
			t.Errorf("%s: %s, want %s", log, got, want)
		}
	}
}

// Records of unknown kinds stay in the file byte for byte, whatever operations the session
// performs.
func TestUnknownRecordsStay(t *testing.T) {
	const future = `{"type":"fromTheFuture","data":{"keep":"me","n":1e400},` +
		`"beside":[1,{"two":null}],"time":"2030-01-01T00:00:00Z"}` + "\n"
	lines := strings.SplitAfter(string(stored(t)), "\n")
	middle := len(lines) / 2
	l := place(t, []byte(strings.Join(lines[:middle], "")+future+strings.Join(lines[middle:], "")+
		future))
	in := load(t, l, "s1")
	if len(in.Problems) != 0 {
		t.Errorf("problems %v", in.Problems)
	}
	s := in.Session
	must(t, s.Append(messageRecord(msg("u9", message.RoleUser, "on"))))
	must(t, s.SetTitle("renamed"))
	must(t, s.BranchTo("u1"))
	must(t, s.SetArchived(true))
	must(t, s.Close())
	data, err := os.ReadFile(l.logPath("s1"))
	must(t, err)
	if n := strings.Count(string(data), future); n != 2 {
		t.Errorf("%d of 2 are left:\n%s", n, data)
	}
}

// Loading a 1 GiB log fails, because the log is too large. The error says so and explains what to
// do. Other sessions are not affected.
func TestAGigabyte(t *testing.T) {
	l := newLibrary(t)
	s := create(t, l)
	story(t, s)
	must(t, s.Close())
	must(t, os.WriteFile(l.logPath("huge"), nil, 0o600))
	must(t, os.Truncate(l.logPath("huge"), 1<<30)) // sparse
	_, err := l.Load("huge")
	wantErr(t, err, ErrFull)
	if err == nil || !strings.Contains(err.Error(), "start a new one or fork it") {
		t.Errorf("the error does not say what to do: %v", err)
	}
	wantOutline(t, load(t, l, s.ID()), storyOutline)
	list, _, err := l.List(Query{Text: "fix"})
	if err != nil || len(list) != 1 || list[0].ID != s.ID() {
		t.Errorf("search beside it: %v, %v", list, err)
	}
}

// If the library's folder is not writable, new sessions are created in the spare folder. They are
// listed, forked and found like all others, and their location is reported. Sessions stored in the
// original folder can still be read.
func TestSpareFolder(t *testing.T) {
	l := newLibrary(t)
	old := create(t, l)
	story(t, old)
	must(t, old.Close())
	none := filepath.Join(l.dir, "a-file", "sessions") // not even root can create this folder
	put(t, filepath.Dir(none), nil)
	broken := OpenWith(none, Options{now: clock(), Spare: t.TempDir()})
	t.Cleanup(func() { broken.Close() })
	s := create(t, broken)
	story(t, s)
	path, why := s.Elsewhere()
	if why == nil || !strings.HasPrefix(path, broken.opts.Spare) {
		t.Errorf("it is in %q because of %v", path, why)
	}
	must(t, s.Close())
	wantOutline(t, load(t, broken, s.ID()), storyOutline)
	fork, err := broken.Fork(s.ID(), "", false)
	must(t, err)
	broken.dir = l.dir // sessions in the original folder are listed as well
	list, _, err := broken.List(Query{Text: "fix"})
	if err != nil || len(list) != 3 {
		t.Errorf("list: %v, %v", list, err)
	}
	must(t, broken.Delete(fork.ID()))
	if path, why := create(t, l).Elsewhere(); why != nil {
		t.Errorf("the spare folder is used although the folder is writable, for %s: %v", path, why)
	}
	if _, err := OpenWith(none, Options{}).Create(Meta{}); err == nil {
		t.Error("a session was created although no folder is writable")
	}
}

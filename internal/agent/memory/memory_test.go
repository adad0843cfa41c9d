package memory

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent/message"
	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

func clock() func() time.Time {
	t := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return func() time.Time { t = t.Add(time.Second); return t }
}

func newStore(t testing.TB, change func(*Options)) *Store {
	opts := Options{Path: filepath.Join(t.TempDir(), "state", "memory.db"), Root: "/w",
		now: clock()}
	if change != nil {
		change(&opts)
	}
	s := Open(opts)
	t.Cleanup(func() { s.Close() })
	return s
}

func save(t testing.TB, s *Store, m Memory) Saved {
	t.Helper()
	saved, err := s.Save(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	return saved
}

// keys runs a query and returns the keys found, in order.
func keys(t testing.TB, s *Store, q Query) string {
	t.Helper()
	found, err := s.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for i, m := range found {
		list = append(list, m.Key)
		if q.Text != "" && (m.Score <= 0 || m.Score > 1 || i > 0 && m.Score > found[i-1].Score) {
			t.Errorf("score %v of %s", m.Score, m.Key)
		}
	}
	return strings.Join(list, " ")
}

func check(t *testing.T, s *Store, q Query, want string) {
	t.Helper()
	if got := keys(t, s, q); got != want {
		t.Errorf("%+v: %q, want %q", q, got, want)
	}
}

func TestOpenedOnFirstUse(t *testing.T) {
	s := newStore(t, nil)
	if _, err := os.Stat(filepath.Dir(s.opts.Path)); err == nil {
		t.Error("the folder was created before it was needed")
	}
	check(t, s, Query{Text: "x"}, "")
	if info, err := os.Stat(s.opts.Path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("the database: %v, %v", info, err)
	}
}

func TestSaveGetDelete(t *testing.T) {
	s := newStore(t, nil)
	save(t, s, Memory{Key: "build", Content: "Build with make.", Tags: []string{"Go", "go ", "ci"},
		Author: "user"})
	m, err := s.Get(t.Context(), "build", "")
	if err != nil || m.Content != "Build with make." || strings.Join(m.Tags, ",") != "ci,go" ||
		m.Author != "user" || m.Scope != Workspace {
		t.Errorf("%+v, %v", m, err)
	}
	save(t, s, Memory{Key: "build", Content: "Build with bazel."})
	again, err := s.Get(t.Context(), "build", Workspace)
	if err != nil || again.Content != "Build with bazel." || !again.UpdatedAt.After(m.UpdatedAt) ||
		!again.CreatedAt.Equal(m.CreatedAt) {
		t.Errorf("overwritten: %+v, %v", again, err)
	}
	check(t, s, Query{Text: "make"}, "")
	check(t, s, Query{Text: "bazel"}, "build")
	if err := s.Delete(t.Context(), "build", ""); err != nil {
		t.Error(err)
	}
	check(t, s, Query{Text: "bazel"}, "")
	for _, err := range []error{s.Delete(t.Context(), "build", ""),
		second(s.Get(t.Context(), "build", ""))} {
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("error %v", err)
		}
	}
}

func second(_ Memory, err error) error { return err }

func TestScopes(t *testing.T) {
	s := newStore(t, nil)
	save(t, s, Memory{Key: "k", Content: "tabs here", Scope: Workspace})
	save(t, s, Memory{Key: "k", Content: "tabs everywhere", Scope: User})
	save(t, s, Memory{Key: "u", Content: "tabs as user", Scope: User})
	check(t, s, Query{Text: "tabs", Scope: Workspace}, "k")
	check(t, s, Query{Text: "tabs", Scope: User}, "k u")
	if m, _ := s.Get(t.Context(), "k", ""); m.Content != "tabs here" {
		t.Errorf("without a scope: %+v", m)
	}
	if m, _ := s.Get(t.Context(), "u", ""); m.Scope != User {
		t.Errorf("the user's own: %+v", m)
	}
	other := Open(Options{Path: s.opts.Path, Root: "/other"})
	defer other.Close()
	if got := keys(t, other, Query{Text: "tabs", Scope: Workspace}); got != "" {
		t.Errorf("another workspace sees %q", got)
	}
	check(t, other, Query{Text: "everywhere"}, "k")
	if _, err := s.Save(t.Context(), Memory{Content: "x", Scope: "galaxy"}); err == nil {
		t.Error("an unknown scope was accepted")
	}
}

func TestSearchRanks(t *testing.T) {
	s := newStore(t, nil)
	for _, m := range []Memory{
		{Key: "tests", Content: "Tests are run with go test ./... and never with make.",
			Tags: []string{"ci"}},
		{Key: "db", Content: "The database is Postgres; migrations live in db/migrate.",
			Tags: []string{"db"}},
		{Key: "style", Content: "The user prefers short functions and table tests.",
			Tags: []string{"style"}},
		{Key: "unicode", Content: "設定は日本語で書く。Ünïcode wörks.", Tags: []string{"style", "ci"}},
	} {
		save(t, s, m)
	}
	check(t, s, Query{Text: "postgres database"}, "db")
	// The memory with both words comes first, then the one with only one of them.
	check(t, s, Query{Text: "running test"}, "tests style")
	check(t, s, Query{Text: "日本語"}, "unicode")
	check(t, s, Query{Text: "unicode works"}, "unicode")
	// The text is searched as words, not parsed as query syntax.
	check(t, s, Query{Text: `"; DROP TABLE memories; -- NEAR( *`, TopK: 1}, "style")
	check(t, s, Query{Text: "100%"}, "")
	check(t, s, Query{Text: "tests", Tags: []string{"STYLE"}}, "style")
	check(t, s, Query{Text: "", Tags: []string{"style", "db"}, TopK: 2}, "unicode style")
	check(t, s, Query{}, "unicode style db tests")
}

func TestDuplicates(t *testing.T) {
	s := newStore(t, nil)
	save(t, s, Memory{Key: "a", Content: "Use tabs.", Tags: []string{"x"}})
	if saved := save(t, s, Memory{Key: "b", Content: " use  TABS",
		Tags: []string{"y"}}); saved.Duplicate != "a" {
		t.Errorf("saved %+v", saved)
	}
	check(t, s, Query{Text: "tabs"}, "a")
	check(t, s, Query{Text: "tabs", Tags: []string{"y"}}, "a")
	if m, err := s.Get(t.Context(), "b", ""); err != nil || m.Content != "Use tabs." ||
		m.Key != "b" {
		t.Errorf("by its other name: %+v, %v", m, err)
	}
	if saved := save(t, s, Memory{Key: "a", Content: "Use tabs!"}); saved.Duplicate != "" {
		t.Errorf("the same key again: %+v", saved)
	}
	if err := s.Delete(t.Context(), "a", ""); err != nil {
		t.Fatal(err)
	}
	check(t, s, Query{Text: "tabs"}, "b") // the memory can still be found under its other key
	save(t, s, Memory{Key: "b", Content: "Use spaces."})
	check(t, s, Query{Text: "tabs"}, "")
	if saved := save(t, s, Memory{Content: "No key was given here at all"}); saved.Key == "" ||
		!strings.HasPrefix(saved.Key, "no-key-was-given-here-") {
		t.Errorf("made key %+v", saved)
	}
}

func TestLimits(t *testing.T) {
	s := newStore(t, nil)
	for name, m := range map[string]Memory{
		"empty":    {Key: "k", Content: " \n"},
		"long":     {Key: "k", Content: strings.Repeat("x", MaxContent+1)},
		"long key": {Key: strings.Repeat("k", MaxKey+1), Content: "x"},
		"tags": {Key: "k", Content: "x",
			Tags: strings.Fields(strings.Repeat("a b c d e ", 1) + manyTags())},
	} {
		if _, err := s.Save(t.Context(), m); err == nil {
			t.Errorf("%s: saved", name)
		}
	}
	if _, err := s.Save(t.Context(), Memory{Key: "bad\xffutf8", Content: "bad \xff"}); err == nil {
		t.Error("a key that is not UTF-8 was accepted")
	}
}

func manyTags() string {
	var b strings.Builder
	for i := range MaxTags {
		fmt.Fprintf(&b, "t%d ", i)
	}
	return b.String()
}

func TestSecretsAreNotStored(t *testing.T) {
	s := newStore(t, func(o *Options) {
		o.Redact = func(b []byte) []byte {
			return []byte(strings.ReplaceAll(string(b), "sk-1",
				"[redacted]"))
		}
	})
	save(t, s, Memory{Key: "k", Content: "the key is sk-1"})
	if m, _ := s.Get(t.Context(), "k", ""); m.Content != "the key is [redacted]" {
		t.Errorf("stored %q", m.Content)
	}
}

func TestDamagedDatabase(t *testing.T) {
	s := newStore(t, nil)
	if err := os.MkdirAll(filepath.Dir(s.opts.Path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.opts.Path, []byte(strings.Repeat("no database ", 1000)),
		0o600); err != nil {
		t.Fatal(err)
	}
	save(t, s, Memory{Key: "k", Content: "works again"})
	aside, _ := filepath.Glob(s.opts.Path + ".damaged-*")
	if len(aside) != 1 {
		t.Errorf("kept aside: %v", aside)
	}
	check(t, s, Query{Text: "works"}, "k")
}

func TestNewerDatabase(t *testing.T) {
	s := newStore(t, nil)
	save(t, s, Memory{Key: "k", Content: "x"})
	if _, err := s.db.Exec("PRAGMA user_version = 9"); err != nil {
		t.Fatal(err)
	}
	other := Open(s.opts)
	defer other.Close()
	if _, err := other.Get(t.Context(), "k", ""); err == nil ||
		!strings.Contains(err.Error(), "newer") {
		t.Errorf("error %v", err)
	}
}

// Two daemons can write to the same database.
func TestTwoWriters(t *testing.T) {
	a := newStore(t, nil)
	b := Open(a.opts)
	defer b.Close()
	done := make(chan error, 2)
	for i, s := range []*Store{a, b} {
		go func() {
			var err error
			for n := 0; n < 50 && err == nil; n++ {
				_, err = s.Save(t.Context(), Memory{Key: fmt.Sprintf("k%d-%d", i, n),
					Content: fmt.Sprintf("content %d %d", i, n)})
			}
			done <- err
		}()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if got := len(strings.Fields(keys(t, a, Query{TopK: 100}))); got != 100 {
		t.Errorf("%d memories of 100", got)
	}
}

// meaning returns embeddings that distinguish two topics: animals and buildings.
func meaning(_ context.Context, texts []string) ([][]float32, error) {
	topics := []string{"cat dog pet animal", "house tower building roof"}
	var out [][]float32
	for _, text := range texts {
		v := []float32{0.01, 0.01, float32(len(text)) / 1000}
		for i, words := range topics {
			for w := range strings.FieldsSeq(words) {
				if strings.Contains(strings.ToLower(text), w) {
					v[i]++
				}
			}
		}
		if strings.Contains(text, "fail") {
			return nil, errors.New("no endpoint")
		}
		out = append(out, v)
	}
	return out, nil
}

func TestMeaning(t *testing.T) {
	s := newStore(t, func(o *Options) { o.Embedder = embedder("m1", meaning) })
	save(t, s, Memory{Key: "cat", Content: "The cat sleeps."})
	save(t, s, Memory{Key: "tower",
		Content: "A tower of stone, with a long description that goes on and on about very many things which are not the same. The pet."})
	save(t, s, Memory{Key: "none", Content: "fail to embed, house"})
	check(t, s, Query{Text: "dog"}, "cat tower") // found by meaning alone, without a common word
	check(t, s, Query{Text: "building"}, "tower")
	// "none" is found by its words and "tower" by its meaning.
	check(t, s, Query{Text: "house"}, "none tower")
	check(t, s, Query{Text: "cat", Tags: []string{"none"}}, "")
	if saved := save(t, s, Memory{Key: "dog",
		Content: "The dogs sleeps"}); saved.Duplicate != "cat" {
		t.Errorf("means the same: %+v", saved)
	}
	other := Open(Options{Path: s.opts.Path, Root: "/w", Embedder: embedder("m2", meaning)})
	defer other.Close()
	check(t, other, Query{Text: "animal"}, "") // vectors from another model are not compared
	elsewhere := Open(Options{Path: s.opts.Path, Root: "/elsewhere",
		Embedder: embedder("m1", meaning)})
	defer elsewhere.Close()
	// Vectors from another workspace are not compared.
	check(t, elsewhere, Query{Text: "animal"}, "")
	if err := s.Delete(t.Context(), "tower", ""); err != nil {
		t.Fatal(err)
	}
	check(t, s, Query{Text: "building"}, "")
}

func TestCosine(t *testing.T) {
	a, b := pack([]float32{1, 2, -3}), pack([]float32{10, 20, -30})
	if c := cosine(a, b); c < 0.99 || c > 1.01 {
		t.Errorf("cosine of parallels: %v", c)
	}
	if c := cosine(a, pack([]float32{-1, -2, 3})); c > -0.99 {
		t.Errorf("cosine of opposites: %v", c)
	}
	if cosine(a, nil) != 0 || pack([]float32{0, 0}) != nil || cosine(a, pack([]float32{1})) != 0 {
		t.Error("vectors that cannot be compared are treated as similar")
	}
}

func run(t *testing.T, of tool.Tool, args string) string {
	t.Helper()
	said := func() []*message.Message {
		return []*message.Message{message.NewText(message.RoleUser, "the fox says x")}
	}
	call := &tool.Call{SessionID: "s", Args: json.RawMessage(args), History: said}
	p, err := of.Prepare(t.Context(), call)
	if err != nil {
		return "error: " + err.Error()
	}
	res, err := p.Run(t.Context(), call)
	if err != nil {
		return "error: " + err.Error()
	}
	return res.Text
}

func TestTools(t *testing.T) {
	s := newStore(t, nil)
	list := Tools(s)
	remember, recall := list[0], list[1]
	for _, tool := range list {
		if !json.Valid(tool.Spec().Schema) || tool.Spec().Description == "" {
			t.Errorf("spec %+v", tool.Spec())
		}
	}
	for _, c := range []struct {
		tool       tool.Tool
		args, want string
	}{
		{remember, `{"content":"Build with make.","key":"build","tags":["ci"]}`,
			`Remembered as "build".`},
		{remember, `{"content":"build with make","key":"other"}`,
			`This is already remembered as "build".`},
		{remember, `{"content":""}`, "error: saving a memory: content is empty"},
		{recall, `{"query":"make"}`, "build (workspace, 2026-03-01) [ci]: Build with make."},
		{recall, `{"key":"build"}`, "build (workspace, 2026-03-01) [ci]: Build with make."},
		{recall, `{"key":"nope"}`, `error: there is no memory "nope"; search with query instead`},
		{recall, `{"query":"zebra","where":"memory"}`, "Nothing is remembered about that."},
		{recall, `{"query":"FOX x","where":"session"}`, "[1] user: the fox says x"},
		{recall, `{"query":"fox"}`, "[1] user: the fox says x"},
		{recall, `{"query":"wolf"}`, "Nothing is remembered about that, and no earlier message of this session contains it."},
		{recall, `{"where":"session"}`, "error: query is empty; send the words to search for"},
	} {
		if got := run(t, c.tool, c.args); got != c.want {
			t.Errorf("%s %s: %q, want %q", c.tool.Spec().Name, c.args, got, c.want)
		}
	}
}

// A search with sketches finds the same best matches as an exact comparison. The vectors are
// difficult on purpose: most of their components have the same sign, and many vectors are close to
// each other.
func TestSketchesFindTheBest(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const dims, topics = 384, 40
	center := make([][]float32, topics)
	for i := range center {
		center[i] = make([]float32, dims)
		for d := range center[i] {
			center[i][d] = 0.4 + float32(r.NormFloat64())
		}
	}
	about := func() []byte {
		v, c := make([]float32, dims), center[r.IntN(topics)]
		for d := range v {
			v[d] = c[d] + 0.7*float32(r.NormFloat64())
		}
		return pack(v)
	}
	all := make([]vector, 10_000)
	for i := range all {
		all[i] = vector{id: int64(i), packed: about()}
	}
	s := sketch(all)
	everything := func(places []int, query []byte) []int64 {
		near, _ := nearest(all, places, query, func(*vector) bool { return true })
		return best(near)
	}
	missed := 0
	for range 50 {
		query := about()
		exact, quick := everything(nil, query), everything(s.likeliest(query, candidates), query)
		for i := range exact {
			if quick[i] != exact[i] {
				missed++
			}
		}
	}
	if missed > 0 {
		t.Errorf("%d of 250 memories were missed", missed)
	}
}

func best(near []likeness) []int64 {
	slices.SortFunc(near, func(a, b likeness) int { return cmp.Compare(b.cos, a.cos) })
	ids := make([]int64, DefaultTopK)
	for i := range ids {
		ids[i] = near[i].id
	}
	return ids
}

// embedder returns a function for Options.Embedder that always returns the same model and embed
// function.
func embedder(model string, embed Embed) func() (string, Embed) {
	return func() (string, Embed) { return model, embed }
}

func BenchmarkSearch10000(b *testing.B) {
	for name, query := range map[string]string{
		"words": "the project uses component number 4711 with workers", "common": "project workers",
		"embed":  "component 4711",
		"absent": "zebra", "script": "日本語",
	} {
		embed := name == "embed"
		b.Run(name, func(b *testing.B) {
			s := newStore(b, func(o *Options) {
				o.now = time.Now
				if embed {
					o.Embedder = embedder("", func(_ context.Context, texts []string) ([][]float32,
						error) {
						v := make([]float32, 768)
						for i, c := range texts[0] {
							v[(i*31+int(c)*7)%768] += float32(c % 13)
						}
						return [][]float32{v}, nil
					})
				}
			})
			fillStore(b, s, 10_000)
			for b.Loop() {
				keys(b, s, Query{Text: query})
			}
		})
	}
}

// fillStore writes n memories in one transaction, which is much faster than saving them one by one.
func fillStore(b *testing.B, s *Store, n int) {
	b.Helper()
	db, err := s.open(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	tx, err := db.Begin()
	if err != nil {
		b.Fatal(err)
	}
	for i := range n {
		m := Memory{Key: fmt.Sprintf("key-%d", i), Author: "agent",
			Tags: []string{fmt.Sprintf("tag%d", i%50)},
			Content: fmt.Sprintf(
				"The project uses component number %d of the module m%d, which is built with make and tested with %d workers on every change of the tree.",
				i,
				i%97,
				i%13,
			)}
		if _, err := s.save(b.Context(), tx, "w:/w", m, s.embed(b.Context(), m.Content),
			0); err != nil {
			b.Fatal(err)
		}
	}
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
}

// TestDot checks that dot, which processes eight numbers at a time, gives the same result as a
// simple loop for any length.
func TestDot(t *testing.T) {
	x, y := make([]byte, 37), make([]byte, 37)
	for i := range x {
		x[i], y[i] = byte(i*37-128), byte(i*91+127)
	}
	for n := range len(x) + 1 {
		want := int32(0)
		for i := range n {
			want += int32(int8(x[i])) * int32(int8(y[i]))
		}
		if got := dot(x[:n], y[:n]); got != want {
			t.Errorf("%d numbers: %d, want %d", n, got, want)
		}
	}
}

// TestOverwrittenKeyKeepsItsOtherName checks that overwriting one of two keys with the same content
// leaves the other key's content unchanged.
func TestOverwrittenKeyKeepsItsOtherName(t *testing.T) {
	s := newStore(t, nil)
	save(t, s, Memory{Key: "build", Content: "use make"})
	save(t, s, Memory{Key: "deploy", Content: "use make"})
	save(t, s, Memory{Key: "build", Content: "use bazel"})
	for key, want := range map[string]string{"build": "use bazel", "deploy": "use make"} {
		if m, err := s.Get(t.Context(), key, ""); err != nil || m.Content != want {
			t.Errorf("%s says %q, %v; want %q", key, m.Content, err, want)
		}
	}
	check(t, s, Query{Text: "make"}, "deploy")
	check(t, s, Query{Text: "bazel"}, "build")
	save(t, s, Memory{Key: "deploy", Content: "use bazel"})
	check(t, s, Query{Text: "use"}, "build")
}

// TestSavedAtOnce checks that if several memories with the same meaning are saved at the same time,
// only one is kept as new and the others become aliases.
func TestSavedAtOnce(t *testing.T) {
	const rounds, writers = 30, 8
	round, arrived := 0, new(sync.WaitGroup)
	s := newStore(t, func(o *Options) {
		o.Embedder = embedder("m1", func(context.Context, []string) ([][]float32, error) {
			arrived.Done()
			arrived.Wait()
			v := make([]float32, rounds)
			v[round] = 1
			return [][]float32{v}, nil
		})
	})
	for ; round < rounds; round++ {
		var fresh atomic.Int32
		var all sync.WaitGroup
		arrived.Add(writers)
		for i := range writers {
			all.Go(func() {
				saved, err := s.Save(t.Context(),
					Memory{Key: fmt.Sprint(round, " ", i),
						Content: fmt.Sprint("number ", i, " of ", round)})
				if err != nil {
					t.Error(err)
				}
				if saved.Duplicate == "" {
					fresh.Add(1)
				}
			})
		}
		all.Wait()
		if n := fresh.Load(); n != 1 {
			t.Fatalf("round %d: %d of %d were kept as new", round, n, writers)
		}
	}
}

// TestTwinThatChanges checks that a new memory is saved under its own content if the memory it
// duplicates is overwritten or deleted before the alias is added.
func TestTwinThatChanges(t *testing.T) {
	for name, change := range map[string]func(*Store) error{
		"overwritten": func(s *Store) error {
			_, err := s.Save(t.Context(), Memory{Key: "cat", Content: "A tower of stone."})
			return err
		},
		"deleted": func(s *Store) error { return s.Delete(t.Context(), "cat", "") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t, func(o *Options) { o.Embedder = embedder("m1", meaning) })
			save(t, s, Memory{Key: "cat", Content: "The cat sleeps."})
			m := Memory{Key: "dog", Content: "The dogs sleep", Scope: Workspace, Tags: []string{}}
			owner, _ := s.owner(m.Scope)
			db, err := s.open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			vector := s.embed(t.Context(), m.Content)
			twin := s.twin(t.Context(), db, owner, m.Key, vector)
			if twin == 0 {
				t.Fatal("no twin was found")
			}
			if err := change(s); err != nil {
				t.Fatal(err)
			}
			if saved, err := s.store(t.Context(), db, owner, m, vector, twin); err != nil ||
				saved.Duplicate != "" {
				t.Errorf("saved %+v, %v", saved, err)
			}
			if got, err := s.Get(t.Context(), "dog", ""); err != nil || got.Content != m.Content {
				t.Errorf("dog says %q, %v", got.Content, err)
			}
		})
	}
}

package memory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	_ "modernc.org/sqlite" // the database driver; registering it takes well under a millisecond
)

const (
	// MaxContent is the maximum size of one memory in bytes.
	MaxContent = 64 << 10
	// MaxKey is the maximum length of a key in bytes.
	MaxKey = 200
	// MaxTags is the maximum number of tags of one memory.
	MaxTags = 32
	// MaxTag is the maximum length of one tag in bytes.
	MaxTag = 100
	// busyMs is the maximum time to wait for another daemon's write, in milliseconds.
	busyMs = 3000
	// retryDelay is the pause before retrying a database that another daemon is creating.
	retryDelay = 25 * time.Millisecond
)

// The scopes of a memory.
const (
	Workspace = "workspace"
	User      = "user"
)

// ErrNotFound reports that there is no memory with that key (wire code 1011).
var ErrNotFound = errors.New("there is no such memory")

// Memory is one stored entry.
type Memory struct {
	Key       string
	Content   string
	Tags      []string
	Scope     string // Workspace or User
	Author    string // user or agent
	CreatedAt time.Time
	UpdatedAt time.Time
	Score     float64 // score of a search result, at most 1; higher is better
}

// Saved is the result of saving a memory.
type Saved struct {
	Key string // the key under which the memory is saved
	// Duplicate is the key of an existing memory with the same content or meaning, or "" if there
	// is none.
	Duplicate string
}

// Embed converts texts to vectors, one for each text.
type Embed func(ctx context.Context, texts []string) ([][]float32, error)

// Options configure a Store.
type Options struct {
	Path string // the database file; its folder is created if necessary
	Root string // workspace root, to which memories of scope workspace belong
	// Embedder is called before each use, because the settings may change. It returns the function
	// that converts texts to vectors, and the name of its model, because vectors of different
	// models are not compared. If Embedder or the function is nil, only full-text search is used.
	Embedder func() (model string, embed Embed)
	Redact   func([]byte) []byte // removes secrets before anything is stored; nil removes nothing
	Log      *slog.Logger        // nil means that nothing is logged

	now func() time.Time // the clock in tests; nil means time.Now
}

// Store stores memories. It is safe for concurrent use.
type Store struct {
	opts Options

	mu     sync.Mutex
	db     *sql.DB
	closed bool

	saving sync.Mutex // held from the search for a similar memory until the result is saved

	vectors vectorCache
}

// Open returns a store. The database is opened on first use.
func Open(opts Options) *Store { return &Store{opts: opts} }

func (s *Store) now() time.Time {
	if s.opts.now != nil {
		return s.opts.now()
	}
	return time.Now()
}

func (s *Store) warn(doing string, err error) {
	if s.opts.Log != nil {
		s.opts.Log.Warn(doing, "error", err)
	}
}

const schema = `
CREATE TABLE IF NOT EXISTS memories (
	id INTEGER PRIMARY KEY, owner TEXT NOT NULL, key TEXT NOT NULL, content TEXT NOT NULL, tags TEXT NOT NULL, author TEXT NOT NULL,
	created INTEGER NOT NULL, updated INTEGER NOT NULL, same TEXT NOT NULL, model TEXT NOT NULL DEFAULT '', vector BLOB,
	UNIQUE (owner, key));
CREATE INDEX IF NOT EXISTS memories_same ON memories (owner, same);
CREATE TABLE IF NOT EXISTS aliases (owner TEXT NOT NULL, key TEXT NOT NULL, id INTEGER NOT NULL, PRIMARY KEY (owner, key));
CREATE TABLE IF NOT EXISTS tags (id INTEGER NOT NULL, tag TEXT NOT NULL, PRIMARY KEY (id, tag)) WITHOUT ROWID;
CREATE VIRTUAL TABLE IF NOT EXISTS texts USING fts5 (key, content, tags, tokenize = 'porter unicode61 remove_diacritics 2');
PRAGMA user_version = 1;`

// open opens the database on first use and returns it. A damaged database is moved aside.
func (s *Store) open(ctx context.Context) (*sql.DB, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errors.New("the memory store is closed")
	}
	if s.db != nil {
		return s.db, nil
	}
	if err := os.MkdirAll(filepath.Dir(s.opts.Path), 0o700); err != nil {
		return nil, fmt.Errorf("opening the memory: %w", err)
	}
	db, err := s.patiently(ctx)
	if err != nil && damaged(err) {
		aside := s.opts.Path + ".damaged-" + s.now().Format("20060102-150405")
		if os.Rename(s.opts.Path, aside) == nil {
			s.warn("the memory was damaged; the old file was renamed to "+aside, err)
			os.Remove(s.opts.Path + "-wal")
			os.Remove(s.opts.Path + "-shm")
			db, err = s.connect(ctx)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("opening the memory %s: %w", s.opts.Path, err)
	}
	s.db = db
	return db, nil
}

// patiently connects with retries, because SQLite does not wait while another daemon creates the
// database.
func (s *Store) patiently(ctx context.Context) (*sql.DB, error) {
	for waited := time.Duration(0); ; waited += retryDelay {
		db, err := s.connect(ctx)
		if err == nil || waited >= busyMs*time.Millisecond ||
			!strings.Contains(err.Error(), "SQLITE_BUSY") {
			return db, err
		}
		select {
		case <-time.After(retryDelay):
		case <-ctx.Done():
			return nil, err
		}
	}
}

func (s *Store) connect(ctx context.Context) (*sql.DB, error) {
	path := filepath.ToSlash(s.opts.Path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // needed if the path begins with a drive letter
	}
	// A transaction acquires the write lock at its start. If it read first, it could not continue
	// after a write by another daemon.
	busy := fmt.Sprintf("busy_timeout(%d)", busyMs)
	pragmas := url.Values{"_txlock": {"immediate"},
		"_pragma": {busy, "journal_mode(WAL)", "synchronous(NORMAL)", "cache_size(-1000)"}}
	u := url.URL{Scheme: "file", Path: path, RawQuery: pragmas.Encode()}
	db, err := sql.Open("sqlite", u.String())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if err := prepare(ctx, db); err != nil {
		db.Close()
		return nil, err
	}
	_ = os.Chmod(s.opts.Path, 0o600) // not supported everywhere, but the folder is private
	return db, nil
}

// prepare creates the tables. It does not change a database that a newer version created.
func prepare(ctx context.Context, db *sql.DB) error {
	var version int
	if err := db.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return err
	}
	switch version {
	case 0:
		_, err := db.ExecContext(ctx, "BEGIN IMMEDIATE;"+schema+"COMMIT;")
		return err
	case 1:
		return nil
	}
	return fmt.Errorf("it was created by a newer agent-lsp (version %d): update agent-lsp to use it", version)
}

func damaged(err error) bool {
	text := err.Error()
	return strings.Contains(text, "not a database") || strings.Contains(text, "malformed")
}

// Close closes the database if it was opened.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.db == nil {
		return nil
	}
	err := s.db.Close()
	s.db = nil
	return err
}

// owner returns the owner of the memories in a scope.
func (s *Store) owner(scope string) (string, error) {
	switch scope {
	case "", Workspace:
		return "w:" + s.opts.Root, nil
	case User:
		return "u", nil
	}
	return "", fmt.Errorf("scope is %q; it must be %s or %s", scope, Workspace, User)
}

func scopeOf(owner string) string {
	if owner == "u" {
		return User
	}
	return Workspace
}

// Save saves a memory. An existing key is overwritten. If another memory of the same scope has the
// same content or, according to the embeddings, the same meaning, the key becomes an alias of that
// memory. If the key is empty, Save creates one.
func (s *Store) Save(ctx context.Context, m Memory) (Saved, error) {
	owner, err := s.owner(m.Scope)
	if err == nil {
		err = s.clean(&m)
	}
	if err != nil {
		return Saved{}, fmt.Errorf("saving a memory: %w", err)
	}
	db, err := s.open(ctx)
	if err != nil {
		return Saved{}, err
	}
	vector := s.embed(ctx, m.Content)
	s.saving.Lock()
	defer s.saving.Unlock()
	return s.store(ctx, db, owner, m, vector, s.twin(ctx, db, owner, m.Key, vector))
}

// store saves a cleaned memory. twin is a memory that had the same meaning when the search for
// similar memories ended.
func (s *Store) store(
	ctx context.Context, db *sql.DB, owner string, m Memory, vector embedding, twin int64,
) (Saved, error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return Saved{}, fmt.Errorf("saving memory %s: %w", m.Key, err)
	}
	defer tx.Rollback()
	saved, err := s.save(ctx, tx, owner, m, vector, twin)
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return Saved{}, fmt.Errorf("saving memory %s: %w", m.Key, err)
	}
	return saved, nil
}

// clean checks a memory and removes secrets from its content.
func (s *Store) clean(m *Memory) error {
	m.Content = strings.TrimSpace(strings.ToValidUTF8(m.Content, "\uFFFD"))
	if s.opts.Redact != nil {
		m.Content = string(s.opts.Redact([]byte(m.Content)))
	}
	m.Key = strings.TrimSpace(m.Key)
	if m.Key == "" {
		m.Key = keyOf(m.Content)
	}
	m.Tags = cleanTags(m.Tags)
	switch {
	case m.Content == "":
		return errors.New("content is empty")
	case len(m.Content) > MaxContent:
		return fmt.Errorf("content has %d bytes, but the limit is %d; shorten it",
			len(m.Content), MaxContent)
	case len(m.Key) > MaxKey || !utf8.ValidString(m.Key):
		return fmt.Errorf("key has %d bytes; the limit is %d bytes of UTF-8", len(m.Key), MaxKey)
	case len(m.Tags) > MaxTags:
		return fmt.Errorf("there are %d tags; the limit is %d", len(m.Tags), MaxTags)
	}
	for _, t := range m.Tags {
		if len(t) > MaxTag {
			return fmt.Errorf("a tag has %d bytes; the limit is %d", len(t), MaxTag)
		}
	}
	return nil
}

func cleanTags(tags []string) []string {
	out := []string{}
	for _, t := range tags {
		t = strings.ToLower(strings.TrimSpace(strings.ToValidUTF8(t, "")))
		if t != "" && !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	slices.Sort(out)
	return out
}

func (s *Store) save(
	ctx context.Context, tx *sql.Tx, owner string, m Memory, e embedding, twin int64,
) (Saved, error) {
	print := same(m.Content)
	twin, err := stillTwin(ctx, tx, twin, owner, m.Key, e)
	if err != nil {
		return Saved{}, err
	}
	if twin == 0 {
		err := tx.QueryRowContext(ctx, "SELECT id FROM memories WHERE owner = ? AND same = ? AND key <> ?", owner, print, m.Key).Scan(&twin)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return Saved{}, err
		}
	}
	if twin != 0 {
		return s.alias(ctx, tx, owner, m, twin)
	}
	tags, err := json.Marshal(m.Tags)
	if err != nil {
		return Saved{}, err
	}
	if err = leaveToAlias(ctx, tx, owner, m.Key, print); err != nil {
		return Saved{}, err
	}
	now := s.now().UnixNano()
	var id int64
	err = tx.QueryRowContext(ctx, `INSERT INTO memories (owner, key, content, tags, author, created, updated, same, model, vector) VALUES (?,?,?,?,?,?,?,?,?,?)
		ON CONFLICT (owner, key) DO UPDATE SET content = excluded.content, tags = excluded.tags, author = excluded.author,
			updated = excluded.updated, same = excluded.same, model = excluded.model, vector = excluded.vector RETURNING id`,
		owner, m.Key, m.Content, string(tags), m.Author, now, now, print, e.model, e.packed,
	).Scan(&id)
	if err != nil {
		return Saved{}, err
	}
	const forget = "DELETE FROM aliases WHERE owner = ? AND key = ?"
	if _, err := tx.ExecContext(ctx, forget, owner, m.Key); err != nil {
		return Saved{}, err
	}
	return Saved{Key: m.Key}, index(ctx, tx, id, m)
}

// leaveToAlias moves a key's content to its alias, if the key has an alias and its own content is
// about to be overwritten. The content was also saved under the alias and must remain there.
func leaveToAlias(ctx context.Context, tx *sql.Tx, owner, key, print string) error {
	var shared bool
	err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM memories m JOIN aliases a ON a.id = m.id
		WHERE m.owner = ? AND m.key = ? AND m.same <> ?)`, owner, key, print).Scan(&shared)
	if err != nil || !shared {
		return err
	}
	return removeKey(ctx, tx, owner, key)
}

// index adds a memory to the full-text and the tag tables.
func index(ctx context.Context, tx *sql.Tx, id int64, m Memory) error {
	_, err := tx.ExecContext(ctx, "DELETE FROM texts WHERE rowid = ?", id)
	if err == nil {
		_, err = tx.ExecContext(ctx, "INSERT INTO texts (rowid, key, content, tags) VALUES (?,?,?,?)",
			id, segmented(m.Key), segmented(m.Content), segmented(strings.Join(m.Tags, " ")))
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, "DELETE FROM tags WHERE id = ?", id)
	}
	for _, t := range m.Tags {
		if err == nil {
			_, err = tx.ExecContext(ctx, "INSERT INTO tags (id, tag) VALUES (?,?)", id, t)
		}
	}
	return err
}

// alias makes the key an alias of a memory with the same content or meaning, and adds the tags to
// that memory.
func (s *Store) alias(
	ctx context.Context, tx *sql.Tx, owner string, m Memory, twin int64,
) (Saved, error) {
	old, err := scan(tx.QueryRowContext(ctx, selectMemory+" WHERE m.id = ?", twin))
	if err != nil {
		return Saved{}, err
	}
	if old.Key != m.Key {
		if err := removeKey(ctx, tx, owner, m.Key); err != nil && !errors.Is(err, ErrNotFound) {
			return Saved{}, err
		}
		if _, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO aliases (owner, key, id) VALUES (?,?,?)", owner, m.Key, twin); err != nil {
			return Saved{}, err
		}
	}
	duplicate := old.Key
	old.Tags = cleanTags(append(old.Tags, m.Tags...))
	if len(old.Tags) > MaxTags {
		old.Tags = old.Tags[:MaxTags]
	}
	tags, err := json.Marshal(old.Tags)
	if err != nil {
		return Saved{}, err
	}
	if _, err := tx.ExecContext(ctx, "UPDATE memories SET updated = ?, tags = ? WHERE id = ?", s.now().UnixNano(), string(tags), twin); err != nil {
		return Saved{}, err
	}
	return Saved{Key: m.Key, Duplicate: duplicate}, index(ctx, tx, twin, old)
}

// Delete removes a key. A memory with an alias remains under the alias.
func (s *Store) Delete(ctx context.Context, key, scope string) error {
	owners, err := s.owners(scope)
	if err != nil {
		return fmt.Errorf("deleting memory %s: %w", key, err)
	}
	db, err := s.open(ctx)
	if err != nil {
		return err
	}
	for _, owner := range owners {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return fmt.Errorf("deleting memory %s: %w", key, err)
		}
		if err = removeKey(ctx, tx, owner, key); err == nil {
			err = tx.Commit()
		} else {
			tx.Rollback()
		}
		if !errors.Is(err, ErrNotFound) {
			s.vectors.forget()
			if err != nil {
				return fmt.Errorf("deleting memory %s: %w", key, err)
			}
			return nil
		}
	}
	return fmt.Errorf("deleting memory %s: %w", key, ErrNotFound)
}

// removeKey removes an alias or a memory. A memory with an alias is renamed to the alias.
func removeKey(ctx context.Context, tx *sql.Tx, owner, key string) error {
	res, err := tx.ExecContext(ctx, "DELETE FROM aliases WHERE owner = ? AND key = ?", owner, key)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n > 0 {
		return err
	}
	var id int64
	err = tx.QueryRowContext(ctx, "SELECT id FROM memories WHERE owner = ? AND key = ?", owner, key).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	if err != nil {
		return err
	}
	var other string
	err = tx.QueryRowContext(ctx, "SELECT key FROM aliases WHERE id = ? ORDER BY key LIMIT 1", id).Scan(&other)
	statements := []string{"DELETE FROM memories WHERE id = ?1",
		"DELETE FROM texts WHERE rowid = ?1", "DELETE FROM tags WHERE id = ?1"}
	if err == nil {
		statements = []string{"UPDATE memories SET key = ?2 WHERE id = ?1",
			"UPDATE texts SET key = ?3 WHERE rowid = ?1",
			"DELETE FROM aliases WHERE id = ?1 AND key = ?2"}
	} else if !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	for _, statement := range statements {
		if _, err := tx.ExecContext(ctx, statement, id, other, segmented(other)); err != nil {
			return err
		}
	}
	return nil
}

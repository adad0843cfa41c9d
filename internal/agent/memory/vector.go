package memory

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"sync"
	"time"
)

const (
	// embedTimeout is the time limit for one call of the embedding function. If the function fails,
	// the store works without embeddings.
	embedTimeout = 5 * time.Second
	// twinCosine is the minimum similarity at which two memories are treated as having the same
	// meaning.
	twinCosine = 0.97
	// leastCosine is the minimum similarity at which a memory is related to a query.
	leastCosine = 0.25
)

// embedding is a packed vector and the name of its model. packed is nil if there is no vector.
type embedding struct {
	model  string
	packed []byte
}

// embed returns the embedding of text.
func (s *Store) embed(ctx context.Context, text string) embedding {
	if s.opts.Embedder == nil {
		return embedding{}
	}
	model, embed := s.opts.Embedder()
	if embed == nil {
		return embedding{}
	}
	ctx, cancel := context.WithTimeout(ctx, embedTimeout)
	defer cancel()
	vectors, err := embed(ctx, []string{text})
	if err == nil && (len(vectors) != 1 || len(vectors[0]) == 0) {
		err = errors.New("the embeddings endpoint returned no vector")
	}
	if err != nil {
		s.warn("embedding a memory; only full-text search is used", err)
		return embedding{model: model}
	}
	return embedding{model, pack(vectors[0])}
}

// pack encodes a vector, scaled to unit length, with eight bits per component, preceded by its
// scale. This takes a quarter of the space of float32 components and is precise enough for ranking.
func pack(v []float32) []byte {
	var norm, most float64
	for _, x := range v {
		norm += float64(x) * float64(x)
		most = max(most, math.Abs(float64(x)))
	}
	norm = math.Sqrt(norm)
	if norm == 0 || math.IsNaN(norm) || math.IsInf(norm, 0) {
		return nil
	}
	out := make([]byte, 4+len(v))
	binary.LittleEndian.PutUint32(out, math.Float32bits(float32(most/norm/127)))
	for i, x := range v {
		out[4+i] = byte(int8(math.Round(float64(x) / most * 127)))
	}
	return out
}

// cosine returns the similarity of two packed vectors, or 0 if they cannot be compared.
func cosine(a, b []byte) float64 {
	if len(a) != len(b) || len(a) < 5 {
		return 0
	}
	sum := dot(a[4:], b[4:])
	scale := func(v []byte) float64 {
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(v)))
	}
	return float64(sum) * scale(a) * scale(b)
}

// dot returns the dot product of two vectors of signed bytes. An int32 is large enough for 100,000
// dimensions (127 * 127 * 100,000). It processes eight components at a time, which is faster than a
// simple loop.
func dot(x, y []byte) int32 {
	var a, b int32
	for len(x) >= 8 && len(y) >= 8 {
		p, q := (*[8]byte)(x), (*[8]byte)(y)
		a += int32(int8(p[0]))*int32(int8(q[0])) + int32(int8(p[1]))*int32(int8(q[1])) +
			int32(int8(p[2]))*int32(int8(q[2])) + int32(int8(p[3]))*int32(int8(q[3]))
		b += int32(int8(p[4]))*int32(int8(q[4])) + int32(int8(p[5]))*int32(int8(q[5])) +
			int32(int8(p[6]))*int32(int8(q[6])) + int32(int8(p[7]))*int32(int8(q[7]))
		x, y = x[8:], y[8:]
	}
	for i := range min(len(x), len(y)) {
		a += int32(int8(x[i])) * int32(int8(y[i]))
	}
	return a + b
}

// vectorCache caches the vectors for one state of the database.
type vectorCache struct {
	mu      sync.Mutex
	model   string
	version int64 // PRAGMA data_version, which counts changes by other connections
	changes int64 // total_changes, which counts changes by this connection
	valid   bool
	all     []vector
	sketch  sketches
}

type vector struct {
	id     int64
	owner  string
	key    string
	packed []byte
}

func (c *vectorCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.valid, c.all, c.sketch = false, nil, sketches{}
}

// loadVectors returns all vectors of a model and their sketches.
func (s *Store) loadVectors(ctx context.Context, db *sql.DB,
	model string) ([]vector, sketches, error) {
	c := &s.vectors
	c.mu.Lock()
	defer c.mu.Unlock()
	var version, changes int64
	if err := db.QueryRowContext(ctx,
		"SELECT data_version, total_changes() FROM pragma_data_version").Scan(&version,
		&changes); err != nil {
		return nil, sketches{}, err
	}
	if c.valid && c.model == model && c.version == version && c.changes == changes {
		return c.all, c.sketch, nil
	}
	rows, err := db.QueryContext(ctx,
		"SELECT id, owner, key, vector FROM memories WHERE model = ? AND vector IS NOT NULL", model)
	if err != nil {
		return nil, sketches{}, err
	}
	defer rows.Close()
	var all []vector
	for rows.Next() {
		var v vector
		if err := rows.Scan(&v.id, &v.owner, &v.key, &v.packed); err != nil {
			return nil, sketches{}, err
		}
		all = append(all, v)
	}
	c.model, c.version, c.changes, c.all, c.sketch, c.valid = model, version, changes, all,
		sketch(all), rows.Err() == nil
	return all, c.sketch, rows.Err()
}

// twin returns the ID of an owner's memory with the same meaning but another key, or 0.
func (s *Store) twin(ctx context.Context, db *sql.DB, owner, key string, e embedding) int64 {
	if e.packed == nil {
		return 0
	}
	all, _, err := s.loadVectors(ctx, db, e.model)
	if err != nil {
		s.warn("comparing memories", err)
		return 0
	}
	for _, v := range all {
		if v.owner == owner && v.key != key && cosine(v.packed, e.packed) >= twinCosine {
			return v.id
		}
	}
	return 0
}

// stillTwin returns twin, or 0 if that memory no longer has the same meaning. Another daemon may
// have changed or deleted the memory, and its ID may have been reused.
func stillTwin(ctx context.Context, tx *sql.Tx, twin int64, owner, key string,
	e embedding) (int64, error) {
	var packed []byte
	err := tx.QueryRowContext(ctx,
		"SELECT vector FROM memories WHERE id = ? AND owner = ? AND key <> ? AND model = ?", twin,
		owner, key, e.model).Scan(&packed)
	if errors.Is(err, sql.ErrNoRows) || err == nil && cosine(packed, e.packed) < twinCosine {
		return 0, nil
	}
	return twin, err
}

// meaningRank returns IDs by similarity, best first. It returns none if there are no embeddings.
func (s *Store) meaningRank(ctx context.Context, db *sql.DB, q Query, f filter) []int64 {
	asked := s.embed(ctx, q.Text)
	packed := asked.packed
	if packed == nil {
		return nil
	}
	all, sketched, err := s.loadVectors(ctx, db, asked.model)
	if err != nil {
		s.warn("comparing memories", err)
		return nil
	}
	allowed, err := f.tagged(ctx, db)
	if err != nil {
		s.warn("comparing memories", err)
		return nil
	}
	wanted := func(v *vector) bool {
		return slices.Contains(f.owners, v.owner) &&
			(allowed == nil || allowed[v.id])
	}
	near, compared := nearest(all, sketched.likeliest(packed, candidates), packed, wanted)
	if compared < candidates/4 { // if few vectors pass the filter, compare all of them
		near, _ = nearest(all, nil, packed, wanted)
	}
	slices.SortFunc(near, func(a, b likeness) int { return cmp.Compare(b.cos, a.cos) })
	var ids []int64
	for _, n := range near[:min(q.TopK, len(near))] {
		ids = append(ids, n.id)
	}
	return ids
}

// likeness is the similarity between a memory and a query.
type likeness struct {
	id  int64
	cos float64
}

// nearest compares vectors with a query. It compares only vectors for which wanted returns true
// and, unless places is nil, only vectors whose indexes are in places. It also returns the number
// of vectors that it compared.
func nearest(all []vector, places []int, packed []byte, wanted func(*vector) bool) (near []likeness,
	compared int) {
	compare := func(v *vector) {
		if !wanted(v) {
			return
		}
		compared++
		if c := cosine(v.packed, packed); c >= leastCosine {
			near = append(near, likeness{v.id, c})
		}
	}
	if places == nil {
		for i := range all {
			compare(&all[i])
		}
		return near, compared
	}
	for _, i := range places {
		compare(&all[i])
	}
	return near, compared
}

// tagged returns the memories that have one of the filter's tags, or nil if the filter has no tags.
func (f filter) tagged(ctx context.Context, db *sql.DB) (map[int64]bool, error) {
	if len(f.tags) == 0 {
		return nil, nil
	}
	ids, err := idsOf(ctx, db, "SELECT m.id FROM memories m WHERE "+f.where, f.args...)
	allowed := make(map[int64]bool, len(ids))
	for _, id := range ids {
		allowed[id] = true
	}
	return allowed, err
}

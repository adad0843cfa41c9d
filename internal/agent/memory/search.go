package memory

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

const (
	// DefaultTopK is the number of results if the query does not set one.
	DefaultTopK = 5
	// MaxTopK is the maximum number of results of one query.
	MaxTopK = 100
	// maxTerms is the maximum number of words in a query.
	maxTerms = 16
	// fusion is the constant that dampens ranks when two rankings are merged (reciprocal rank
	// fusion).
	fusion = 60
	// maxCommon is the maximum number of memories that may contain a word. A more common word is
	// ignored to save time if the query also has rarer words.
	maxCommon = 250
)

// Query is a search for memories.
type Query struct {
	Text  string   // words; "" returns the newest memories
	TopK  int      // 0: DefaultTopK
	Tags  []string // only memories with at least one of the tags; empty means all memories
	Scope string   // "" means the workspace and the user
}

// Search returns the best matches, best first. If there is an embedding function, the results of a
// semantic search are merged with those of the full-text search.
func (s *Store) Search(ctx context.Context, q Query) ([]Memory, error) {
	owners, err := s.owners(q.Scope)
	if err != nil {
		return nil, fmt.Errorf("searching memories: %w", err)
	}
	db, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	if q.TopK <= 0 {
		q.TopK = DefaultTopK
	}
	q.TopK = min(q.TopK, MaxTopK)
	q.Tags = cleanTags(q.Tags)
	f := filterOf(owners, q.Tags)
	found, err := s.search(ctx, db, q, f)
	if err != nil {
		return nil, fmt.Errorf("searching memories: %w", err)
	}
	return found, nil
}

func (s *Store) search(ctx context.Context, db *sql.DB, q Query, f filter) ([]Memory, error) {
	terms := termsOf(q.Text)
	if strings.TrimSpace(q.Text) == "" {
		return memoriesOf(ctx, db, selectMemory+" WHERE "+f.where+
			" ORDER BY m.updated DESC LIMIT ?", append(slices.Clone(f.args), q.TopK)...)
	}
	byText, err := textRank(ctx, db, terms, q, f)
	if err != nil {
		return nil, err
	}
	byMeaning := s.meaningRank(ctx, db, q, f)
	ids, scores := merge(q.TopK, byText, byMeaning)
	return byIDs(ctx, db, ids, scores)
}

// The sort orders: by relevance, weighted by key, tags and content, or the newest first if ranking
// would take too long.
const (
	byWords  = "bm25(texts, 3.0, 1.0, 2.0), m.updated DESC"
	byNewest = "texts.rowid DESC"
)

// filter is a condition that every memory in a result satisfies.
type filter struct {
	owners []string
	tags   []string
	where  string
	args   []any
}

func filterOf(owners, tags []string) filter {
	f := filter{owners: owners, tags: tags, where: "m.owner IN (?" +
		strings.Repeat(",?", len(owners)-1) + ")"}
	for _, o := range owners {
		f.args = append(f.args, o)
	}
	if len(tags) > 0 {
		f.where += " AND EXISTS (SELECT 1 FROM tags t WHERE t.id = m.id AND t.tag IN (?" +
			strings.Repeat(",?", len(tags)-1) + "))"
		for _, t := range tags {
			f.args = append(f.args, t)
		}
	}
	return f
}

// termsOf returns the words of a query as the full-text index splits them. In a script without
// spaces between words, the characters become a phrase.
func termsOf(text string) []string {
	var terms []string
	for _, w := range strings.FieldsFunc(strings.ToLower(text),
		func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsMark(r) &&
				!unicode.IsDigit(r)
		}) {
		for _, term := range splitScripts(w) {
			if !slices.Contains(terms, term) && len(terms) < maxTerms {
				terms = append(terms, term)
			}
		}
	}
	return terms
}

// splitScripts splits a word where a script without spaces begins or ends.
func splitScripts(word string) []string {
	var parts []string
	from, was := 0, false
	for i, r := range word {
		if is := spaceless(r); i == 0 {
			was = is
		} else if is != was {
			parts, from, was = append(parts, segmented(word[from:i])), i, is
		}
	}
	return append(parts, segmented(word[from:]))
}

// spaceless reports whether a rune belongs to a script without spaces between words.
func spaceless(r rune) bool {
	return r >= 0x0E00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}

// segmented puts spaces around each rune of a script without spaces, so that the index treats the
// rune as a word.
func segmented(text string) string {
	if !strings.ContainsFunc(text, spaceless) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if spaceless(r) {
			b.WriteByte(' ')
			b.WriteRune(r)
			b.WriteByte(' ')
			continue
		}
		b.WriteRune(r)
	}
	return strings.TrimSpace(b.String())
}

// textRank returns IDs from the full-text index, best first. It searches for memories that contain
// all words except very common ones. If it finds fewer than q.TopK, it also searches for memories
// that contain any of the words. If there are still none, it searches for memories with words that
// start with one of them.
func textRank(ctx context.Context, db *sql.DB, terms []string, q Query, f filter) ([]int64, error) {
	if len(terms) == 0 {
		return nil, nil
	}
	telling, err := tellingTerms(ctx, db, terms)
	if err != nil {
		return nil, err
	}
	order := byNewest
	if len(telling) > 0 {
		terms, order = telling, byWords
	}
	ids, err := match(ctx, db, quoted(terms, " ", ""), order, q.TopK, f)
	if err != nil || len(ids) == q.TopK {
		return ids, err
	}
	var more []int64
	// With a single word, the searches for all words and for any word are the same.
	if len(terms) > 1 {
		more, err = match(ctx, db, quoted(terms, " OR ", ""), order, q.TopK, f)
	}
	if err == nil && len(ids)+len(more) == 0 {
		more, err = match(ctx, db, quoted(terms, " OR ", "*"), byNewest, q.TopK, f)
	}
	for _, id := range more {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, err
}

func quoted(terms []string, sep, suffix string) string {
	out := make([]string, len(terms))
	for i, t := range terms {
		out[i] = `"` + t + `"` + suffix
	}
	return strings.Join(out, sep)
}

// tellingTerms returns the words except those that occur in no memory or in too many memories.
func tellingTerms(ctx context.Context, db *sql.DB, terms []string) ([]string, error) {
	var telling []string
	for _, t := range terms {
		var n int
		err := db.QueryRowContext(ctx,
			"SELECT count(*) FROM (SELECT 1 FROM texts WHERE texts MATCH ? LIMIT ?)", `"`+t+`"`,
			maxCommon+1).Scan(&n)
		if err != nil {
			return nil, err
		}
		if n > 0 && n <= maxCommon {
			telling = append(telling, t)
		}
	}
	return telling, nil
}

func match(ctx context.Context, db *sql.DB, expression, order string, topK int,
	f filter) ([]int64, error) {
	args := append([]any{expression}, f.args...)
	return idsOf(ctx, db, "SELECT m.id FROM texts JOIN memories m ON m.id = texts.rowid WHERE texts MATCH ? AND "+f.where+
		" ORDER BY "+order+" LIMIT ?", append(args, topK)...)
}

// merge combines rankings. A high rank in either ranking results in a high rank in the combined
// one. The scores are scaled so that a memory that is first in every ranking has a score of 1.
func merge(topK int, rankings ...[]int64) ([]int64, []float64) {
	score := map[int64]float64{}
	used := 0
	for _, ranking := range rankings {
		if len(ranking) > 0 {
			used++
		}
		for i, id := range ranking {
			score[id] += 1 / float64(fusion+i)
		}
	}
	ids := make([]int64, 0, len(score))
	for id := range score {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b int64) int {
		if c := cmp.Compare(score[b], score[a]); c != 0 {
			return c
		}
		return cmp.Compare(b, a)
	})
	ids = ids[:min(topK, len(ids))]
	scores := make([]float64, len(ids))
	for i, id := range ids {
		scores[i] = score[id] * fusion / float64(max(used, 1))
	}
	return ids, scores
}

func byIDs(ctx context.Context, db *sql.DB, ids []int64, scores []float64) ([]Memory, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	rows, err := db.QueryContext(ctx, selectMemory+" WHERE m.id IN (?"+
		strings.Repeat(",?", len(ids)-1)+")", args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := make(map[int64]Memory, len(ids))
	for rows.Next() {
		m, id, err := scanID(rows)
		if err != nil {
			return nil, err
		}
		found[id] = m
	}
	var out []Memory
	for i, id := range ids {
		if m, ok := found[id]; ok {
			m.Score = scores[i]
			out = append(out, m)
		}
	}
	return out, rows.Err()
}

func memoriesOf(ctx context.Context, db *sql.DB, query string, args ...any) ([]Memory, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var out []Memory
	for rows.Next() {
		m, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, rows.Err()
}

func idsOf(ctx context.Context, db *sql.DB, query string, args ...any) ([]int64, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

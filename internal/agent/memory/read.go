package memory

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

const selectMemory = "SELECT m.id, m.owner, m.key, m.content, m.tags, m.author, m.created, m.updated FROM memories m"

type scanner interface{ Scan(dest ...any) error }

func scan(row scanner) (Memory, error) {
	m, _, err := scanID(row)
	return m, err
}

func scanID(row scanner) (m Memory, id int64, err error) {
	var owner, tags string
	var created, updated int64
	if err := row.Scan(&id, &owner, &m.Key, &m.Content, &tags, &m.Author, &created,
		&updated); err != nil {
		return Memory{}, 0, err
	}
	m.Scope, m.CreatedAt, m.UpdatedAt = scopeOf(owner), time.Unix(0, created), time.Unix(0, updated)
	m.Tags = []string{}
	if err := json.Unmarshal([]byte(tags), &m.Tags); err != nil {
		return Memory{}, 0, fmt.Errorf("reading the tags of memory %s: %w", m.Key, err)
	}
	return m, id, nil
}

// Get returns a memory by its key. Without a scope, a memory of the workspace takes precedence over
// one of the user.
func (s *Store) Get(ctx context.Context, key, scope string) (Memory, error) {
	owners, err := s.owners(scope)
	if err != nil {
		return Memory{}, fmt.Errorf("reading memory %s: %w", key, err)
	}
	db, err := s.open(ctx)
	if err != nil {
		return Memory{}, err
	}
	for _, owner := range owners {
		m, err := scan(db.QueryRowContext(ctx, selectMemory+` WHERE m.owner = ?1 AND m.key = ?2
			OR m.id = (SELECT id FROM aliases WHERE owner = ?1 AND key = ?2)`, owner, key))
		if err == nil {
			m.Key = key
			return m, nil
		}
		if !errors.Is(err, sql.ErrNoRows) {
			return Memory{}, fmt.Errorf("reading memory %s: %w", key, err)
		}
	}
	return Memory{}, fmt.Errorf("reading memory %s: %w", key, ErrNotFound)
}

// owners returns the owners of the memories in a scope. Without a scope, these are the workspace
// and the user.
func (s *Store) owners(scope string) ([]string, error) {
	owner, err := s.owner(scope)
	if err != nil {
		return nil, err
	}
	if scope == "" {
		return []string{owner, "u"}, nil
	}
	return []string{owner}, nil
}

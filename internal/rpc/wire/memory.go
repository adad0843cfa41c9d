package wire

import "time"

// MemorySaveParams stores an entry that is kept across sessions.
type MemorySaveParams struct {
	Key     string   `json:"key"`
	Content string   `json:"content"`
	Tags    []string `json:"tags,omitzero"`
	Scope   string   `json:"scope,omitzero" enum:"workspace,user"`
}

// MemoryKeyParams names a memory.
type MemoryKeyParams struct {
	Key   string `json:"key"`
	Scope string `json:"scope,omitzero" enum:"workspace,user"`
}

// MemoryGetResult is one memory.
type MemoryGetResult struct {
	Memory MemoryEntry `json:"memory"`
}

// MemorySearchParams searches the memories.
type MemorySearchParams struct {
	Query       string   `json:"query"`
	TopK        int      `json:"topK,omitzero"`
	TagsInclude []string `json:"tagsInclude,omitzero"`
	Scope       string   `json:"scope,omitzero" enum:"workspace,user"`
}

// MemorySearchResult lists the matches, best first.
type MemorySearchResult struct {
	Memories []MemoryEntry `json:"memories"`
}

// MemoryEntry is an entry that is kept across sessions.
type MemoryEntry struct {
	Key       string    `json:"key"`
	Content   string    `json:"content"`
	Tags      []string  `json:"tags"`
	Scope     string    `json:"scope" enum:"workspace,user"`
	Score     float64   `json:"score,omitzero"`
	CreatedAt time.Time `json:"createdAt"`
	UpdatedAt time.Time `json:"updatedAt"`
}

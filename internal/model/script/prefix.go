package script

import (
	"crypto/sha256"
	"encoding/json"
)

// lookBack is the number of blocks, up to and including a marked one, at which the service searches
// for the end of a cached prefix.
const lookBack = 20

// prefixes is the set of request prefixes that the service has cached.
type prefixes map[[32]byte]bool

// bill contains numbers of input tokens: all tokens of the request, those read from the cache, and
// those written to the cache.
type bill struct{ total, read, written int }

// place is the end of a block in a request.
type place struct {
	prefix [32]byte
	tokens int // number of tokens up to and including the block
	marked bool
}

// bill computes how much of a request is cached, as the service does. It reads the longest cached
// prefix that ends at one of the last lookBack blocks up to a mark, and writes the part between
// that prefix and the last mark.
func (c prefixes) bill(r *messagesRequest) bill {
	places := r.places()
	var b bill
	last := -1
	for i, p := range places {
		b.total = p.tokens
		if !p.marked {
			continue
		}
		last = i
		for j := i; j >= 0 && j > i-lookBack; j-- {
			if c[places[j].prefix] {
				b.read = max(b.read, places[j].tokens)
				break
			}
		}
	}
	if last < 0 {
		return b
	}
	b.written = places[last].tokens - b.read
	for _, p := range places {
		if p.marked {
			c[p.prefix] = true
		}
	}
	return b
}

// places returns the ends of the blocks in a request: tools, system prompt and messages.
func (r *messagesRequest) places() (out []place) {
	var at [32]byte
	tokens := 0
	add := func(kind string, raw json.RawMessage, marked bool) {
		plain := unmarked(raw)
		at = sha256.Sum256(append(append(at[:], kind...), plain...))
		tokens += len(plain)/bytesPerToken + 1
		out = append(out, place{at, tokens, marked})
	}
	for _, t := range r.Tools {
		if t.Defer { // a deferred tool appears where a result refers to it
			continue
		}
		add("tool", t.raw, len(t.Cache) > 0)
	}
	for _, b := range r.System {
		add("system", b.raw, len(b.Cache) > 0)
	}
	for _, m := range r.Messages {
		for _, b := range m.Content {
			add(m.Role, b.raw, len(b.Cache) > 0)
		}
	}
	return out
}

// unmarked returns a block without its mark, because the mark is not cached.
func unmarked(raw json.RawMessage) []byte {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return raw
	}
	delete(members, "cache_control")
	b, _ := json.Marshal(members)
	return b
}

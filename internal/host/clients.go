package host

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/agent-lsp/agent-lsp/internal/workspace"
)

// Clients tracks the connections that use a host, and the subscribers and watchers to notify. Its
// methods may be called from any goroutine. Only Unsubscribe waits, for running calls of
// subscribers.
type Clients struct {
	feeds *feedTable

	subscribers atomic.Pointer[[]Subscriber]
	watchers    atomic.Pointer[[]*Watcher]
	proposals   atomic.Pointer[[]*func(workspace.ProposalEvent)]
	lists       sync.Mutex // serializes changes to the three lists above

	mu     sync.Mutex
	joined int // number of connections
}

func newClients(feeds *feedTable) *Clients {
	c := &Clients{feeds: feeds}
	c.subscribers.Store(&[]Subscriber{})
	c.watchers.Store(&[]*Watcher{})
	c.proposals.Store(&[]*func(workspace.ProposalEvent){})
	return c
}

// Subscribe adds a subscriber for the events of all sessions.
func (c *Clients) Subscribe(s Subscriber) {
	c.lists.Lock()
	defer c.lists.Unlock()
	list := append(slices.Clone(*c.subscribers.Load()), s)
	c.subscribers.Store(&list)
}

// Unsubscribe stops notifying s. When Unsubscribe returns, no call to s is in progress.
func (c *Clients) Unsubscribe(s Subscriber) {
	c.lists.Lock()
	isSame := func(o Subscriber) bool { return o == s }
	list := slices.DeleteFunc(slices.Clone(*c.subscribers.Load()), isSame)
	c.subscribers.Store(&list)
	c.lists.Unlock()
	c.feeds.mu.RLock()
	defer c.feeds.mu.RUnlock()
	for _, f := range c.feeds.byID {
		f.barrier()
	}
}

// Subscribed reports whether there is a subscriber.
func (c *Clients) Subscribed() bool { return len(*c.subscribers.Load()) > 0 }

// Watch calls w for each event except ItemDelta, until stop is called.
func (c *Clients) Watch(w Watcher) (stop func()) { return add(&c.lists, &c.watchers, w) }

// WatchProposals calls w each time a proposal changes, until stop is called. w must not block.
func (c *Clients) WatchProposals(w func(workspace.ProposalEvent)) (stop func()) {
	return add(&c.lists, &c.proposals, w)
}

// add adds a function to a list. Calling remove removes it.
func add[F any](mu *sync.Mutex, list *atomic.Pointer[[]*F], f F) (remove func()) {
	mu.Lock()
	defer mu.Unlock()
	longer := append(slices.Clone(*list.Load()), &f)
	list.Store(&longer)
	return func() {
		mu.Lock()
		defer mu.Unlock()
		shorter := slices.DeleteFunc(slices.Clone(*list.Load()), func(o *F) bool { return o == &f })
		list.Store(&shorter)
	}
}

// Join counts a new connection. It reports whether the connection is the first one. The first
// connection prepares the state that all connections share.
func (c *Clients) Join() (first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.joined++
	return c.joined == 1
}

// Leave undoes Join. It reports whether the connection was the last one. The last connection closes
// the host.
func (c *Clients) Leave() (last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.joined--
	return c.joined == 0
}

// Shared reports whether several connections use the host.
func (c *Clients) Shared() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.joined > 1
}

// feedTable maps session IDs to feeds.
type feedTable struct {
	mu   sync.RWMutex
	byID map[string]*feed
}

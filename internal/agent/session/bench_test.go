package session

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/agent"
	"github.com/agent-lsp/agent-lsp/internal/agent/message"
)

// fill appends n messages of about 1 KB each with their items, four per turn.
func fill(t testing.TB, s *Session, from, n int) {
	t.Helper()
	text := strings.Repeat("some text of a usual length with \"quotes\" and\nlines ", 16)
	now := s.lib.now()
	for i := from; i < from+n; i++ {
		id := fmt.Sprintf("m%06d", i)
		var m *message.Message
		it := agent.Item{ID: id, MessageID: id, CreatedAt: now}
		switch i % 4 {
		case 0:
			m, it.Type, it.Text = msg(id, message.RoleUser, text), agent.ItemUser, text
		case 1:
			m, it.Type, it.Text = msg(id, message.RoleAssistant, text, "k"+id), agent.ItemAssistant,
				text
		case 2:
			m, it.Type = result(id, fmt.Sprintf("km%06d", i-1), text), agent.ItemToolCall
			it.Call = &agent.CallItem{CallID: m.CallID, Name: "bash", Label: "Run ls", Result: text,
				Args: json.RawMessage(`{"command":"ls"}`)}
		default:
			m, it.Type, it.Text = msg(id, message.RoleAssistant, text), agent.ItemAssistant, text
			m.Usage = &message.Usage{Input: 1000, Output: 100, Total: 1100}
		}
		m.TurnID, m.Model = fmt.Sprintf("t%d", i/4), "some-model"
		must(t, s.Append(messageRecord(m)))
		s.AddItem(Item{Seq: s.NextSeq(), TurnID: m.TurnID, Item: it})
	}
}

func bigSession(t testing.TB, l *Library, n int) string {
	t.Helper()
	s := create(t, l)
	fill(t, s, 0, n)
	must(t, s.Append(agent.Record{Type: agent.RecordTurnEnd, Turn: &agent.Turn{TurnID: "t"}}))
	must(t, s.Close())
	return s.ID()
}

func BenchmarkAppend(b *testing.B) {
	for _, before := range []int{10, 10_000} {
		b.Run(fmt.Sprint(before), func(b *testing.B) {
			s := create(b, newLibrary(b))
			fill(b, s, 0, before)
			b.ReportAllocs()
			b.ResetTimer()
			fill(b, s, before, b.N)
		})
	}
}

func BenchmarkLoad10000(b *testing.B) {
	l := newLibrary(b)
	id := bigSession(b, l, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		in := load(b, l, id)
		if len(in.Messages) != 10_000 {
			b.Fatal(len(in.Messages))
		}
		b.StopTimer()
		in.Session.Close()
		b.StartTimer()
	}
}

func BenchmarkReplay10000(b *testing.B) {
	l := newLibrary(b)
	in := load(b, l, bigSession(b, l, 10_000))
	for b.Loop() {
		if items, err := in.Session.Items(0); err != nil || len(items) != 10_000 {
			b.Fatal(len(items), err)
		}
	}
}

func BenchmarkEntry(b *testing.B) {
	l := newLibrary(b)
	id := bigSession(b, l, 10_000)
	for b.Loop() {
		if e, err := OpenWith(l.dir, Options{}).Entry(id); err != nil || e.Messages != 10_000 {
			b.Fatal(e, err)
		}
	}
}

func BenchmarkList1000(b *testing.B) {
	l := newLibrary(b)
	for range 1000 {
		bigSession(b, l, 4)
	}
	for _, name := range []string{"cold", "warm"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if name == "cold" {
					l = OpenWith(l.dir, Options{now: time.Now})
				}
				if list, _, err := l.List(Query{Limit: -1}); err != nil || len(list) != 1000 {
					b.Fatal(len(list), err)
				}
			}
		})
	}
}

// An idle loaded session uses less memory than twice the size of its file.
func TestMemoryOfALoadedSession(t *testing.T) {
	l := newLibrary(t)
	id := bigSession(t, l, 10_000)
	info, err := os.Stat(l.logPath(id))
	must(t, err)
	before := heap()
	in := load(t, l, id)
	used := heap() - before
	t.Logf("file %d KiB, memory %d KiB", info.Size()>>10, used>>10)
	if used > 2*info.Size() {
		t.Errorf("a session of %d bytes uses %d bytes of memory", info.Size(), used)
	}
	runtime.KeepAlive(in)
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

package workspace

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/workspace/files"
)

// lines returns n distinct lines of about 80 bytes, some of which are not ASCII.
func lines(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "line %06d: the quick brown fox jumps over the lazy dög and then some more text\n", i)
	}
	return b.Bytes()
}

// BenchmarkDidChange types single characters at positions throughout the document.
func BenchmarkDidChange(b *testing.B) {
	for _, n := range []int{10_000, 62_000} {
		text := lines(n)
		b.Run(fmt.Sprintf("%d_lines_%d_KB", n, len(text)>>10), func(b *testing.B) {
			w := New(Options{})
			defer w.Close()
			must(b, w.DidOpen("untitled:x", "", 1, text))
			i := 0
			for b.Loop() {
				i++
				p := Position{Line: uint32(i*7919) % uint32(n), Character: 20}
				must(b, w.DidChange("untitled:x", int32(i),
					[]ContentChange{{Range: &Range{Start: p, End: p}, Text: []byte("x")}}))
			}
		})
		b.Run(fmt.Sprintf("%d_lines_read_between", n), func(b *testing.B) {
			w := New(Options{})
			defer w.Close()
			must(b, w.DidOpen("untitled:x", "", 1, bytes.Clone(text)))
			i := 0
			for b.Loop() {
				i++
				w.mu.Lock()
				// A reader holds a reference, so the next change copies the text.
				w.docs["untitled:x"].snapshot()
				w.mu.Unlock()
				p := Position{Line: uint32(i*7919) % uint32(n), Character: 20}
				must(b, w.DidChange("untitled:x", int32(i),
					[]ContentChange{{Range: &Range{Start: p, End: p}, Text: []byte("x")}}))
			}
		})
		b.Run(fmt.Sprintf("%d_lines_full_text", n), func(b *testing.B) {
			w := New(Options{})
			defer w.Close()
			must(b, w.DidOpen("untitled:x", "", 1, bytes.Clone(text)))
			i := 0
			for b.Loop() {
				i++
				next := bytes.Clone(text)
				next[len(next)/2] = byte('a' + i%26)
				must(b, w.DidChange("untitled:x", int32(i), []ContentChange{{Text: next}}))
			}
		})
	}
	b.Run("one_5_MB_line_utf16", func(b *testing.B) {
		w := New(Options{})
		defer w.Close()
		must(b, w.DidOpen("untitled:x", "", 1, bytes.Repeat([]byte("aä€x "), 600_000)))
		i := 0
		for b.Loop() {
			i++
			p := Position{Character: 2_000_000}
			must(b, w.DidChange("untitled:x", int32(i),
				[]ContentChange{{Range: &Range{Start: p, End: p}, Text: []byte("x")}}))
		}
	})
}

func BenchmarkProposeOneMegabyte(b *testing.B) {
	old := lines(13_000)
	for name, state := range map[string]bool{"stored": true, "memory": false} {
		for kind, next := range map[string][]byte{
			"modify": bytes.ReplaceAll(old, []byte("99: the"), []byte("99: a")),
			"create": old,
		} {
			b.Run(kind+"_"+name, func(b *testing.B) {
				be := newBench(b, map[string]string{"a.txt": string(old)},
					func(o *Options, _ *fakeEditor) {
						if o.OnProposal = nil; !state {
							o.StateDir = ""
						}
					})
				ch := Change{Op: Modify, Ref: be.ref("a.txt"), Data: next}
				if kind == "create" {
					ch = Change{Op: Create, Ref: be.ref("b.txt"), Data: next}
				}
				for b.Loop() {
					p, err := be.Propose(context.Background(),
						ProposeRequest{SessionID: "s", Policy: Ask, Changes: []Change{ch}})
					must(b, err)
					b.StopTimer()
					be.withdraw(be.proposals.byID[p.ID], "", proposalWithdrawn)
					b.StartTimer()
				}
			})
		}
	}
}

func manyHunks(b *testing.B, n int) (*bench, *Proposal, string) {
	old := lines(n * 4)
	next := old
	for _, d := range "036" {
		next = bytes.ReplaceAll(next, []byte(string(d)+": the"), []byte(string(d)+": a"))
	}
	be := newBench(b, map[string]string{"a.txt": string(old)},
		func(o *Options, _ *fakeEditor) { o.OnProposal = nil })
	be.ed.enc = UTF8
	be.SetEncoding(UTF8)
	be.ed.misbehave = func(e WorkspaceEdit) (ApplyReply, error) {
		// The text is prepared in advance, so that the editor's own time is not measured.
		be.ed.setAll(be.uri("a.txt"), string(next))
		return ApplyReply{Applied: true}, nil
	}
	be.ed.open(be.uri("a.txt"), string(old))
	p := be.propose(Ask, "a.txt", string(next))
	if len(p.Files[0].Hunks) < n {
		b.Fatalf("only %d hunks", len(p.Files[0].Hunks))
	}
	return be, p, string(old)
}

func BenchmarkResolveThousandHunks(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		be, p, _ := manyHunks(b, 1000)
		b.StartTimer()
		if r := be.decide(p, accept("*")); r.Proposal.State != StateApplied {
			b.Fatal(r.Proposal.State)
		}
		b.StopTimer()
		be.Workspace.Close()
		b.StartTimer()
	}
}

func BenchmarkKeystrokeOverThousandHunks(b *testing.B) {
	be, p, _ := manyHunks(b, 1000)
	i := int32(1)
	for b.Loop() {
		i++
		must(b, be.DidChange(be.uri("a.txt"), i,
			[]ContentChange{{Range: &Range{}, Text: []byte("x")}}))
	}
	if be.get(p.ID).Revision != 1 {
		b.Fatal("moving hunks changed the revision")
	}
}

// BenchmarkCheckpoint shows that the cost of a checkpoint depends on the number of bytes changed,
// and not on the size of the tree.
func BenchmarkCheckpoint(b *testing.B) {
	sync := files.SyncFile
	files.SyncFile = func(*os.File) error { return nil } // exclude disk latency, which varies
	defer func() { files.SyncFile = sync }()
	for _, files := range []int{10, bigTree()} {
		b.Run(fmt.Sprintf("tree_of_%d", files), func(b *testing.B) {
			be := newBench(b, map[string]string{"a.txt": ten},
				func(o *Options, _ *fakeEditor) { o.OnProposal = nil })
			be.grow(files)
			i := 0
			for b.Loop() {
				i++
				be.propose(Auto, "a.txt", strings.Replace(ten, "two", fmt.Sprint("two", i), 1))
			}
		})
	}
}

// bigTree returns the number of files in a large project. With WORKSPACE_BIG_TREE=1, it is 100,000.
func bigTree() int {
	if os.Getenv("WORKSPACE_BIG_TREE") == "" {
		return 5000
	}
	return 100_000
}

func (b *bench) grow(files int) {
	for i := range files {
		dir := b.path(fmt.Sprintf("d%d", i/1000))
		must(b.t, os.MkdirAll(dir, 0o755))
		must(b.t, os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o644))
	}
}

// TestCheckpointCostOfTree counts the allocations for an edit with its checkpoint, and for a
// restore, in a small tree and in a large one. If the other files were inspected, each of them
// would cause allocations.
func TestCheckpointCostOfTree(t *testing.T) {
	cost := func(files int) float64 {
		b := newBench(t, map[string]string{"a.txt": ten},
			func(o *Options, _ *fakeEditor) { o.OnProposal = nil })
		b.grow(files)
		b.turn("first", "a.txt", edited)
		b.wg.Wait()
		b.undo()
		i := 0
		return testing.AllocsPerRun(5, func() {
			i++
			b.turn(fmt.Sprint("t", i), "a.txt", edited)
			b.undo()
		})
	}
	small, large := cost(10), cost(bigTree())
	if large > 1.5*small+100 {
		t.Fatalf("an edit and its undo allocate %.0f times in a tree of 10 files, %.0f times in one of %d", small, large, bigTree())
	}
}

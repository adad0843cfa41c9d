package workspace

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-lsp/agent-lsp/internal/testspeed"
	"github.com/agent-lsp/agent-lsp/internal/workspace/files"
)

func TestMain(m *testing.M) {
	killHere()
	reviewHere()
	// The compression coders contain channels, which cannot be used outside the synctest bubble in
	// which they were created.
	s := files.NewBlobs("")
	sha, err := s.Put([]byte("warm"))
	if err == nil {
		_, err = s.Get(sha)
	}
	if err != nil {
		panic(err)
	}
	if flag.Parse(); flag.Lookup("test.bench").Value.String() == "" {
		files.SyncFile = func(*os.File) error { return nil }
	}
	os.Exit(testspeed.Run(m))
}

// inBubble runs a test of an editor that misbehaves, in a synctest bubble with a separate clock.
func inBubble(t *testing.T, name string, f func(t *testing.T, b *bench, uri string)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, map[string]string{"a.txt": ten, "b.txt": ten})
			uri := b.uri("a.txt")
			b.ed.open(uri, ten)
			f(t, b, uri)
			b.Workspace.Close()
		})
	})
}

func TestMisbehavingEditors(t *testing.T) {
	once := func(b *bench, f func(e WorkspaceEdit) (ApplyReply, error)) {
		n := 0
		b.ed.misbehave = func(e WorkspaceEdit) (ApplyReply, error) {
			if n++; n == 1 {
				return f(e)
			}
			return b.ed.honest(e), nil
		}
	}
	inBubble(t, "says applied and skips once", func(t *testing.T, b *bench, uri string) {
		once(b, func(WorkspaceEdit) (ApplyReply, error) { return ApplyReply{Applied: true}, nil })
		p := b.propose(Auto, "a.txt", edited)
		equal(t, "state", p.State, StateApplied)
		equal(t, "text", b.ed.text(uri), edited)
		equal(t, "requests", len(b.ed.requests), 2)
	})
	inBubble(t, "says applied and skips always", func(t *testing.T, b *bench, uri string) {
		b.ed.misbehave = func(WorkspaceEdit) (ApplyReply, error) {
			return ApplyReply{Applied: true},
				nil
		}
		p := b.propose(Auto, "a.txt", edited)
		equal(t, "state", p.State, StateConflict)
		equal(t, "text", b.ed.text(uri), ten)
		equal(t, "requests", len(b.ed.requests), 2)
		o, _ := b.Await(context.Background(), p.ID)
		if !strings.Contains(o.Text, "applied 0/3") || !strings.Contains(o.Text, "did not") {
			t.Fatal(o.Text)
		}
		equal(t, "nothing kept", len(b.Checkpoints("s")), 0)
	})
	inBubble(t, "skips in ask: the result names the conflict",
		func(t *testing.T, b *bench, uri string) {
			b.ed.misbehave = func(WorkspaceEdit) (ApplyReply, error) {
				return ApplyReply{Applied: true},
					nil
			}
			p := b.propose(Ask, "a.txt", edited)
			r := b.decide(p, accept("*"))
			equal(t, "state", r.Proposal.State, StateConflict)
			equal(t, "conflicts", len(r.Conflicts), 3)
			equal(t, "applied", len(r.Applied), 0)
		})
	inBubble(t, "refuses", func(t *testing.T, b *bench, uri string) {
		b.ed.misbehave = func(WorkspaceEdit) (ApplyReply,
			error) {
			return ApplyReply{FailureReason: "read-only buffer"}, nil
		}
		p := b.propose(Auto, "a.txt", edited)
		equal(t, "state", p.State, StateConflict)
		o, _ := b.Await(context.Background(), p.ID)
		if !strings.Contains(o.Text, "read-only buffer") {
			t.Fatal(o.Text)
		}
	})
	inBubble(t, "applies late, before the retry", func(t *testing.T, b *bench, uri string) {
		once(b, func(e WorkspaceEdit) (ApplyReply, error) {
			time.AfterFunc(900*time.Millisecond, func() { b.ed.honest(e) })
			return ApplyReply{Applied: true}, nil
		})
		p := b.propose(Auto, "a.txt", edited)
		equal(t, "state", p.State, StateApplied)
		equal(t, "text", b.ed.text(uri), edited)
		equal(t, "requests", len(b.ed.requests), 1)
	})
	inBubble(t, "applies late, after the retry was sent, without checking versions",
		func(t *testing.T, b *bench, uri string) {
			b.ed.misbehave = func(e WorkspaceEdit) (ApplyReply, error) {
				for i := range e.Documents {
					e.Documents[i].Version = nil
				}
				if strings.HasPrefix(b.ed.labels[len(b.ed.labels)-1], "agent: take back") {
					return b.ed.honest(e), nil
				}
				time.AfterFunc(1300*time.Millisecond, func() { b.ed.honest(e) })
				return ApplyReply{Applied: true}, nil
			}
			grown := strings.Replace(ten, "five\n", "five\nand a half\n", 1)
			p := b.propose(Auto, "a.txt", grown)
			equal(t, "state", p.State, StateApplied)
			time.Sleep(5 * time.Second)
			synctest.Wait()
			equal(t, "never doubled", b.ed.text(uri), grown)
		})
	inBubble(t, "applies after everybody gave up", func(t *testing.T, b *bench, uri string) {
		b.ed.misbehave = func(e WorkspaceEdit) (ApplyReply, error) {
			time.AfterFunc(4*time.Second, func() { b.ed.honest(e) })
			return ApplyReply{Applied: true}, nil
		}
		p := b.propose(Ask, "a.txt", edited)
		r := b.decide(p, accept("*"))
		equal(t, "state", r.Proposal.State, StateConflict)
		_, err := b.Await(context.Background(), p.ID)
		must(t, err)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		equal(t, "text", b.ed.text(uri), edited)
		equal(t, "recognized", b.get(p.ID).State, StateApplied)
		equal(t, "the model is informed", len(b.Outcomes("s", false)), 1)
		b.ed.mu.Lock()
		b.ed.misbehave = nil
		b.ed.mu.Unlock()
		b.undo()
		equal(t, "and it can be undone", b.ed.text(uri), ten)
	})
	inBubble(t, "abort while the apply is under way, which then ends well",
		func(t *testing.T, b *bench, uri string) {
			b.ed.misbehave = func(e WorkspaceEdit) (ApplyReply, error) {
				time.Sleep(500 * time.Millisecond)
				return b.ed.honest(e), nil
			}
			p := b.propose(Ask, "a.txt", edited)
			ctx, cancel := context.WithCancel(context.Background())
			go func() {
				_, _ = b.Decide(context.Background(),
					DecideRequest{ProposalID: p.ID,
						Decisions: []Decision{accept(p.Files[0].Hunks[0].ID)}})
			}()
			time.AfterFunc(100*time.Millisecond, cancel)
			o, err := b.Await(ctx, p.ID)
			must(t, err)
			equal(t, "reported as it ended", o.State, StatePartial)
			equal(t, "accepted", o.Accepted, 1)
			equal(t, "text", b.ed.text(uri), strings.Replace(ten, "two", "TWO", 1))
		})
	inBubble(t, "goes away with the decision half done", func(t *testing.T, b *bench, uri string) {
		b.ed.misbehave = func(e WorkspaceEdit) (ApplyReply, error) {
			return ApplyReply{}, errors.New("the connection is closed")
		}
		p := b.propose(Ask, "a.txt", edited, "b.txt", edited)
		r := b.decide(p, accept("*"))
		equal(t, "the open file", b.disk("a.txt"), ten)
		equal(t, "the closed file", b.disk("b.txt"), edited)
		equal(t, "conflicts", len(r.Conflicts), 3)
	})
	inBubble(t, "closes the document instead", func(t *testing.T, b *bench, uri string) {
		once(b, func(WorkspaceEdit) (ApplyReply, error) {
			b.ed.close(uri)
			return ApplyReply{Applied: true}, nil
		})
		p := b.propose(Ask, "a.txt", edited)
		r := b.decide(p, accept("*"))
		equal(t, "state", r.Proposal.State, StateApplied)
		equal(t, "written to disk then", b.disk("a.txt"), edited)
	})
	inBubble(t, "applies another way", func(t *testing.T, b *bench, uri string) {
		b.ed.misbehave = func(e WorkspaceEdit) (ApplyReply, error) {
			b.ed.setAll(uri, strings.ReplaceAll(edited, "TWO", "T W O"))
			return ApplyReply{Applied: true}, nil
		}
		p := b.propose(Ask, "a.txt", edited)
		r := b.decide(p, accept("*"))
		equal(t, "state", r.Proposal.State, StateConflict)
		equal(t, "left alone", b.ed.text(uri), strings.ReplaceAll(edited, "TWO", "T W O"))
		equal(t, "one request", len(b.ed.requests), 1)
		equal(t, "hunks", states(r.Proposal), "stale accepted accepted")
		equal(t, "conflicts", len(r.Conflicts), 1)
	})
	inBubble(t, "applies one hunk another way, another not at all",
		func(t *testing.T, b *bench, uri string) {
			partly := strings.Replace(strings.Replace(edited, "TWO", "T W O", 1), "FIVE", "five", 1)
			once(b, func(e WorkspaceEdit) (ApplyReply, error) {
				b.ed.setAll(uri, partly)
				return ApplyReply{Applied: true}, nil
			})
			p := b.propose(Ask, "a.txt", edited)
			r := b.decide(p, accept("*"))
			equal(t, "state", r.Proposal.State, StateConflict)
			equal(t, "hunks", states(r.Proposal), "stale pending accepted")
			equal(t, "conflicts", len(r.Conflicts), 2)
			equal(t, "applied", r.Applied[0].SHA256, HashOf([]byte(partly)))
			equal(t, "text", b.ed.text(uri), partly)
			r = b.decide(p, accept("*"))
			equal(t, "text in the end", b.ed.text(uri), strings.Replace(edited, "TWO", "T W O", 1))
			equal(t, "state in the end", r.Proposal.State, StatePartial)
		})
	inBubble(t, "one hunk in conflict leaves the others decidable",
		func(t *testing.T, b *bench, uri string) {
			once(b, func(e WorkspaceEdit) (ApplyReply, error) {
				b.ed.replace(uri, "two", "2")
				return ApplyReply{Applied: true}, nil
			})
			p := b.propose(Ask, "a.txt", edited)
			h := p.Files[0].Hunks
			r := b.decide(p, accept(h[0].ID))
			equal(t, "state", r.Proposal.State, StateConflict)
			equal(t, "hunks", states(r.Proposal), "stale pending pending")
			equal(t, "listed for the user", len(b.PendingAt(uri)), 1)
			equal(t, "reported", b.kinds()[1], "updated 2 conflict")
			opt := b.opt
			b.Workspace.Close()
			text := b.ed.text(uri)
			b.start(opt)
			must(t, b.LoadSession(context.Background(), "s"))
			b.ed.open(uri, text)
			equal(t, "after a restart", states(b.get(p.ID)), "stale pending pending")
			r = b.decide(p, accept(h[1].ID))
			equal(t, "while one is pending", r.Proposal.State, StateConflict)
			r = b.decide(p, reject(h[2].ID))
			equal(t, "in the end", r.Proposal.State, StatePartial)
			equal(t, "text", b.ed.text(uri),
				strings.NewReplacer("two", "2", "five", "FIVE").Replace(ten))
		})
	inBubble(t, "review: a hunk that the editor did not apply is not kept",
		func(t *testing.T, b *bench, uri string) {
			b.ed.misbehave = func(e WorkspaceEdit) (ApplyReply, error) {
				b.ed.setAll(uri, strings.Replace(edited, "TWO", "T W O", 1))
				return ApplyReply{Applied: true}, nil
			}
			p := b.propose(Review, "a.txt", edited)
			equal(t, "state", p.State, StateConflict)
			equal(t, "hunks", states(*p), "stale pending pending")
			b.ed.misbehave = nil
			r := b.decide(p, accept(p.Files[0].Hunks[0].ID))
			equal(t, "it cannot be accepted", len(r.Conflicts), 1)
			r = b.decide(p, reject(p.Files[0].Hunks[0].ID), accept("*"))
			equal(t, "it can be rejected", len(r.Conflicts), 0)
			equal(t, "in the end", states(r.Proposal), "rejected accepted accepted")
			equal(t, "text", b.ed.text(uri), strings.Replace(edited, "TWO", "T W O", 1))
		})
	inBubble(t, "formats after applying", func(t *testing.T, b *bench, uri string) {
		formatted := make(chan struct{}) // closed when the edit has been applied and formatted
		b.ed.misbehave = func(e WorkspaceEdit) (ApplyReply, error) {
			defer close(formatted)
			r := b.ed.honest(e)
			b.ed.setAll(uri, strings.ReplaceAll(edited, "\n", " \n"))
			b.ed.save(uri)
			return r, nil
		}
		p := b.propose(Auto, "a.txt", edited)
		equal(t, "state", p.State, StateApplied)
		<-formatted
		_, err := b.Await(context.Background(), p.ID)
		must(t, err)
		note, err := b.CheckStamp("s", b.read("a.txt"), false)
		must(t, err)
		if !strings.Contains(note, "formatted") {
			t.Fatalf("note %q", note)
		}
	})
	inBubble(t, "answers nothing but applies", func(t *testing.T, b *bench, uri string) {
		begin := time.Now()
		b.ed.setHang(func(e WorkspaceEdit) { b.ed.honest(e) })
		p := b.propose(Auto, "a.txt", edited)
		equal(t, "state", p.State, StateApplied)
		equal(t, "time", time.Since(begin), 0)
	})
	inBubble(t, "answers nothing and does nothing", func(t *testing.T, b *bench, uri string) {
		b.ed.setHang(func(WorkspaceEdit) {})
		p := b.propose(Ask, "a.txt", edited)
		begin := time.Now()
		r := b.decide(p, accept("*"))
		equal(t, "bounded", time.Since(begin), replyWait)
		equal(t, "conflicts", len(r.Conflicts), 3)
		equal(t, "still open", r.Proposal.State, StateProposed)
		b.ed.setHang(nil)
		equal(t, "again", b.decide(p, accept("*")).Proposal.State, StateApplied)
	})
	inBubble(t, "user types between request and apply", func(t *testing.T, b *bench, uri string) {
		once(b, func(e WorkspaceEdit) (ApplyReply, error) {
			b.ed.replace(uri, "seven", "SEVEN by user")
			return b.ed.honest(e), nil
		})
		p := b.propose(Auto, "a.txt", edited)
		equal(t, "state", p.State, StateApplied)
		equal(t, "text", b.ed.text(uri), strings.Replace(edited, "seven", "SEVEN by user", 1))
	})
	inBubble(t, "abort while the editor is silent", func(t *testing.T, b *bench, uri string) {
		b.ed.setHang(func(WorkspaceEdit) {})
		p := b.propose(Ask, "a.txt", edited)
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			_, _ = b.Decide(context.Background(),
				DecideRequest{ProposalID: p.ID, Decisions: []Decision{accept("*")}})
		}()
		time.AfterFunc(time.Second, cancel)
		begin := time.Now()
		o, err := b.Await(ctx, p.ID)
		must(t, err)
		equal(t, "state", o.State, StateWithdrawn)
		if d := time.Since(begin); d > 2*time.Second {
			t.Fatalf("abort took %v", d)
		}
		time.Sleep(time.Minute)
	})
}

// states lists the states of a proposal's hunks.
func states(p Proposal) string {
	var out []string
	for _, f := range p.Files {
		for _, h := range f.Hunks {
			out = append(out, string(h.State))
		}
	}
	return strings.Join(out, " ")
}

// TestTypingWhileApplied simulates typing at every position, next to and within each line. The
// typing happens either while an edit is prepared or while its request is in progress. No typed
// text may be lost, and no line may be torn.
func TestTypingWhileApplied(t *testing.T) {
	defer func() { files.AtStep = func(string) {} }()
	for at := range len(ten) + 1 {
		for _, moment := range []string{"intent kept", "request"} {
			inBubble(t, fmt.Sprintf("at %d, %s", at, moment),
				func(t *testing.T, b *bench, uri string) {
					typed := false
					typing := func(now string) {
						if !typed && now == moment {
							typed = true
							b.ed.type_(uri, at, at, "TYPED\n")
						}
					}
					files.AtStep = typing
					b.ed.misbehave = func(e WorkspaceEdit) (ApplyReply, error) {
						typing("request")
						return b.ed.honest(e), nil
					}
					b.propose(Auto, "a.txt", edited)
					rest := strings.Replace(b.ed.text(uri), "TYPED\n", "", 1)
					if !typed || rest == b.ed.text(uri) || len(rest) != len(ten) ||
						!strings.EqualFold(rest, ten) {
						t.Fatalf("typed text is lost, or a line is torn:\n%s", b.ed.text(uri))
					}
				})
		}
	}
}

// TestVersionCheckLostAfterFirst simulates Neovim, which checks only the first document's version.
func TestVersionCheckLostAfterFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, map[string]string{"a.txt": ten, "b.txt": ten},
			func(_ *Options, f *fakeEditor) { f.features.FirstVersionOnly = true })
		ua, ub := b.uri("a.txt"), b.uri("b.txt")
		b.ed.open(ua, ten)
		b.ed.open(ub, ten)
		typed := false
		b.ed.misbehave = func(e WorkspaceEdit) (ApplyReply, error) {
			if !typed && e.Documents[0].URI == ub {
				typed = true
				b.ed.type_(ub, 0, 0, "zero\n")
			}
			for i := range e.Documents[1:] {
				e.Documents[i+1].Version = nil
			}
			return b.ed.honest(e), nil
		}
		p := b.propose(Auto, "a.txt", edited, "b.txt", edited)
		equal(t, "state", p.State, StateApplied)
		equal(t, "b.txt", b.ed.text(ub), "zero\n"+edited)
		for _, r := range b.ed.requests {
			equal(t, "documents per request", len(r.Documents), 1)
		}
		b.Workspace.Close()
	})
}

func TestSteerRejectsUndecided(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten})
	p := b.propose(Ask, "a.txt", edited)
	b.decide(p, accept(p.Files[0].Hunks[0].ID))
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(steerCause{"do it otherwise"})
	o, err := b.Await(ctx, p.ID)
	must(t, err)
	equal(t, "state", o.State, StatePartial)
	if !strings.Contains(o.Text, `hunk 2 rejected: "do it otherwise"`) {
		t.Fatal(o.Text)
	}
	equal(t, "disk", b.disk("a.txt"), strings.Replace(ten, "two", "TWO", 1))
}

// TestRestartLeavesPending checks that the end of the process does not decide a proposal.
func TestRestartLeavesPending(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten})
	p := b.propose(Ask, "a.txt", edited)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(restartCause{errors.New("the end")})
	o, err := b.Await(ctx, p.ID)
	must(t, err)
	equal(t, "cut off", o.CutOff, true)
	equal(t, "text", o.Text, "interrupted by a restart; proposal "+p.ID+" is still pending")
	if b.StoredPending(p.SessionID, p.ItemID) != p.ID {
		t.Error("the proposal is not stored as pending")
	}
	b.decide(p, accept(p.Files[0].Hunks[0].ID))
}

type restartCause struct{ error }

func (restartCause) Restarts() bool { return true }

type steerCause struct{ text string }

func (s steerCause) Error() string     { return s.text }
func (s steerCause) SteerText() string { return s.text }

func TestBadDecisions(t *testing.T) {
	b := newBench(t, map[string]string{"a.txt": ten})
	p := b.propose(Ask, "a.txt", edited)
	h := p.Files[0].Hunks
	try := func(rev int, ds ...Decision) error {
		_, err := b.Decide(context.Background(),
			DecideRequest{ProposalID: p.ID, Revision: &rev, Decisions: ds})
		return err
	}
	if err := try(1, accept("h_nothing")); !errors.Is(err, ErrUnknownHunk) {
		t.Fatal(err)
	}
	if err := try(1, Decision{HunkID: "*", Action: "perhaps"}); !errors.Is(err, ErrBadDecision) {
		t.Fatal(err)
	}
	_, err := b.Decide(context.Background(), DecideRequest{ProposalID: "p_x"})
	if !errors.Is(err, ErrUnknownProposal) {
		t.Fatal(err)
	}
	must(t, try(1, accept(h[0].ID)))
	var se *StaleError
	if err := try(1, accept(h[1].ID)); !errors.As(err, &se) || se.Proposal.Revision != 2 {
		t.Fatal(err)
	}
	r := b.decide(p, accept(h[0].ID))
	equal(t, "same again", len(r.Conflicts), 0)
	r = b.decide(p, reject(h[0].ID))
	equal(t, "otherwise", len(r.Conflicts), 1)
	equal(t, "disk", b.disk("a.txt"), strings.Replace(ten, "two", "TWO", 1))
}

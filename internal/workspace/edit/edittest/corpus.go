package edittest

import (
	"fmt"
	"slices"
	"strings"
)

// Case is one call from the table with its expected outcome.
type Case struct {
	Name   string
	Intent Intent
	Noise  Noise
	Call   Call
	// Tier is the tier at which the call must be applied. It is "" if any tier is valid, or if the
	// call must be refused.
	Tier string
}

// perTemplate is the number of cases for each combination of a format and a kind of noise.
const perTemplate = 3

// kind is a kind of noise.
type kind struct {
	name  string
	noise Noise
	tier  string
}

// kinds lists the kinds of noise in the table. tier is the tier that finds a search text with that
// noise.
var kinds = []kind{
	{"faultless", Noise{Context: 2}, "T0"},
	{"little context", Noise{Context: 0}, ""},
	{"one line of context", Noise{Context: 1}, "T0"},
	{"CRLF in the call", Noise{Context: 2, CRLF: true}, "T0"},
	{"fenced", Noise{Context: 1, Fence: true}, ""},
	{"prose around", Noise{Context: 2, Prose: true, Fence: true}, ""},
	{"trailing space left out", Noise{Context: 3, Trimmed: true}, "T2"},
	{"typographic characters as ASCII", Noise{Context: 3, ASCII: true}, "T4"},
	{"outdented", Noise{Context: 1, Outdented: true}, "T3"},
	{"spaces for tabs", Noise{Context: 2, Spaces: 4}, "T3"},
	{"line numbers", Noise{Context: 1, Numbers: true}, "T1"},
	{"ended by a line break", Noise{Context: 1, Ended: true}, "T0"},
	{"wrong line numbers", Noise{Context: 2, Header: Header{Offset: 7}}, "T0"},
	{"wrong counts", Noise{Context: 2, Header: Header{WrongCounts: true}}, "T0"},
	{"no line numbers", Noise{Context: 2, Header: Header{NoRange: true}}, "T0"},
	{"bare blank lines", Noise{Context: 3, BareBlank: true}, "T0"},
	{"name as a heading", Noise{Context: 1, Decorated: 3, Fence: true}, ""},
	{"name in backticks, once", Noise{Context: 1, Decorated: 1, NameOnce: true}, "T0"},
	{"marked end of the file", Noise{Context: 2, EndMark: true}, "T0"},
	{"a line that the file lacks", Noise{Context: 2, Stale: true}, ""},
	{"a line left out", Noise{Context: 1, Gap: true}, ""},
}

// Table returns the cases: every format with every kind of noise, each with some of the intents
// that the noise affects.
func Table(eol string) []Case {
	intents := corpus(eol)
	var out []Case
	at := 0 // never reset, so that each template gets different intents
	for f := range Formats {
		for _, k := range kinds {
			n := 0
			for range intents {
				in := intents[at%len(intents)]
				at++
				fitted := k.noise.Fit(in)
				c, ok := Write(fitted, f, k.noise, func(int) int { return 0 })
				if !ok || c.Hidden || !k.affects(fitted, f, c) {
					continue
				}
				n++
				out = append(
					out,
					Case{
						fmt.Sprintf("%s/%s/%d", f, k.name, n),
						fitted,
						k.noise,
						c,
						tierOf(fitted, f, k.noise, k.tier),
					},
				)
				if n == perTemplate {
					break
				}
			}
		}
	}
	return out
}

// affects reports whether the noise makes the call differ from the correct call.
func (k kind) affects(in Intent, f Format, c Call) bool {
	if k.noise.Doomed() || k.name == "faultless" {
		return true
	}
	plain, _ := Write(in, f, Noise{Context: 2}, func(int) int { return 0 })
	if k.noise.Context != 2 && f != Whole {
		plain, _ = Write(in, f, Noise{Context: k.noise.Context}, func(int) int { return 0 })
		if k.noise == (Noise{Context: k.noise.Context}) {
			return true
		}
	}
	return plain.Patch != c.Patch || !slices.Equal(plain.Pairs, c.Pairs) ||
		c.Content != nil && plain.Content != nil && *c.Content != *plain.Content
}

// tierOf returns the tier that finds a call in the given format. Some noise does not reach the
// matcher: a complete file is not matched at all, and the fence around a patch is removed before
// matching. A fence around pairs requires T1. A last line without a line ending may require another
// tier.
func tierOf(in Intent, f Format, n Noise, tier string) string {
	switch {
	case f == Whole, n.Doomed(), in.NoFinalEOL:
		return ""
	case n.Fence && (f == Single || f == Multi):
		return "T1"
	case n.Fence:
		return "T0"
	}
	return tier
}

// corpus returns handwritten intents for realistic files.
func corpus(eol string) []Intent {
	var out []Intent
	add := func(path, text string, edits ...[3]string) {
		text = strings.TrimPrefix(text, "\n")
		in := Intent{
			Path:       path,
			EOL:        eol,
			NoFinalEOL: !strings.HasSuffix(text, "\n"),
			Lines:      strings.Split(strings.TrimSuffix(text, "\n"), "\n"),
		}
		for _, e := range edits {
			one := in
			one.Changes = []Change{in.changeOf(e)}
			out = append(out, one)
		}
		// Also put two edits into one call, if they are far enough apart.
		for i := 0; i+1 < len(edits); i += 2 {
			a, b := in.changeOf(edits[i]), in.changeOf(edits[i+1])
			if a.From > b.From {
				a, b = b, a
			}
			if b.From >= a.To+2 {
				two := in
				two.Changes = []Change{a, b}
				out = append(out, two)
			}
		}
	}
	for _, f := range files {
		add(f.path, f.text, f.edits...)
	}
	return out
}

// changeOf parses an edit: its first line, its last line ("" if it is the same; "+" to insert after
// the first line), and the new lines.
func (in Intent) changeOf(e [3]string) Change {
	from := slices.Index(in.Lines, e[0])
	if from < 0 {
		panic("edittest: no line " + e[0])
	}
	c := Change{From: from, To: from + 1}
	switch e[1] {
	case "":
	case "+":
		c.From++
	default:
		c.To = from + 1 + slices.Index(in.Lines[from:], e[1])
	}
	if e[2] != "" {
		c.New = strings.Split(e[2], "\n")
	}
	return c
}

var files = []struct {
	path, text string
	edits      [][3]string
}{
	{"server.go", `
package server

import (
	"context"
	"net/http"
)

// Server answers requests.
type Server struct {
	addr  string
	limit int
}

// Run listens until the context ends.
func (s *Server) Run(ctx context.Context) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/health", s.health)
	srv := &http.Server{Addr: s.addr, Handler: mux}
	go func() {
		<-ctx.Done()
		_ = srv.Close()
	}()
	if err := srv.ListenAndServe(); err != nil {
		return err
	}
	return nil
}

func (s *Server) health(w http.ResponseWriter, r *http.Request) {
	w.WriteHeader(http.StatusOK)
}
`, [][3]string{
		{"	limit int", "", "	limit int64"},
		{
			"	w.WriteHeader(http.StatusOK)",
			"",
			"	w.Header().Set(\"Cache-Control\", \"no-store\")\n	w.WriteHeader(http.StatusOK)",
		},
		{"	\"context\"", "+", "	\"errors\""},
		{
			"	if err := srv.ListenAndServe(); err != nil {",
			"	return nil",
			"	err := srv.ListenAndServe()\n	if errors.Is(err, http.ErrServerClosed) {\n		return nil\n	}\n	return err",
		},
		{"	mux.HandleFunc(\"/health\", s.health)", "", ""},
		{"		_ = srv.Close()", "", "		_ = srv.Shutdown(context.Background())"},
	}},
	{"tasks.py", `
import logging
from dataclasses import dataclass

log = logging.getLogger(__name__)


@dataclass
class Task:
    name: str
    done: bool = False

    def finish(self):
        if self.done:
            raise ValueError("done already")
        self.done = True
        log.info("finished %s", self.name)

    def reopen(self):
        self.done = False
        log.info("reopened %s", self.name)


def pending(tasks):
    result = []
    for task in tasks:
        if not task.done:
            result.append(task)
    return result
`, [][3]string{
		{"    done: bool = False", "", "    done: bool = False\n    owner: str = \"\""},
		{
			"    result = []",
			"    return result",
			"    return [task for task in tasks if not task.done]",
		},
		{"            raise ValueError(\"done already\")", "", "            return"},
		{"        log.info(\"reopened %s\", self.name)", "", ""},
		{"import logging", "", "import logging\nimport time"},
		{
			"        self.done = True",
			"        log.info(\"finished %s\", self.name)",
			"        self.done = True\n        self.at = time.time()\n        log.info(\"finished %s at %s\", self.name, self.at)",
		},
	}},
	{"cart.ts", `
export interface Item {
  sku: string;
  price: number;
  count: number;
}

export class Cart {
  private items: Item[] = [];

  add(item: Item): void {
    const known = this.items.find((i) => i.sku === item.sku);
    if (known) {
      known.count += item.count;
      return;
    }
    this.items.push(item);
  }

  total(): number {
    let sum = 0;
    for (const item of this.items) {
      sum += item.price * item.count;
    }
    return sum;
  }
}
`, [][3]string{
		{"  price: number;", "", "  price: bigint;"},
		{
			"    let sum = 0;",
			"    return sum;",
			"    return this.items.reduce((sum, i) => sum + i.price * i.count, 0);",
		},
		{
			"      known.count += item.count;",
			"",
			"      known.count = Math.min(known.count + item.count, 99);",
		},
		{"    this.items.push(item);", "+", "    this.changed();"},
		{"  private items: Item[] = [];", "", "  private readonly items: Item[] = [];"},
		{
			"    if (known) {",
			"    }",
			"    if (known !== undefined) {\n      this.merge(known, item);\n      return;\n    }",
		},
	}},
	{"notes.md", `
# Release notes

It’s a “small” release – mostly fixes.  

## Fixed
- The parser’s limit is no longer off by one.
- Windows paths work…

## Changed
- The flag “--fast” is now the default.  
- Logs go to stderr.

## Thanks
Everybody who sent a report – thank you.
`, [][3]string{
		{"- Logs go to stderr.", "", "- Logs go to the journal."},
		{
			"- The parser’s limit is no longer off by one.",
			"",
			"- The lexer’s limit is no longer off by one.",
		},
		{
			"## Thanks",
			"Everybody who sent a report – thank you.",
			"## Credits\nEverybody who wrote.",
		},
		{"- Windows paths work…", "", ""},
		{"## Changed", "", "## Changed and removed"},
		{"# Release notes", "", "# Notes of release 2"},
	}},
	{"deploy.yaml", `
name: deploy
on:
  push:
    branches: [main]
jobs:
  build:
    runs-on: ubuntu-22.04  
    steps:
      - uses: actions/checkout@v4
      - name: Test
        run: make test
      - name: Build
        run: make build  
  publish:
    needs: build
    runs-on: ubuntu-24.04
    steps:
      - run: make publish`, [][3]string{
		{"        run: make test", "", "        run: make test race"},
		{"    branches: [main]", "", "    branches: [main, next]"},
		{"      - name: Test", "        run: make test", "      - run: make test"},
		{"    needs: build", "", "    needs: [build]\n    if: github.ref == 'refs/heads/main'"},
		{"      - run: make publish", "", "      - run: make publish sign"},
		{"  push:", "    branches: [main]", "  workflow_dispatch:"},
	}},
	{"Makefile", `
GO ?= go
BIN := bin/app

.PHONY: all test clean

all: $(BIN)

$(BIN): $(shell find . -name '*.go')
	@mkdir -p bin
	$(GO) build -o $@ ./cmd/app

test:
	$(GO) vet ./...
	$(GO) test ./...

clean:
	rm -rf bin
`, [][3]string{
		{"	$(GO) test ./...", "", "	$(GO) test -race ./..."},
		{"	@mkdir -p bin", "", ""},
		{
			"	$(GO) build -o $@ ./cmd/app",
			"",
			"	CGO_ENABLED=0 $(GO) build -trimpath -o $@ ./cmd/app",
		},
		{
			"test:",
			"	$(GO) test ./...",
			"test: vet\n	$(GO) test ./...\n\nvet:\n	$(GO) vet ./...",
		},
		{"	rm -rf bin", "", "	rm -rf bin dist"},
		{"BIN := bin/app", "+", "FLAGS :="},
	}},
}

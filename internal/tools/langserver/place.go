package langserver

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agent-lsp/agent-lsp/internal/workspace"
	"github.com/agent-lsp/agent-lsp/internal/workspace/text"
)

// place finds the position that the model's arguments describe. The errors are for the model.
func (h *Hub) place(ctx context.Context, r *render, a args) (place, error) {
	if a.Path == "" {
		if a.Symbol == "" {
			return place{}, errors.New("no position is given: send path with line and column, or a symbol")
		}
		return h.anywhere(ctx, r, a.Symbol)
	}
	f, err := h.file(ctx, a)
	if err != nil {
		return place{}, err
	}
	if a.Line > 0 {
		offset, err := offsetAt(f, a)
		return place{f, offset}, err
	}
	if a.Symbol == "" {
		return place{}, errors.New("no position is given: send line and column, or a symbol, with the path")
	}
	return h.inFile(ctx, r, f, a.Symbol)
}

// offsetAt returns the offset of the 1-based line and column in a. The column counts characters.
// Without a column, it returns the offset of the symbol on that line or, without a symbol, of the
// first character that is not white space.
func offsetAt(f *workspace.File, a args) (int, error) {
	body := f.Text.Data
	index := text.NewLineIndex(body)
	lines := index.Lines()
	if a.Line > lines {
		return 0, fmt.Errorf("line %d is past the end: %s has %d lines", a.Line, f.Ref, lines)
	}
	start := index.Offset(body, workspace.Position{Line: uint32(a.Line - 1)}, workspace.UTF8)
	end := index.Offset(body, workspace.Position{Line: uint32(a.Line - 1), Character: 1<<31 - 1},
		workspace.UTF8)
	line := body[start:end]
	switch {
	case a.Column > 0:
		n := utf8.RuneCount(line)
		if a.Column > n+1 {
			return 0, fmt.Errorf("column %d is past the end: line %d of %s has %d characters: %s",
				a.Column, a.Line, f.Ref, n, shown(string(line)))
		}
		for range a.Column - 1 {
			_, size := utf8.DecodeRune(line)
			line, start = line[size:], start+size
		}
		return start, nil
	case a.Symbol != "":
		at := text.WordAt(line, lastName(a.Symbol))
		if at < 0 {
			return 0, fmt.Errorf("%s is not on line %d of %s: %s", a.Symbol, a.Line, f.Ref,
				shown(string(line)))
		}
		return start + at, nil
	}
	return start + len(line) - len(bytes.TrimLeftFunc(line, unicode.IsSpace)), nil
}

// inFile finds a symbol by name in a file. It returns the declaration or, if there is none, the
// first occurrence of the name.
func (h *Hub) inFile(ctx context.Context, r *render, f *workspace.File,
	name string) (place, error) {
	ans, err := h.ask(ctx, opDocumentSymbol, place{file: f})
	var found []symbol
	if err == nil {
		for _, s := range decodeSymbols(ans.raw) {
			if s.named(name) {
				s.uri = f.Ref.URI
				found = append(found, s)
			}
		}
	}
	switch {
	case len(found) > 1:
		return place{}, r.ambiguous(name, found, ans.enc)
	case len(found) == 1:
		return place{f, nameOffset(f, found[0], ans.enc)}, nil
	}
	if at := text.WordAt(f.Text.Data, lastName(name)); at >= 0 {
		return place{f, at}, nil
	}
	return place{}, fmt.Errorf("%s does not occur in %s; omit the path to search the whole workspace", name, f.Ref)
}

// anywhere finds a symbol by name in the workspace.
func (h *Hub) anywhere(ctx context.Context, r *render, name string) (place, error) {
	answers, err := h.symbols(ctx, lastName(name))
	if err != nil {
		return place{}, err
	}
	var found, near []symbol
	enc := answers[0].enc
	for _, ans := range answers {
		for _, s := range decodeSymbols(ans.raw) {
			if ans.enc == enc && s.named(name) {
				found = append(found, s)
			} else if ans.enc == enc {
				near = append(near, s)
			}
		}
	}
	switch {
	case len(found) > 1:
		return place{}, r.ambiguous(name, found, enc)
	case len(found) == 1:
		f := r.read(found[0].uri)
		if f == nil {
			return place{}, fmt.Errorf("%s is declared outside the workspace or in a secret file, in %s",
				name, r.path(found[0].uri))
		}
		return place{f, nameOffset(f, found[0], enc)}, nil
	case len(near) > 0:
		return place{}, fmt.Errorf("no symbol is named %s. Similar:\n%s", name,
			r.symbolLines(near, enc, 10))
	}
	return place{}, fmt.Errorf("no data: no language server knows a symbol %s; try workspaceSymbol with a part of the name, or grep", name)
}

// nameOffset returns the offset of a symbol's name. Some servers return the range of the complete
// declaration.
func nameOffset(f *workspace.File, s symbol, enc workspace.Encoding) int {
	body := f.Text.Data
	index := text.NewLineIndex(body)
	start, end := index.Offset(body, s.at.Start, enc), index.Offset(body, s.at.End, enc)
	if at := text.WordAt(body[start:max(start, end)], lastName(s.name)); at >= 0 {
		return start + at
	}
	return start
}

// lastName returns the last part of a qualified name, such as "Close" from "(*File).Close".
func lastName(name string) string {
	name = strings.TrimSuffix(strings.TrimSpace(name), "()")
	return name[strings.LastIndexAny(name, ".:#)/")+1:]
}

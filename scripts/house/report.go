package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/packages"
)

// The limits above which the report lists a part of the code.
const (
	packageLines    = 4000
	fileLines       = 500
	functionLines   = 60
	structFields    = 20
	exportedMethods = 20
	guards          = 2
)

// maxExceptions is the maximum number of parts that may exceed a limit, each with a reason.
const maxExceptions = 10

// large is one finding of the report.
type large struct {
	text   string
	reason string // reason of an exception, from the directive next to it, or ""
}

// A directive in the comment of a package, type or function gives the reason why it may be large:
//
//	//house:large a reason
//
// wireDirective does the same for a struct that mirrors JSON. Its reason is wireReason.
const (
	largeDirective = "//house:large"
	wireDirective  = "//house:wire"
	wireReason     = "the protocol, or the format of the settings or of hooks, defines the fields"
)

// reporter collects the findings.
type reporter struct {
	found []large
	used  map[*ast.Comment]bool // directives that apply to a finding
}

// report lists the parts of the code that exceed a limit. Promoted methods are counted as methods.
func report(pkgs []*packages.Package) (found []large, unused []string) {
	r := &reporter{used: map[*ast.Comment]bool{}}
	for _, p := range pkgs {
		total := 0
		var doc *ast.CommentGroup
		for _, file := range p.Syntax {
			f := p.Fset.File(file.Pos())
			total += f.LineCount()
			if directive(file.Doc) != nil {
				doc = file.Doc
			}
			if f.LineCount() > fileLines {
				r.add(nil, "%s: %d lines", short(f.Name()), f.LineCount())
			}
			r.functions(p.Fset, file)
		}
		name := strings.TrimPrefix(p.PkgPath, module+"/")
		if total > packageLines {
			r.add(doc, "package %s: %d lines", name, total)
		}
		comments := typeComments(p.Syntax)
		for _, n := range p.Types.Scope().Names() {
			r.types(name, p.Types.Scope().Lookup(n), comments[n])
		}
	}
	eachFile(pkgs, func(p *packages.Package, file *ast.File) {
		for _, g := range file.Comments {
			if c := directive(g); c != nil && !r.used[c] {
				unused = append(
					unused,
					fmt.Sprintf("%s: nothing here is large: delete the directive",
						p.Fset.Position(c.Pos())),
				)
			}
		}
	})
	return r.found, unused
}

func (r *reporter) add(doc *ast.CommentGroup, format string, args ...any) {
	l := large{text: fmt.Sprintf(format, args...)}
	if c := directive(doc); c != nil {
		r.used[c] = true
		if l.reason = strings.TrimSpace(strings.TrimPrefix(c.Text,
			largeDirective)); strings.HasPrefix(
			c.Text,
			wireDirective,
		) {
			l.reason = wireReason
		}
	}
	r.found = append(r.found, l)
}

// directive returns the directive in a comment, or nil.
func directive(doc *ast.CommentGroup) *ast.Comment {
	if doc == nil {
		return nil
	}
	for _, c := range doc.List {
		if strings.HasPrefix(c.Text, largeDirective) || strings.HasPrefix(c.Text, wireDirective) {
			return c
		}
	}
	return nil
}

// typeComments returns the comments of the types of a package.
func typeComments(files []*ast.File) map[string]*ast.CommentGroup {
	out := map[string]*ast.CommentGroup{}
	for _, file := range files {
		for _, d := range file.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range g.Specs {
				if t, ok := s.(*ast.TypeSpec); ok {
					if out[t.Name.Name] = t.Doc; t.Doc == nil && len(g.Specs) == 1 {
						out[t.Name.Name] = g.Doc
					}
				}
			}
		}
	}
	return out
}

// failures returns the findings without a reason. It adds a finding if there are too many
// exceptions.
func failures(found []large) (lines []string) {
	exceptions := 0
	for _, l := range found {
		if l.reason == "" {
			lines = append(
				lines,
				l.text+": split it, or say why not with "+largeDirective+" REASON",
			)
			continue
		}
		exceptions++
	}
	if exceptions > maxExceptions {
		lines = append(lines, fmt.Sprintf("%d exceptions, of which %d are allowed", exceptions,
			maxExceptions))
	}
	return lines
}

func short(path string) string {
	for _, top := range []string{"/internal/", "/cmd/"} {
		if i := strings.LastIndex(path, top); i >= 0 {
			return path[i+1:]
		}
	}
	return path
}

func (r *reporter) functions(fset *token.FileSet, file *ast.File) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		if n := fset.Position(f.End()).Line - fset.Position(f.Pos()).Line + 1; n > functionLines {
			at := fset.Position(f.Pos())
			r.add(
				f.Doc,
				"%s:%d: function %s: %d lines",
				short(at.Filename),
				at.Line,
				f.Name.Name,
				n,
			)
		}
	}
}

func (r *reporter) types(pkg string, o types.Object, doc *ast.CommentGroup) {
	t, ok := o.(*types.TypeName)
	if !ok || t.IsAlias() {
		return
	}
	if s := structOf(o); s != nil {
		if s.NumFields() > structFields {
			r.add(doc, "struct %s.%s: %d fields", pkg, t.Name(), s.NumFields())
		}
		if n := countGuards(s); n > guards {
			r.add(doc, "struct %s.%s: %d guards", pkg, t.Name(), n)
		}
	}
	set := types.NewMethodSet(types.NewPointer(t.Type()))
	if _, isInterface := t.Type().Underlying().(*types.Interface); isInterface {
		set = types.NewMethodSet(t.Type())
	}
	exported := 0
	for i := range set.Len() {
		if set.At(i).Obj().Exported() {
			exported++
		}
	}
	if exported > exportedMethods {
		r.add(doc, "type %s.%s: %d exported methods", pkg, t.Name(), exported)
	}
}

// countGuards counts the mutexes of a struct.
func countGuards(s *types.Struct) (n int) {
	for i := range s.NumFields() {
		switch s.Field(i).Type().String() {
		case "sync.Mutex", "sync.RWMutex":
			n++
		}
	}
	return n
}

package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"golang.org/x/tools/go/packages"
)

// What is beyond one of these is reported.
const (
	packageLines    = 4000
	fileLines       = 500
	functionLines   = 60
	structFields    = 20
	exportedMethods = 20
	guards          = 2
)

// report lists what has grown large. Methods that embedding promotes count.
func report(pkgs []*packages.Package) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, "large: "+fmt.Sprintf(format, args...)) }
	for _, p := range pkgs {
		total := 0
		for _, file := range p.Syntax {
			f := p.Fset.File(file.Pos())
			total += f.LineCount()
			if f.LineCount() > fileLines {
				say("%s: %d lines", short(f.Name()), f.LineCount())
			}
			largeFunctions(p.Fset, file, say)
		}
		name := strings.TrimPrefix(p.PkgPath, module+"/")
		if total > packageLines {
			say("package %s: %d lines", name, total)
		}
		for _, n := range p.Types.Scope().Names() {
			largeType(name, p.Types.Scope().Lookup(n), say)
		}
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

func largeFunctions(fset *token.FileSet, file *ast.File, say func(string, ...any)) {
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil {
			continue
		}
		if n := fset.Position(f.End()).Line - fset.Position(f.Pos()).Line + 1; n > functionLines {
			at := fset.Position(f.Pos())
			say("%s:%d: function %s: %d lines", short(at.Filename), at.Line, f.Name.Name, n)
		}
	}
}

func largeType(pkg string, o types.Object, say func(string, ...any)) {
	t, ok := o.(*types.TypeName)
	if !ok || t.IsAlias() {
		return
	}
	if s := structOf(o); s != nil {
		if s.NumFields() > structFields {
			say("struct %s.%s: %d fields", pkg, t.Name(), s.NumFields())
		}
		if n := countGuards(s); n > guards {
			say("struct %s.%s: %d guards", pkg, t.Name(), n)
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
		say("type %s.%s: %d exported methods", pkg, t.Name(), exported)
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

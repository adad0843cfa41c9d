package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"strings"

	"golang.org/x/tools/go/packages"
)

// isOptions reports whether a struct contains options for its caller to set. An option that no code
// sets should not exist.
func isOptions(name string) bool {
	return strings.HasSuffix(name, "Options") || name == "Step" || name == "Core"
}

// unsetFields lists the exported fields of option structs that no production code sets.
func unsetFields(pkgs []*packages.Package) (lines []string) {
	set := map[*types.Var]bool{}
	eachFile(pkgs, func(p *packages.Package, file *ast.File) {
		ast.Inspect(file, func(n ast.Node) bool {
			markSet(p.TypesInfo, n, set)
			return true
		})
	})
	for _, p := range pkgs {
		for _, name := range p.Types.Scope().Names() {
			s := structOf(p.Types.Scope().Lookup(name))
			if s == nil || !ast.IsExported(name) || !isOptions(name) {
				continue
			}
			for i := range s.NumFields() {
				f := s.Field(i)
				if !f.Exported() || set[f] || reflect.StructTag(s.Tag(i)).Get("json") != "" {
					continue
				}
				lines = append(lines, fmt.Sprintf(
					"%s: %s.%s.%s is not set by any production code: delete it", p.Fset.Position(f.Pos()),
					strings.TrimPrefix(p.PkgPath, module+"/"), name, f.Name(),
				))
			}
		}
	}
	return lines
}

func structOf(o types.Object) *types.Struct {
	t, ok := o.(*types.TypeName)
	if !ok || t.IsAlias() {
		return nil
	}
	s, _ := t.Type().Underlying().(*types.Struct)
	return s
}

// markSet marks the fields that a node sets in a literal, with an assignment, or by taking the
// address.
func markSet(info *types.Info, n ast.Node, set map[*types.Var]bool) {
	switch n := n.(type) {
	case *ast.CompositeLit:
		markLiteral(info, n, set)
	case *ast.AssignStmt:
		for _, l := range n.Lhs {
			markSelected(info, l, set)
		}
	case *ast.IncDecStmt:
		markSelected(info, n.X, set)
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			markSelected(info, n.X, set)
		}
	}
}

func markLiteral(info *types.Info, lit *ast.CompositeLit, set map[*types.Var]bool) {
	t := info.TypeOf(lit)
	if t == nil {
		return
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return
	}
	for i, e := range lit.Elts {
		if kv, ok := e.(*ast.KeyValueExpr); ok {
			if key, ok := kv.Key.(*ast.Ident); ok {
				if v, ok := info.Uses[key].(*types.Var); ok {
					set[v] = true
				}
			}
			continue
		}
		set[s.Field(i)] = true
	}
}

// markSelected marks each field on the path that x selects. For example, o.A.B = 1 sets A and B.
func markSelected(info *types.Info, x ast.Expr, set map[*types.Var]bool) {
	for {
		switch e := ast.Unparen(x).(type) {
		case *ast.SelectorExpr:
			if v, ok := info.Uses[e.Sel].(*types.Var); ok && v.IsField() {
				set[v] = true
			}
			x = e.X
		case *ast.IndexExpr:
			x = e.X
		default:
			return
		}
	}
}

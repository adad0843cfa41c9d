package workspace

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestLocksAreTakenInOrder compares the code of this package, and of the packages below it, with
// the lock order in doc.go. Wherever a lock is acquired, it determines the locks that the function
// itself or its callers may already hold.
func TestLocksAreTakenInOrder(t *testing.T) {
	rank := lockOrder(t)
	g := lockGraph{funcs: map[*types.Func]*lockFunc{}, edges: map[[2]string]token.Position{}}
	g.load(t)
	g.spread()
	if len(g.edges) < 5 {
		t.Fatalf("only %d pairs of locks were found", len(g.edges))
	}
	used := map[string]bool{}
	for pair, at := range g.edges {
		held, taken := pair[0], pair[1]
		used[held], used[taken] = true, true
		above, known := rank[held]
		below, also := rank[taken]
		switch {
		case !known || !also:
			t.Errorf("%s: %s is acquired while %s is held, and doc.go does not list both",
				at, taken, held)
		case below <= above:
			t.Errorf("%s: %s is acquired while %s is held, against the order in doc.go",
				at, taken, held)
		}
	}
	for name := range rank {
		if !used[name] {
			t.Errorf("doc.go lists %s, which is never held with another lock", name)
		}
	}
}

// lockOrder reads the list in doc.go. Locks on the same line are never held together.
func lockOrder(t *testing.T) map[string]int {
	src, err := os.ReadFile("doc.go")
	must(t, err)
	_, list, found := strings.Cut(string(src), "Lock order:\n//\n")
	if !found {
		t.Fatal("doc.go has no lock order")
	}
	list, _, _ = strings.Cut(list, "//\n")
	rank := map[string]int{}
	for i, line := range strings.Split(strings.TrimSpace(list), "\n") {
		for _, name := range strings.Split(strings.TrimPrefix(line, "//"), ",") {
			rank[strings.TrimSpace(name)] = i
		}
	}
	return rank
}

// lockFunc describes how a function uses locks.
type lockFunc struct {
	takes map[string]token.Position // locks acquired directly or by a called function
	calls []lockCall
}

type lockCall struct {
	to   *types.Func
	held []string
	at   token.Position
}

type lockGraph struct {
	funcs    map[*types.Func]*lockFunc
	detached []*lockFunc                  // function literals that run in their own goroutine
	edges    map[[2]string]token.Position // a held lock, and a lock that is acquired meanwhile
}

func (g *lockGraph) load(t *testing.T) {
	pkgs, err := packages.Load(&packages.Config{Mode: packages.LoadAllSyntax}, "./...")
	must(t, err)
	for _, p := range pkgs {
		for _, file := range p.Syntax {
			for _, d := range file.Decls {
				if fd, ok := d.(*ast.FuncDecl); ok && fd.Body != nil {
					w := lockWalk{p: p, g: g, f: &lockFunc{takes: map[string]token.Position{}}}
					g.funcs[p.TypesInfo.Defs[fd.Name].(*types.Func)] = w.f
					w.block(fd.Body.List, nil)
				}
			}
		}
	}
}

// spread adds to each function the locks that its callees acquire, until nothing changes anymore.
func (g *lockGraph) spread() {
	for changed := true; changed; {
		changed = false
		for _, f := range slices.AppendSeq(slices.Clone(g.detached), maps.Values(g.funcs)) {
			for _, c := range f.calls {
				changed = g.pass(f, c) || changed
			}
		}
	}
}

// pass adds to f the locks that one of its callees acquires. It reports whether any of them was
// new.
func (g *lockGraph) pass(f *lockFunc, c lockCall) (changed bool) {
	callee := g.funcs[c.to]
	if callee == nil {
		return false
	}
	for lock := range callee.takes {
		if _, known := f.takes[lock]; !known {
			f.takes[lock], changed = c.at, true
		}
		for _, held := range c.held {
			g.edges[[2]string{held, lock}] = c.at
		}
	}
	return changed
}

// detach walks a function literal that runs in its own goroutine. The goroutine holds no lock when
// it starts, and its locks are not attributed to the enclosing function.
func (w *lockWalk) detach(lit *ast.FuncLit) {
	f := &lockFunc{takes: map[string]token.Position{}}
	w.g.detached = append(w.g.detached, f)
	(&lockWalk{p: w.p, g: w.g, f: f}).block(lit.Body.List, nil)
}

// starts reports whether a call starts its arguments in other goroutines.
func starts(c *ast.CallExpr) bool {
	sel, ok := c.Fun.(*ast.SelectorExpr)
	return ok && (sel.Sel.Name == "spawn" || sel.Sel.Name == "Go" || sel.Sel.Name == "AfterFunc")
}

// lockWalk walks the body of one function in source order.
type lockWalk struct {
	p *packages.Package
	g *lockGraph
	f *lockFunc
}

// block returns the locks that are held after the statements. ends reports whether the statements
// leave the function.
func (w *lockWalk) block(list []ast.Stmt, held []string) (after []string, ends bool) {
	for _, s := range list {
		held, ends = w.stmt(s, held)
	}
	return held, ends
}

func (w *lockWalk) stmt(s ast.Stmt, held []string) (after []string, ends bool) {
	switch s := s.(type) {
	case *ast.BlockStmt:
		return w.block(s.List, held)
	case *ast.DeferStmt:
		return held, false // a deferred unlock: the lock is held until the function returns
	case *ast.GoStmt:
		if lit, ok := s.Call.Fun.(*ast.FuncLit); ok {
			w.detach(lit)
		}
		return held, false
	case *ast.ReturnStmt:
		w.exprs(s, held)
		return held, true
	case *ast.BranchStmt:
		return held, s.Tok != token.GOTO
	}
	inner := append([]string(nil), held...)
	nested := false
	ast.Inspect(s, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			if after, ends := w.block(n.List, inner); !ends && !nested {
				held = after
			}
			nested = true
			return false
		case *ast.CaseClause:
			w.block(n.Body, inner)
			return false
		case *ast.CommClause:
			w.block(n.Body, inner)
			return false
		case *ast.FuncLit:
			w.block(n.Body.List, nil)
			return false
		case *ast.CallExpr:
			held = w.call(n, held)
			inner = append([]string(nil), held...)
			return !starts(n)
		}
		return true
	})
	return held, false
}

func (w *lockWalk) exprs(n ast.Node, held []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			w.block(n.Body.List, nil)
			return false
		case *ast.CallExpr:
			w.call(n, held)
			return !starts(n)
		}
		return true
	})
}

// call records one call and returns the locks that are held after it.
func (w *lockWalk) call(c *ast.CallExpr, held []string) []string {
	if starts(c) {
		for _, arg := range c.Args {
			if lit, ok := arg.(*ast.FuncLit); ok {
				w.detach(lit)
			}
		}
	}
	at := w.p.Fset.Position(c.Pos())
	sel, ok := c.Fun.(*ast.SelectorExpr)
	if ok {
		if name := w.lockName(sel); name != "" {
			if strings.HasSuffix(sel.Sel.Name, "Unlock") {
				return without(held, name)
			}
			w.f.takes[name] = at
			for _, h := range held {
				w.g.edges[[2]string{h, name}] = at
			}
			return append(append([]string(nil), held...), name)
		}
	}
	var id *ast.Ident
	switch f := c.Fun.(type) {
	case *ast.SelectorExpr:
		id = f.Sel
	case *ast.Ident:
		id = f
	default:
		return held
	}
	if to, ok := w.p.TypesInfo.Uses[id].(*types.Func); ok {
		w.f.calls = append(w.f.calls, lockCall{to, held, at})
	}
	return held
}

// lockName returns the name of the mutex whose Lock or Unlock is called. The name consists of the
// type and the field that contain the mutex. It also contains the package if that is a different
// one.
func (w *lockWalk) lockName(sel *ast.SelectorExpr) string {
	field, ok := sel.X.(*ast.SelectorExpr)
	if !ok || sel.Sel.Name != "Lock" && sel.Sel.Name != "Unlock" {
		return ""
	}
	t := w.p.TypesInfo.Types[field]
	if t.Type == nil || !strings.HasPrefix(t.Type.String(), "sync.") {
		return ""
	}
	owner := w.p.TypesInfo.Types[field.X].Type
	if ptr, ok := owner.(*types.Pointer); ok {
		owner = ptr.Elem()
	}
	named, ok := owner.(*types.Named)
	if !ok {
		return ""
	}
	name := named.Obj().Name() + "." + field.Sel.Name
	if pkg := named.Obj().Pkg(); pkg.Name() != "workspace" {
		name = pkg.Name() + "." + name
	}
	return name
}

func without(held []string, name string) []string {
	out := make([]string, 0, len(held))
	for _, h := range held {
		if h != name {
			out = append(out, h)
		}
	}
	return out
}

// Command house checks the structure of the code. Code must not be used only by tests. The program
// itself must set every option of an option struct. A file must not exceed the size limit. A
// package, type or function that exceeds a limit needs a reason next to it, and at most ten of them
// may have one.
//
//	go run ./scripts/house          checks and report
//	go run ./scripts/house -report  the report only
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"os"
	"sort"

	"golang.org/x/tools/go/packages"
)

const module = "github.com/agent-lsp/agent-lsp"

func main() {
	only := flag.Bool("report", false, "print only the report")
	flag.Parse()
	pkgs, err := load()
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(1)
	}
	failed := false
	if !*only {
		failed = check("deadcode", deadcode) || failed
		failed = check("fields", func() ([]string, error) { return unsetFields(pkgs), nil }) ||
			failed
	}
	found, unused := report(pkgs)
	for _, l := range found {
		if l.reason != "" {
			fmt.Printf("large: %s (%s)\n", l.text, l.reason)
		}
	}
	failed = check(
		"large",
		func() ([]string, error) { return append(failures(found), unused...), nil },
	) ||
		failed
	if failed {
		os.Exit(1)
	}
}

// check runs one check, prints its findings, and reports whether there are any.
func check(name string, run func() ([]string, error)) bool {
	found, err := run()
	if err != nil {
		found = []string{err.Error()}
	}
	for _, f := range found {
		fmt.Fprintf(os.Stderr, "%s: %s\n", name, f)
	}
	return len(found) > 0
}

// load loads the packages of the module without their tests.
func load() ([]*packages.Package, error) {
	const need = packages.NeedName | packages.NeedFiles | packages.NeedSyntax |
		packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedDeps
	pkgs, err := packages.Load(
		&packages.Config{Mode: need},
		module+"/cmd/...",
		module+"/internal/...",
	)
	if err != nil {
		return nil, fmt.Errorf("loading the packages: %w", err)
	}
	if packages.PrintErrors(pkgs) > 0 {
		return nil, fmt.Errorf("the packages have errors")
	}
	sort.Slice(pkgs, func(i, j int) bool { return pkgs[i].PkgPath < pkgs[j].PkgPath })
	return pkgs, nil
}

// eachFile calls f for every source file.
func eachFile(pkgs []*packages.Package, f func(p *packages.Package, file *ast.File)) {
	for _, p := range pkgs {
		for _, file := range p.Syntax {
			f(p, file)
		}
	}
}

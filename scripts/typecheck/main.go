// Command typecheck checks the types of all packages of the module, except tests, for every system
// for which a release is built. It reads everything from source and generates no code, so it takes
// a fraction of the time that complete builds for all systems take. The release itself builds for
// all of these systems.
package main

import (
	"fmt"
	"os"
	"strings"

	"golang.org/x/tools/go/packages"
)

const module = "github.com/agent-lsp/agent-lsp"

// targets lists the targets of scripts/release.sh.
var targets = []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64",
	"windows/amd64", "windows/arm64"}

func main() {
	list := targets
	if len(os.Args) > 1 {
		list = os.Args[1:]
	}
	failed := false
	for _, target := range list {
		fmt.Println("typecheck", target)
		n, err := check(target)
		if err != nil || n == 0 {
			fmt.Fprintf(os.Stderr, "typecheck: %s: %d packages: %v\n", target, n, err)
			failed = true
		}
	}
	if failed {
		os.Exit(1)
	}
}

// check returns the number of checked packages of the module and their type errors.
func check(target string) (n int, err error) {
	goos, goarch, _ := strings.Cut(target, "/")
	roots, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles |
			packages.NeedImports | packages.NeedDeps |
			packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesSizes,
		Env: append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0"),
	}, "./...")
	if err != nil {
		return 0, err
	}
	var faults []string
	packages.Visit(roots, nil, func(p *packages.Package) {
		if strings.HasPrefix(p.PkgPath, module) {
			n++
		}
		for _, e := range p.Errors {
			faults = append(faults, e.Error())
		}
	})
	if len(faults) > 0 {
		return n, fmt.Errorf("\n%s", strings.Join(faults, "\n"))
	}
	return n, nil
}

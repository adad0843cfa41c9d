// Command style checks the style of the repository's texts: words and phrases against the rules in
// styles/, the width of lines and the length of pages. Vale checks Markdown and comments. This
// program applies the same rules to the strings that users see and to the comments that Vale cannot
// read.
//
//	go run ./scripts/style            # check all files
//	go run ./scripts/style FILE...    # check these files
package main

import (
	"fmt"
	"os"
	"sort"
)

const rulesDir = "styles/AgentLSP"

// finding is one problem to fix.
type finding struct {
	kind, file string
	line       int
	message    string
}

func (f finding) String() string { return fmt.Sprintf("%s:%d: %s", f.file, f.line, f.message) }

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "style:", err)
		os.Exit(1)
	}
}

func run(files []string) error {
	if len(files) == 0 {
		var err error
		if files, err = tree("."); err != nil {
			return err
		}
	}
	findings, err := checkAll(".", files)
	if err != nil {
		return err
	}
	return list(findings)
}

// checkAll applies every check, including Vale.
func checkAll(dir string, files []string) ([]finding, error) {
	findings, err := checkWithoutVale(dir, files)
	if err != nil {
		return nil, err
	}
	words, err := vale(dir, files)
	return append(findings, words...), err
}

func list(findings []finding) error {
	sort.SliceStable(findings, func(i, j int) bool {
		a, b := findings[i], findings[j]
		return a.file < b.file || a.file == b.file && a.line < b.line
	})
	for _, f := range findings {
		fmt.Println(f)
	}
	if len(findings) > 0 {
		return fmt.Errorf("%d findings: CONTRIBUTING.md, \"Style\", has the rules", len(findings))
	}
	return nil
}

// Command style checks how the repository's texts are written: words and phrases by the rules in
// styles/, the width of lines and the length of pages. Vale checks Markdown and comments. This
// program applies the same rules to the strings that users see.
//
//	go run ./scripts/style              # check, minus what styles/baseline.txt lists
//	go run ./scripts/style FILE...      # list all findings of these files
//	go run ./scripts/style -baseline    # lower the numbers in the baseline
package main

import (
	"flag"
	"fmt"
	"os"
	"sort"
)

const (
	rulesDir     = "styles/AgentLSP"
	baselineFile = "styles/baseline.txt"
)

// finding is one thing to fix.
type finding struct {
	kind, file string
	line       int
	message    string
}

func (f finding) String() string { return fmt.Sprintf("%s:%d: %s", f.file, f.line, f.message) }

func main() {
	lower := flag.Bool("baseline", false, "lower the numbers in "+baselineFile+" to what is there")
	flag.Parse()
	if err := run(*lower, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "style:", err)
		os.Exit(1)
	}
}

func run(lower bool, files []string) error {
	only := len(files) > 0
	if !only {
		var err error
		if files, err = tree("."); err != nil {
			return err
		}
	}
	findings, err := checkAll(".", files)
	if err != nil {
		return err
	}
	if only {
		return list(findings)
	}
	old, err := readBaseline(baselineFile)
	if err != nil {
		return err
	}
	if lower {
		return lowerBaseline(old, count(findings))
	}
	return report(old, findings)
}

// checkAll applies every check, Vale included.
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
		return fmt.Errorf("%d findings", len(findings))
	}
	return nil
}

func lowerBaseline(old, now baseline) error {
	if _, err := os.Stat(baselineFile); err == nil {
		if err := now.grown(old); err != nil {
			return err
		}
	}
	return now.write(baselineFile)
}

func report(allowed baseline, findings []finding) error {
	added, stale := allowed.compare(findings)
	for _, s := range stale {
		fmt.Println(s)
	}
	if err := list(added); err != nil {
		for k, n := range count(added) {
			if allowed[k] > 0 {
				fmt.Printf("%s: %d findings of the kind %q, of which the baseline allows %d\n",
					k.file, n, k.kind, allowed[k])
			}
		}
		return fmt.Errorf("%w: fix what you wrote; CONTRIBUTING.md, \"Style\", has the rules", err)
	}
	if len(stale) > 0 {
		return fmt.Errorf("the baseline may only shrink: "+
			"run \"make style-baseline\" and commit %s", baselineFile)
	}
	return nil
}

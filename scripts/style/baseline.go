package main

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
)

// key names the findings of one kind in one file.
type key struct{ file, kind string }

// baseline is how many findings of old text each file may still have.
type baseline map[key]int

const baselineHead = `# The findings that the style check still allows: number, kind, file.
# "make style-baseline" writes this file and refuses to let a kind grow. New text has no findings.
`

// readBaseline reads a baseline; a missing file is an empty one. If two lines are about the same
// findings, which a merge of branches may leave, the smaller number is valid.
func readBaseline(file string) (baseline, error) {
	b := baseline{}
	src, err := os.ReadFile(file)
	if os.IsNotExist(err) {
		return b, nil
	} else if err != nil {
		return nil, err
	}
	for i, line := range strings.Split(string(src), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		f := strings.Fields(line)
		if len(f) != 3 {
			return nil, fmt.Errorf("%s:%d: want a number, a kind and a file", file, i+1)
		}
		n, err := strconv.Atoi(f[0])
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
		k := key{f[2], f[1]}
		if old, ok := b[k]; !ok || n < old {
			b[k] = n
		}
	}
	return b, nil
}

// write replaces the file.
func (b baseline) write(file string) error {
	var out strings.Builder
	out.WriteString(baselineHead)
	for _, k := range b.keys() {
		fmt.Fprintf(&out, "%d %s %s\n", b[k], k.kind, k.file)
	}
	return os.WriteFile(file, []byte(out.String()), 0o644)
}

func (b baseline) keys() (keys []key) {
	for k := range b {
		keys = append(keys, k)
	}
	sort.Slice(keys, func(i, j int) bool {
		if keys[i].file != keys[j].file {
			return keys[i].file < keys[j].file
		}
		return keys[i].kind < keys[j].kind
	})
	return keys
}

// count makes the baseline that findings would need.
func count(findings []finding) baseline {
	b := baseline{}
	for _, f := range findings {
		b[key{f.file, f.kind}]++
	}
	return b
}

// grown returns an error if some kind has more findings in b than in old. Files are not compared
// one by one, so that text may move from one file to another.
func (b baseline) grown(old baseline) error {
	totals := map[string]int{}
	for k, n := range b {
		totals[k.kind] += n
	}
	for k, n := range old {
		totals[k.kind] -= n
	}
	for kind, n := range totals {
		if n > 0 {
			return fmt.Errorf("the baseline may only shrink, but there are %d more findings "+
				"of the kind %q: fix them; \"go run ./scripts/style\" lists them", n, kind)
		}
	}
	return nil
}

// compare returns the findings that the baseline does not allow, and a message for each entry that
// is larger than necessary.
func (b baseline) compare(findings []finding) (added []finding, stale []string) {
	now := count(findings)
	for _, f := range findings {
		if k := (key{f.file, f.kind}); now[k] > b[k] {
			added = append(added, f)
		}
	}
	for _, k := range b.keys() {
		if now[k] < b[k] {
			stale = append(stale, fmt.Sprintf("%s: the baseline lists %d findings of the kind %q, "+
				"but there are %d", k.file, b[k], k.kind, now[k]))
		}
	}
	return added, stale
}

package patch

import (
	"fmt"
	"strings"
	"testing"
)

// patchSummary describes a parsed patch with one line per file.
func patchSummary(files []File) string {
	var out []string
	for _, f := range files {
		s := f.Op + " " + f.Path
		if f.NewPath != "" {
			s += " -> " + f.NewPath
		}
		if f.Op == Create {
			s += fmt.Sprintf(" %q", f.Content)
		}
		out = append(out, fmt.Sprintf("%s %d", s, len(f.Hunks)+len(f.Blocks)))
	}
	return strings.Join(out, "; ")
}

func TestParsePatchFiles(t *testing.T) {
	check := func(name, text, want string) {
		t.Helper()
		files, err := Parse(text)
		got := patchSummary(files)
		if err != nil {
			got = err.Error()
		}
		if want != got && (err == nil || !strings.Contains(got, want)) {
			t.Errorf("%s: %s\nwant %s", name, got, want)
		}
	}
	check("all operations", "*** Begin Patch\n*** Add File: a\n+x\n*** Delete File: b\n*** Update File: c\n@@\n-x\n+y\n*** Update File: d\n*** Move to: e\n*** End Patch\n",
		`create a "x\n" 0; delete b 0; modify c 1; rename d -> e 0`)
	check("sections of one file are joined",
		"*** Begin Patch\n*** Update File: c\n-x\n+y\n*** Update File: c\n-z\n+w\n*** End Patch",
		"modify c 2")
	check("changed and deleted", "*** Begin Patch\n*** Update File: c\n-x\n+y\n*** Delete File: c\n*** End Patch", "c is named twice")
	check("moved to itself", "*** Begin Patch\n*** Update File: c\n*** Move to: c\n*** End Patch",
		"moved to itself")
	check("moved onto another", "*** Begin Patch\n*** Update File: c\n*** Move to: d\n*** Delete File: d\n*** End Patch", "both the target")
	check("empty added file", "*** Begin Patch\n*** Add File: a\n*** End Patch", `create a "" 0`)
	check("scope without lines", "*** Begin Patch\n*** Update File: a\n@@ x\n*** End Patch",
		"has no lines")
	check("git create", "diff --git a/n b/n\nnew file mode 100644\nindex 0..1\n--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+x\n+y\n\\ No newline at end of file\n", `create n "x\ny" 0`)
	check("git empty create", "diff --git a/n b/n\nnew file mode 100644\n", `create n "" 0`)
	check("git delete", "diff --git a/n b/n\ndeleted file mode 100644\n--- a/n\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n", "delete n 1")
	check("git rename", "diff --git a/n b/m\nsimilarity index 100%\nrename from n\nrename to m\n",
		"rename n -> m 0")
	check("git rename with a change",
		"diff --git a/n b/m\nrename from n\nrename to m\n--- a/n\n+++ b/m\n@@ -1 +1 @@\n-x\n+y\n",
		"rename n -> m 1")
	check("git copy", "diff --git a/n b/m\ncopy from n\ncopy to m\n", "copies are not supported")
	check("time stamps", "--- n.txt\t2026-01-01 00:00:00\n+++ n.txt\t2026-01-02 00:00:00\n@@ -1 +1 @@\n-x\n+y\n", "modify n.txt 1")
	check("quoted", "--- \"a/\\303\\244 b\"\n+++ \"b/\\303\\244 b\"\n@@ -1 +1 @@\n-x\n+y\n",
		"modify ä b 1")
	check("two files", "--- a/n\n+++ b/n\n@@ -1 +1 @@\n-x\n+y\n--- a/m\n+++ b/m\n@@ -1 +1 @@\n-x\n+y\n", "modify n 1; modify m 1")
	check("directory named a", "--- a/n\n+++ a/n\n@@ -1 +1 @@\n-x\n+y\n", "modify a/n 1")
	check("both null", "--- /dev/null\n+++ /dev/null\n@@ -1 +1 @@\n-x\n+y\n", "both names")
	check("created with context", "--- /dev/null\n+++ b/n\n@@ -1 +1 @@\n x\n+y\n",
		"context or removed")
	check("blocks", "a.go\n```go\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```\n\n`b.go`\n```go\n<<<<<<< SEARCH\n=======\nz\n>>>>>>> REPLACE\n```\n", `modify a.go 1; create b.go "z\n" 0`)
}

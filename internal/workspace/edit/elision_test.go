package edit

import "testing"

func TestIsElision(t *testing.T) {
	for _, c := range []struct {
		line, file string
		want       bool
	}{
		{"// ... existing code ...", "a.go", true},
		{"\t// ... rest of the function", "a.go", true},
		{"# ... existing code ...", "a.py", true},
		{"    # (rest of methods unchanged ...)", "a.py", true},
		{"(rest of methods ...)", "a.java", true},
		{"/* ... other methods ... */", "a.c", true},
		{"<!-- ... existing content ... -->", "a.html", true},
		{"{/* ... existing code ... */}", "a.jsx", true},
		{"-- ... remaining code ...", "a.lua", true},
		{"... existing code ...", "a.ts", true},
		{"// … existing code …", "a.ts", true},
		{"// ...", "a.ts", true},
		{"...", "a.ts", true},
		{"# ... rest unchanged, as before", "a.rb", true},

		{"...", "a.py", false},
		{"...", "a.md", false},
		{"... and the rest is history", "a.md", false},
		{"func(args ...)", "a.go", false},
		{"...rest,", "a.js", false},
		{"...existing,", "a.js", false},
		{"return { ...existing, b }", "a.js", false},
		{"// wait for the existing code to end", "a.go", false},
		{"// TODO: more ...", "a.go", false},
		{"(...)", "a.go", false},
		{"print(\"... existing ...\")", "a.py", false},
		{"fmt.Println(rest...)", "a.go", false},
		{"x := append(existing, more...)", "a.go", false},
	} {
		if got := isElision(c.line, c.file); got != c.want {
			t.Errorf("%q in %s: %v, want %v", c.line, c.file, got, c.want)
		}
	}
}

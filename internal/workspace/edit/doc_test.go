package edit

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDocumentedExamples runs every example in docs/reference/edits.md. The tier in the heading and
// the outcome shown must be correct.
func TestDocumentedExamples(t *testing.T) {
	data, err := os.ReadFile("../../../docs/reference/edits.md")
	if err != nil {
		t.Fatal(err)
	}
	fence := regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")
	seen := map[string]bool{}
	for _, section := range strings.Split(string(data), "\n### ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		parts := map[string]string{}
		for _, m := range fence.FindAllStringSubmatch(body, -1) {
			parts[m[1]] = m[2]
		}
		tier, _, _ := strings.Cut(title, ":")
		seen[tier] = true
		t.Run(title, func(t *testing.T) { documented(tier, parts).check(t) })
	}
	for tier := T0; tier <= T7; tier++ {
		if !seen[tier.String()] {
			t.Errorf("docs/reference/edits.md has no example of %s", tier)
		}
	}
}

// documented converts a documented example to a case.
func documented(tier string, parts map[string]string) editCase {
	c := editCase{parts: map[string]string{"base": parts["file"], "want": parts["result"]}}
	if patch, ok := parts["patch"]; ok {
		c.parts["patch"] = patch
	} else {
		c.parts["old"], c.parts["new"] = parts["search"], parts["replace"]
	}
	ofTier := len(tier) == 2 // "T0"; examples below other headings use T0
	switch refused, ok := parts["refused"]; {
	case ok && ofTier:
		c.parts["then"] = "refuse notFound\nsays " + refused
	case ok:
		c.parts["then"] = "refuse ambiguous\nsays " + refused
	case ofTier:
		c.parts["then"] = "apply " + tier
	default:
		c.parts["then"] = "apply T0"
	}
	return c
}

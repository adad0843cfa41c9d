//go:build linux && (amd64 || arm64)

package launcher

import (
	"strings"
	"testing"
)

// A repository that a .git file points to is protected in the same way as .git.
func TestRepositoriesUnderOtherNames(t *testing.T) {
	t.Parallel()
	for _, layout := range []struct{ link, text, folder string }{
		{".git", "gitdir: ./.bare\n", ".bare"},
		{".git", "gitdir: store/bare\n", "store/bare"},
		{"feature/.git", "gitdir: WORK/.bare/worktrees/feature\n", ".bare"},
	} {
		b := newBox(t)
		b.write(layout.link, strings.ReplaceAll(layout.text, "WORK", b.work))
		b.write(layout.folder+"/config", "old")
		b.write(layout.folder+"/hooks/sample", "old")
		b.write(layout.folder+"/worktrees/feature/commondir", "../..\n")
		before := b.tree()
		_, out := b.run(strings.ReplaceAll(`mkdir -p copy/bare/hooks; echo x > copy/bare/hooks/x
echo x > F/hooks/pre-commit; echo x >> F/config; mv F gone; rm -rf F; mv copy/bare F
ln -s F l; echo x > l/hooks/x; mkdir F/new; touch F/worktrees/feature/config.worktree
test -e store && mv store gone && mv -T copy store; python3 -c 'import ctypes
for a in [b"store", b"F"]: ctypes.CDLL(None).renameat2(-100, a, -100, b"copy", 2)'
rm -rf copy l; echo x > plain; rm plain`, "F", layout.folder))
		if after := b.tree(); after != before {
			t.Errorf("%v: the workspace is\n%s, before\n%s%s", layout, after, before, out)
		}
	}
}

package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agent-lsp/agent-lsp/internal/agent/tool"
)

// TestProtectedFilesAskInEveryProfile checks that edits to files that can start programs, and reads
// of and edits to secret files, require the user's approval in every profile and at two folder
// depths.
func TestProtectedFilesAskInEveryProfile(t *testing.T) {
	starting := strings.Fields(`.git/config .git/hooks/x .agent-lsp.json .agent-lsp/agents/a.md
		.agents/skills/s/SKILL.md .vscode/tasks.json .idea/x.xml .zed/settings.json .nvim.lua
		.nvimrc .exrc .vimrc x.code-workspace .devcontainer/x .devcontainer.json .envrc .husky/x
		.gitattributes .gitmodules .pre-commit-config.yaml .github/workflows/ci.yml .gitlab-ci.yml
		.circleci/config.yml .mcp.json .claude/settings.json .cursor/mcp.json .cargo/config.toml
		.yarnrc .yarnrc.yml .npmrc .VSCode/tasks.json`)
	secret := strings.Fields(`.env .env.local .env.dist .env.defaults server.pem k.key k.p12 k.pfx id_rsa id_ed25519
		id_ecdsa .netrc .git-credentials .pgpass .ssh/x id_rsa_work id_ed25519.pub .gnupg/x .aws/x
		.kube/x .docker/config.json .config/gh/hosts.yml .cargo/credentials.toml`)
	free := strings.Fields(`a.txt .github/ISSUE_TEMPLATE.md .cargo/x .gitignore .env.example
		.env.sample .env.template`)
	root := filepath.FromSlash("/home/u/.cursor/worktrees/w") // names above the root are ignored
	want := func(profile Profile, kind tool.SubjectKind, name string, action Action) {
		t.Helper()
		for _, path := range []string{name, "sub/" + name} {
			path = filepath.Join(root, filepath.FromSlash(path))
			s := Settings{Profile: profile, Roots: []string{root}}
			got := s.judgePaths(nil, &tool.ApprovalRequest{
				Subject: &tool.Subject{Kind: kind, Paths: []string{path}},
			})
			if got.action != action {
				t.Errorf("%s, %s %s: %v (%s), want %v",
					profile, kind, path, got.action, got.reason, action)
			}
		}
	}
	for _, profile := range []Profile{ProfileAsk, ProfileWorkspace, ProfileTrust} {
		for _, name := range append(starting, secret...) {
			want(profile, tool.SubjectEdit, name, Ask)
		}
		for _, name := range secret {
			want(profile, tool.SubjectRead, name, Ask)
		}
		for _, name := range free {
			want(profile, tool.SubjectEdit, name, Allow)
			want(profile, tool.SubjectRead, name, Allow)
		}
	}
	want(ProfileReadOnly, tool.SubjectRead, ".env", Ask)
	want(ProfileReadOnly, tool.SubjectEdit, "a.txt", Deny)
}

// TestRepositoriesUnderOtherNamesAsk checks that edits in a repository that a .git file points to
// require the user's approval.
func TestRepositoriesUnderOtherNamesAsk(t *testing.T) {
	root := t.TempDir()
	link := filepath.Join(root, ".git")
	if err := os.WriteFile(link, []byte("gitdir: ./.bare\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, action := range map[string]Action{".bare/hooks/x": Ask, "bare/hooks/x": Allow} {
		s := Settings{Profile: ProfileTrust, Roots: []string{root}}
		got := s.judgePaths(nil, &tool.ApprovalRequest{Subject: &tool.Subject{
			Kind: tool.SubjectEdit, Paths: []string{filepath.Join(root, name)},
		}})
		if got.action != action {
			t.Errorf("%s: %v (%s), want %v", name, got.action, got.reason, action)
		}
	}
}

// TestTargetsOfProtectedLinksAsk checks that an edit requires the user's approval in a folder to
// which a link with a protected name leads, and in a folder that Git's settings name.
func TestTargetsOfProtectedLinksAsk(t *testing.T) {
	root := t.TempDir()
	if err := os.Symlink("editor", filepath.Join(root, ".vscode")); err != nil {
		t.Skip("this system has no links: ", err)
	}
	for name, content := range map[string]string{
		"HEAD": "x", "objects/x": "x", "refs/x": "x", "config": "[core]\nhooksPath=hooks\n",
	} {
		path := filepath.Join(root, ".git", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, action := range map[string]Action{
		"editor/tasks.json": Ask, "hooks/pre-commit": Ask, "src/hooks/x": Allow,
	} {
		s := Settings{Profile: ProfileTrust, Roots: []string{root}}
		got := s.judgePaths(nil, &tool.ApprovalRequest{Subject: &tool.Subject{
			Kind: tool.SubjectEdit, Paths: []string{filepath.Join(root, name)},
		}})
		if got.action != action {
			t.Errorf("%s: %v (%s), want %v", name, got.action, got.reason, action)
		}
	}
}

// TestHardLinksToSecretFiles checks that access to a secret file by another name requires the
// user's approval, and that access to other files does not.
func TestHardLinksToSecretFiles(t *testing.T) {
	root := t.TempDir()
	for name, content := range map[string]string{"sub/.env": "KEY=1", "a.txt": "a"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for to, from := range map[string]string{"plain.txt": "sub/.env", "b.txt": "a.txt"} {
		if err := os.Link(filepath.Join(root, from), filepath.Join(root, to)); err != nil {
			t.Skip("this file system has no hard links: ", err)
		}
	}
	if st, err := os.Stat(root + "/a.txt"); err != nil || hardLinks(st) != 2 {
		t.Skip("this system does not report hard links")
	}
	s := Settings{Profile: ProfileTrust, Roots: []string{root}}
	for name, secret := range map[string]bool{"plain.txt": true, "a.txt": false, "b.txt": false} {
		path := filepath.Join(root, name)
		if got := SecretIn([]string{root}, path); got != secret {
			t.Errorf("SecretIn of %s is %v", name, got)
		}
		for _, kind := range []tool.SubjectKind{tool.SubjectRead, tool.SubjectEdit} {
			got := s.judgePaths(nil, &tool.ApprovalRequest{
				Subject: &tool.Subject{Kind: kind, Paths: []string{path}},
			})
			if (got.action == Ask) != secret {
				t.Errorf("%s %s: %v (%s)", kind, name, got.action, got.reason)
			}
		}
	}
}

// File systems that ignore case also treat some other characters as the same.
func TestNamesThatFileSystemsTreatAsTheSame(t *testing.T) {
	for _, name := range []string{".ENV", "a/.\u017fsh/x", "id_r\u017fa", "a.\u212aEY",
		"credential\u017f", ".e\u200dnv", ".env\ufe0f"} {
		if !Secret(name) {
			t.Errorf("%q is not secret", name)
		}
	}
	for _, name := range []string{".VSCODE/x", ".v\u017fcode/tasks.json", ".git\u200c/config",
		".cargo/con\ufb01g.toml", ".github/work\ufb02ows/x.yml", ".agent-l\u017fp.json"} {
		if (Settings{}).protectedEdit("/w/"+name) == "" {
			t.Errorf("%q starts no programs", name)
		}
	}
	for _, name := range []string{"straße", "日本語", "env", "a\u0301.txt"} {
		if Secret(name) || (Settings{}).protectedEdit("/w/"+name) != "" {
			t.Errorf("%q is protected", name)
		}
	}
}

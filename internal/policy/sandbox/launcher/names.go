package launcher

import (
	"path"
	"strings"
)

// The names of files that start programs or contain secrets (docs/use/permissions.md). Names match
// at any depth of a root. They are compared after Fold.
var (
	startingFolders = set(
		".git",
		".agent-lsp",
		".agents",
		".vscode",
		".idea",
		".zed",
		".devcontainer",
		".husky",
		".circleci",
		".claude",
		".cursor",
	)
	startingFiles = set(
		".agent-lsp.json",
		".nvim.lua",
		".nvimrc",
		".exrc",
		".vimrc",
		".devcontainer.json",
		".envrc",
		".gitattributes",
		".gitmodules",
		".pre-commit-config.yaml",
		".gitlab-ci.yml",
		".mcp.json",
		".npmrc",
	)
	// startingPairs protect one name in a folder whose other files are not protected.
	startingPairs = map[string]string{".github": "workflows", ".cargo": "config.toml"}

	secretFiles = set(
		".env", ".netrc", ".git-credentials", ".pgpass",
		"_netrc", ".pypirc", ".htpasswd", ".vault-token", "credentials", "credentials.json",
		"secrets.yml", "secrets.yaml", "secrets.json", "secrets.toml",
	)
	secretFree  = set(".env.example", ".env.sample", ".env.template")
	secretStart = []string{".env.", "id_rsa", "id_ed25519", "id_ecdsa", "id_dsa"}
	secretEnd   = []string{
		".pem", ".key", ".p12", ".pfx", ".env", ".jks", ".keystore", ".kdbx",
	}
)

func set(names ...string) map[string]bool {
	m := make(map[string]bool, len(names))
	for _, n := range names {
		m[n] = true
	}
	return m
}

// StartsPrograms reports whether a path, relative to a root, is a file that makes an editor, a
// shell or a tool start programs, or is in a folder of such files.
func StartsPrograms(rel string) bool {
	before, packages := "", false
	for name := range strings.SplitSeq(rel, "/") {
		if startsPrograms(before, name, packages) {
			return true
		}
		before, packages = name, packages || packageFolders[name]
	}
	return false
}

// startsPrograms checks one name in a folder. Some names are not protected inside installed
// packages.
func startsPrograms(folder, name string, ofPackage bool) bool {
	name = Fold(name)
	switch {
	case ofPackage && readAtTheTop(name):
		return false
	case startingFolders[name],
		startingFiles[name],
		strings.HasSuffix(name, ".code-workspace"),
		strings.HasPrefix(name, ".yarnrc"):
		return true
	case ofPackage && name == "workflows":
		return false
	}
	inner, ok := startingPairs[Fold(folder)]
	return ok && inner == name
}

// packageFolders contain packages that a package manager installed. The case of the names is
// significant.
var packageFolders = set("node_modules", "site-packages")

// topFiles are names that programs read only at the top of a repository or of an opened folder, so
// they start nothing inside an installed package. Packages often contain such files.
var topFiles = set(
	".circleci",
	".devcontainer",
	".devcontainer.json",
	".gitattributes",
	".gitlab-ci.yml",
	".gitmodules",
	".husky",
	".idea",
	".pre-commit-config.yaml",
	".vscode",
)

func readAtTheTop(name string) bool {
	return topFiles[name] || strings.HasSuffix(name, ".code-workspace")
}

// inPackages reports whether everything below a path belongs to installed packages.
func inPackages(rel string) bool {
	for name := range strings.SplitSeq(rel, "/") {
		if packageFolders[name] {
			return true
		}
	}
	return false
}

// pairFolder returns the name that is protected inside a folder of this name, or "" if there is
// none.
func pairFolder(name string) string { return startingPairs[Fold(name)] }

// Secret reports whether a file of this name or path usually contains secrets.
func Secret(name string) bool {
	name = Fold(path.Base(name))
	if secretFree[name] {
		return false
	}
	if secretFiles[name] {
		return true
	}
	if strings.HasPrefix(name, "service-account") && strings.HasSuffix(name, ".json") {
		return true
	}
	for _, s := range secretStart {
		if strings.HasPrefix(name, s) {
			return true
		}
	}
	for _, s := range secretEnd {
		if strings.HasSuffix(name, s) {
			return true
		}
	}
	return false
}

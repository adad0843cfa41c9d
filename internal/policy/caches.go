package policy

import (
	"os"
	"path/filepath"
	"slices"
)

// homeCaches are package caches of build tools, relative to the home directory.
var homeCaches = []string{
	".bun/install/cache", ".cargo/git", ".cargo/registry", ".gradle/caches", ".gradle/wrapper",
	".ivy2/cache", ".m2/repository",
	".npm/_cacache", ".npm/_logs", ".nuget/packages", ".pub-cache", ".sbt/boot", "go/pkg/mod",
}

// cacheCaches are package caches relative to the user's cache directory.
var cacheCaches = []string{
	"bazel", "ccache", "composer", "coursier", "deno", "go-build", "golangci-lint",
	"ms-playwright", "node-gyp", "pip", "pnpm", "pre-commit", "pypoetry", "sccache", "staticcheck",
	"typescript", "uv", "yarn", "zig",
}

// variableCaches maps each variable that names a folder with package caches to the caches' paths
// below that folder. "" is the folder itself.
var variableCaches = map[string][]string{
	"CARGO_HOME":        {"git", "registry"},
	"GOCACHE":           {""},
	"GOMODCACHE":        {""},
	"GOPATH":            {"pkg/mod"},
	"GRADLE_USER_HOME":  {"caches", "wrapper"},
	"PIP_CACHE_DIR":     {""},
	"UV_CACHE_DIR":      {""},
	"YARN_CACHE_FOLDER": {""},
	"npm_config_cache":  {"_cacache", "_logs"},
}

// Caches returns the package caches outside the workspace that build tools in a sandbox use. The
// folders need not exist.
func Caches() []string {
	var out []string
	if home, err := os.UserHomeDir(); err == nil {
		out = append(out, below(home, homeCaches)...)
		cache, err := os.UserCacheDir()
		if err != nil {
			cache = filepath.Join(home, ".cache")
		}
		out = append(out, below(cache, cacheCaches)...)
	}
	for name, folders := range variableCaches {
		if dir := os.Getenv(name); filepath.IsAbs(dir) {
			out = append(out, below(dir, folders)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func below(dir string, names []string) []string {
	out := make([]string, 0, len(names))
	for _, n := range names {
		out = append(out, filepath.Join(dir, filepath.FromSlash(n)))
	}
	return out
}

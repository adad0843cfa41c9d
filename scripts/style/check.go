package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"
)

const (
	maxColumns = 100
	maxLines   = 250
	tabWidth   = 4
)

// generated matches the head of a file that a program generates.
var generated = regexp.MustCompile(`(?m)\A(?:.*\n){0,2}.*(?:[Gg]enerated by|DO NOT EDIT)`)

// tree returns the files to check, relative to dir and with slashes.
func tree(dir string) (files []string, err error) {
	err = filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if e.IsDir() {
			return skipDir(rel, e.Name())
		}
		if wanted(rel) {
			files = append(files, rel)
		}
		return nil
	})
	return files, err
}

func skipDir(rel, name string) error {
	switch name {
	case "node_modules", "bin", "dist", "out", "sample":
		return fs.SkipDir
	}
	switch rel {
	case ".", ".github", "docs/.vitepress":
		return nil
	}
	if strings.HasPrefix(name, ".") || rel == "docs/.vitepress/cache" {
		return fs.SkipDir
	}
	return nil
}

// wanted reports whether the style of a file is checked. Test data is excluded, because tests need
// text in any style.
func wanted(file string) bool {
	if strings.Contains("/"+file, "/testdata/") {
		return path.Base(file) == "README.md"
	}
	switch path.Ext(file) {
	case ".md", ".go", ".ts", ".lua", ".sh", ".mjs", ".js":
		return true
	}
	return file == "editors/vscode/package.json" || file == "editors/neovim/doc/agent_lsp.txt"
}

// checkWithoutVale checks the strings, the comments that Vale cannot read, the width of lines and
// the length of pages.
func checkWithoutVale(dir string, files []string) (findings []finding, err error) {
	rules, err := loadRules(filepath.Join(dir, rulesDir))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		src, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(file)))
		if err != nil {
			return nil, err
		}
		if generated.Match(src) {
			continue
		}
		findings = append(findings, checkLayout(file, src)...)
		texts, err := extract(file, src)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		findings = append(findings, checkTexts(rules, file, texts)...)
		findings = append(findings, checkTexts(rules, file, comments(file, src))...)
	}
	return findings, nil
}

// extract returns the strings of a file that users may see. Tests and test tools contain no such
// strings.
func extract(file string, src []byte) ([]text, error) {
	switch {
	case strings.HasSuffix(file, "_test.go"), strings.Contains(file, "test/"),
		strings.Contains(file, "tests/"), strings.HasPrefix(file, "bench/"):
		return nil, nil
	case path.Ext(file) == ".go":
		return goTexts(src)
	case path.Ext(file) == ".ts", path.Ext(file) == ".mjs":
		return typescript.texts(src)
	case path.Ext(file) == ".lua":
		return lua.texts(src)
	case path.Ext(file) == ".json":
		return jsonTexts(src)
	case path.Ext(file) == ".txt":
		return lineTexts(src)
	}
	return nil, nil
}

func checkTexts(rules []rule, file string, texts []text) (findings []finding) {
	for _, t := range texts {
		if !prose.MatchString(t.value) {
			continue
		}
		// Each line break is replaced by a space, so that the rules find phrases that span two
		// lines.
		line := strings.ReplaceAll(t.value, "\n", " ")
		for _, r := range rules {
			for _, m := range r.check(line) {
				line := t.line + strings.Count(t.value[:m.offset], "\n")
				findings = append(findings, finding{"strings", file, line, m.message})
			}
		}
	}
	return findings
}

// checkLayout checks the width of lines and the length of a page.
func checkLayout(file string, src []byte) (findings []finding) {
	if path.Ext(file) == ".json" {
		return nil
	}
	lines := strings.Split(string(src), "\n")
	wide := mayBeWide(file)
	for i, l := range lines {
		if exempt := wide(l); width(l) > maxColumns && !exempt {
			msg := fmt.Sprintf("%d columns: break the line at %d", width(l), maxColumns)
			findings = append(findings, finding{"columns", file, i + 1, msg})
		}
	}
	// A changelog may have any length.
	reference := strings.HasPrefix(file, "docs/reference/") || file == "CHANGELOG.md"
	if n := bytes.Count(src, []byte("\n")); path.Ext(file) == ".md" && n > maxLines && !reference {
		msg := fmt.Sprintf("%d lines: split the page, which may have %d", n, maxLines)
		findings = append(findings, finding{"lines", file, n, msg})
	}
	return findings
}

func width(line string) int {
	return utf8.RuneCountInString(line) + strings.Count(line, "\t")*(tabWidth-1)
}

// message matches a long string literal, because a message that is broken over two lines cannot be
// searched for.
var message = regexp.MustCompile(`"(?:[^"\\]|\\.){50,}"|'[^']{50,}'|` + "`[^`]{50,}`")

// mayBeWide returns a function that is called with a file's lines in order and reports which of
// them may have any width. In TypeScript and Lua, the formatters break the code, so only comments
// are checked there, as in shell scripts. A tool's description is one line, because the model
// receives it unchanged.
func mayBeWide(file string) func(line string) bool {
	switch {
	case path.Ext(file) == ".md" && strings.HasPrefix(file, "internal/"):
		return func(string) bool { return true }
	case path.Ext(file) == ".md":
		return wideInPage()
	case path.Ext(file) == ".go":
		return wideInGo()
	}
	return func(line string) bool { return !isComment(line) || strings.Contains(line, "://") }
}

// wideInPage allows wide tables, code blocks, HTML and addresses.
func wideInPage() func(line string) bool {
	code := false
	return func(line string) bool {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") {
			code = !code
		}
		return code || strings.HasPrefix(trimmed, "|") || strings.HasPrefix(trimmed, "<") ||
			strings.Contains(line, "://")
	}
}

// wideInGo allows wide messages, lines of raw strings, struct tags, directives and addresses.
func wideInGo() func(line string) bool {
	raw := false
	return func(line string) bool {
		within := raw
		if !isComment(line) && strings.Count(strings.ReplaceAll(line, "\"`\"", ""), "`")%2 == 1 {
			raw = !raw
		}
		return within || raw || strings.Contains(line, "://") ||
			strings.HasPrefix(line, "//go:") || strings.Contains(line, "`json:") ||
			!isComment(line) && message.MatchString(line)
	}
}

func isComment(line string) bool {
	trimmed := strings.TrimSpace(line)
	return strings.HasPrefix(trimmed, "//") || strings.HasPrefix(trimmed, "#") ||
		strings.HasPrefix(trimmed, "--") && !strings.HasPrefix(trimmed, "---@")
}

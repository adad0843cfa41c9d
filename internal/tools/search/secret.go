package search

import (
	"slices"
	"strings"
)

// notSecret returns the files of a folder that may be searched, and counts the others.
func (g *grepper) notSecret(dir string, files []string) []string {
	if g.q.Secret == nil || len(files) == 0 {
		return files
	}
	secret := g.q.Secret(strings.TrimSuffix(g.root+"/"+dir, "/"))
	if !slices.ContainsFunc(files, secret) {
		return files
	}
	keep := slices.DeleteFunc(slices.Clone(files), secret)
	g.secret += len(files) - len(keep)
	return keep
}

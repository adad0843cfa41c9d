// Package search finds files and text under a folder. It contains globs, a walk that obeys ignore
// files, a line-by-line search with regular expressions, and a warm index for the fuzzy search of
// file names.
//
// It reads and never writes, follows no symbolic link, and keeps no file open. The order of a walk
// is deterministic: a folder's files by name, then its folders. Start at Walk and Grep.
package search

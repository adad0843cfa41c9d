// Package search finds files and text under a folder: a walk that obeys ignore files,
// globs, a line-wise regular expression search, and a warm index for fuzzy file names.
//
// It reads and never writes, follows no symbolic link, and keeps no file open. Order is
// deterministic: a folder's files by name, then its folders. Start at Walk and Grep.
package search

// Package text locates and replaces parts of texts. LineIndex converts between byte offsets and LSP
// positions. Splice is one replacement of a range of bytes.
//
// The only package of the project that it imports is edit. Package text holds no lock, does no I/O
// and never blocks. Functions read the texts that they are given and return newly allocated memory
// where their comments say so. A LineIndex may be read by several goroutines at a time, but Splice
// needs exclusive access.
package text

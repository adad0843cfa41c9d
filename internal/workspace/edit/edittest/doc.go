// Package edittest generates edits with a known outcome and writes them as models write them. It is
// for tests only.
//
// An Intent is a file and the changes that a model has in mind. Want returns the file after these
// changes, which it makes by splicing lines. Write expresses an Intent in one of eight formats,
// with the Noise that models add. Nothing here calls the matcher, so a test can compare the
// matcher's result with Want.
package edittest

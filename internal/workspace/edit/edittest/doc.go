// Package edittest generates edits with a known outcome and writes them as models do. It is for
// tests only.
//
// An Intent is a file with the changes that a model intends to make. Its method Want returns the
// changed file, which is computed by replacing lines. Write expresses an Intent in one of eight
// formats, with the Noise that models add. This package never calls the matcher, so a test can
// compare the matcher's result with Want.
package edittest

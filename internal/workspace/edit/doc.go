// Package edit converts the edits that a model sends (search and replace pairs, patches, whole
// files) to exact byte edits of one text, and computes the hunks in which two texts differ.
//
// Every function is pure and uses no file or network. Only a diff reads the clock, to limit its own
// running time. Unless an edit selects among several matches, a match is accepted only if it is the
// only one at the first tier that has any match. Any other result is a *MatchError, which explains
// to the model what to send instead. Bytes outside a matched range never change. Inside the range,
// lines that the edit does not change keep their own ending, trailing space and quotes.
//
// Start with Match (match.go), then MatchPatch (patchmatch.go), Hunks (hunk.go) and Decode
// (text.go). Package patch reads the formats of patches. docs/reference/edits.md shows each tier.
package edit

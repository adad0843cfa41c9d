// Package edit turns what a model sends (search and replace pairs, patches, whole files) into exact
// byte edits of one text, and texts into hunks.
//
// Every function is pure: bytes in, bytes out, no file, clock or network (a diff only watches the
// time so that it ends). A match is accepted if it is the only one at the first tier that has any;
// everything else is a *MatchError whose text explains to the model what to send instead. Nothing
// outside a matched range changes by one byte. Inside it, lines that the edit does not change keep
// their own ending, trailing space and quotes.
//
// Start with Match (match.go), then MatchPatch (patchmatch.go), Hunks (hunk.go) and Decode
// (text.go). Package patch reads the formats of patches. docs/reference/edits.md shows each tier.
package edit

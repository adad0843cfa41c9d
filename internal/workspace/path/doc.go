// Package path names files and documents: URIs, the workspace folders, and references to what is
// below them. A Ref is made only by Roots and OfDocument, so that no name leads out of the roots by
// accident. The wall itself is os.Root, which package files opens at Ref.Root.
//
// The package is a leaf. Its only lock is Roots' own, which is never held while the disk is read.
// Functions that look at the disk say so.
package path

// Package path names files and documents. It handles URIs, the workspace folders, and references to
// files below them. Only Roots and OfDocument create a Ref, so that a name cannot lead out of the
// roots by accident. The protection itself is os.Root, which package files opens at Ref.Root.
//
// The package imports no other package of the project. Its only lock is that of Roots, which is
// never held while the disk is read. The comments of functions that read the disk say so.
package path

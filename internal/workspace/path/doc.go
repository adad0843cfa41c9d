// Package path names files and documents. It handles URIs, the workspace folders, and references to
// files below them. Only this package creates a Ref that may be used on disk, so that a name cannot
// lead out of the roots by accident. The protection itself is os.Root, which package files opens at
// Ref.Root.
//
// The only package of the project that it imports is realpath. The only lock of the package is that
// of Roots, which is never held while the disk is read. The comments of functions that read the
// disk say so.
package path

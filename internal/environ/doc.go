// Package environ prevents other processes from reading the environment and the memory of this
// process, and from inheriting its open files.
package environ

// Package environ prevents other processes from reading the environment and the memory of this
// process, from inheriting its open files, and from replacing the program that it starts again.
package environ

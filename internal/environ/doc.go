// Package environ keeps other processes from reading the environment and the memory of this one.
package environ

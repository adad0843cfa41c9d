// Package environ removes the environment of this process from where other processes can read it.
package environ

package environ

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Hide prevents other processes from reading the environment and the memory of this process, unless
// they have the capability to trace any process. os.Getenv and os.Environ continue to work, because
// the Go runtime copied the variables when it started. C libraries see an empty environment
// afterwards. Call Hide first, because a process that was started earlier could have read both.
func Hide() error {
	if err := wipe(); err != nil {
		return err
	}
	// This call comes last because it also prevents an ordinary user's process from accessing its
	// own files in /proc. It prevents core dumps as well.
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hiding the memory of this process: %w", err)
	}
	return nil
}

// wipe overwrites the block of memory that the kernel shows as /proc/PID/environ.
func wipe() error {
	start, end, err := block()
	if err != nil {
		return fmt.Errorf("finding the environment in memory: %w", err)
	}
	mem, err := os.OpenFile("/proc/self/mem", os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("opening the memory of this process: %w", err)
	}
	defer mem.Close()
	if _, err := mem.WriteAt(make([]byte, end-start), start); err != nil {
		return fmt.Errorf("overwriting the environment: %w", err)
	}
	return nil
}

// The fields of /proc/self/stat after the program's name, counted from 0. See proc_pid_stat(5).
const (
	envStartField = 47
	envEndField   = 48
)

// block returns the range of memory that contains the environment.
func block() (start, end int64, err error) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0, 0, err
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:]) // names may have spaces
	if len(fields) <= envEndField {
		return 0, 0, fmt.Errorf("/proc/self/stat has %d fields", len(fields))
	}
	if start, err = strconv.ParseInt(string(fields[envStartField]), 10, 64); err != nil {
		return 0, 0, err
	}
	if end, err = strconv.ParseInt(string(fields[envEndField]), 10, 64); err != nil {
		return 0, 0, err
	}
	if start <= 0 || end < start {
		return 0, 0, fmt.Errorf("the kernel reports the range %d to %d", start, end)
	}
	return start, end, nil
}

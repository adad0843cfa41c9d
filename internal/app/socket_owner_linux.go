package app

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"net/netip"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// listeners returns the programs that listen on a loopback address of this machine. It returns the
// executable of each process that has the socket or, for a process of another user, that user. It
// returns nil if nothing listens there or the owner cannot be determined.
func listeners(address string) []string {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil
	}
	sockets := listening(at)
	return ownersOf(sockets, holders(sockets))
}

// ownersOf returns the owners of sockets. sockets maps each socket to its user. exesOf maps each
// socket to the executables of its processes, as far as they are known.
func ownersOf(sockets map[string]int, exesOf map[string][]string) []string {
	owners := map[string]bool{}
	for inode, exes := range exesOf {
		delete(sockets, inode)
		for _, exe := range exes {
			owners[exe] = true
		}
	}
	for _, uid := range sockets {
		if uid == os.Getuid() {
			return nil // a process of this user whose executable cannot be determined
		}
		owners["a program of the user "+userName(uid)] = true
	}
	return slices.Sorted(maps.Keys(owners))
}

func userName(uid int) string {
	id := strconv.Itoa(uid)
	if u, err := user.LookupId(id); err == nil {
		return u.Username + " (" + id + ")"
	}
	return id
}

// listening finds the sockets that accept connections to an address. It returns the user of each
// socket, keyed by the socket's inode.
func listening(at netip.AddrPort) map[string]int {
	sockets := map[string]int{}
	for _, table := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		text, _ := os.ReadFile(table) // tcp6 does not exist without IPv6
		for line := range bytes.Lines(text) {
			const local, state, uid, inode = 1, 3, 7, 9
			f := strings.Fields(string(line))
			if len(f) <= inode || f[state] != "0A" { // TCP_LISTEN
				continue
			}
			bound, ok := socketAddress(f[local])
			if !ok || bound.Port() != at.Port() ||
				bound.Addr() != at.Addr() && !bound.Addr().IsUnspecified() {
				continue
			}
			if id, err := strconv.Atoi(f[uid]); err == nil {
				sockets[f[inode]] = id
			}
		}
	}
	return sockets
}

// socketAddress decodes an address in the kernel's tables. It consists of words in the byte order
// of the machine, and the port. An IPv4 address in IPv6 becomes an IPv4 address.
func socketAddress(text string) (netip.AddrPort, bool) {
	host, port, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(host)
	p, portErr := strconv.ParseUint(port, 16, 16)
	if err != nil || portErr != nil || len(b)%4 != 0 {
		return netip.AddrPort{}, false
	}
	for word := range slices.Chunk(b, 4) {
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	addr, ok := netip.AddrFromSlice(b)
	return netip.AddrPortFrom(addr.Unmap(), uint16(p)), ok
}

// holders returns, for each socket, the executables of the processes that have the socket open,
// keyed by the socket's inode. It omits processes that this one may not inspect.
func holders(sockets map[string]int) map[string][]string {
	if len(sockets) == 0 {
		return nil
	}
	out := map[string][]string{}
	processes, _ := filepath.Glob("/proc/[0-9]*") // the pattern is valid
	for _, process := range processes {
		for _, inode := range socketsOf(process) {
			if _, wanted := sockets[inode]; !wanted {
				continue
			}
			if exe, err := os.Readlink(process + "/exe"); err == nil {
				out[inode] = append(out[inode], exe)
			}
		}
	}
	return out
}

// socketsOf returns the inodes of the sockets of a process, which may have ended.
func socketsOf(process string) (inodes []string) {
	dir, err := os.Open(process + "/fd")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		link, _ := os.Readlink(dir.Name() + "/" + name)
		if inode, ok := strings.CutPrefix(link, "socket:["); ok {
			inodes = append(inodes, strings.TrimSuffix(inode, "]"))
		}
	}
	return inodes
}

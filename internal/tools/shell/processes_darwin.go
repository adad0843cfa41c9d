package shell

import "golang.org/x/sys/unix"

const stateZombie = 5 // SZOMB in sys/proc.h

// processes reads the process table.
func processes() []process {
	list, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	out := make([]process, 0, len(list))
	for i := range list {
		k := &list[i]
		out = append(out, process{pid: int(k.Proc.P_pid), parent: int(k.Eproc.Ppid),
			zombie: k.Proc.P_stat == stateZombie})
	}
	return out
}

//go:build !windows

package shell

// descendants returns the living processes below root.
func descendants(root int) []int { return below(processes(), root) }

func below(table []process, root int) []int {
	children := make(map[int][]process, len(table))
	for _, p := range table {
		children[p.parent] = append(children[p.parent], p)
	}
	var out []int
	queue := []int{root}
	for len(queue) > 0 {
		next := queue[0]
		queue = queue[1:]
		for _, c := range children[next] {
			queue = append(queue, c.pid)
			if !c.zombie {
				out = append(out, c.pid)
			}
		}
		delete(children, next)
	}
	return out
}

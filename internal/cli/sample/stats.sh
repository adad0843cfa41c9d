#!/bin/sh
# stats.sh prints the largest of its arguments and their sum.

[ $# -gt 0 ] || {
	echo "usage: stats.sh NUMBER..." >&2
	exit 2
}

largest() {
	max=0
	for n in "$@"; do
		if [ "$n" -gt "$max" ]; then
			max=$n
		fi
	done
	echo "$max"
}

sum() {
	total=0
	for n in "$@"; do
		total=$((total + n))
	done
	echo "$total"
}

echo "largest: $(largest "$@")"
echo "sum: $(sum "$@")"

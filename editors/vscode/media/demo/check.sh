#!/bin/sh
# check.sh tests stats.sh. It prints each failure and then exits with 1.

failed=0
check() {
	want=$1
	shift
	got=$(sh ./stats.sh "$@" | head -n 1)
	if [ "$got" = "largest: $want" ]; then
		echo "ok    stats.sh $*"
	else
		echo "FAIL  stats.sh $*: want \"largest: $want\", got \"$got\""
		failed=1
	fi
}

check 7 3 7 5
check -2 -5 -2 -9
exit $failed

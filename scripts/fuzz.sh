#!/usr/bin/env bash
# Runs each fuzz target for a while (default 60s). Go's cache, which is outside the checkout, stores
# interesting inputs. A failing input is written to the package's testdata/fuzz, to be committed
# with its fix. The number of attempts to minimize an interesting input is limited, because by
# default this may take a minute, during which no other input is tried.
#   scripts/fuzz.sh [TIME] [PATTERN]
set -euo pipefail
cd "$(dirname "$0")/.."
go=${GO:-go}
time=${1:-60s}
pattern=${2:-.}
count=0 failed=()
for pkg in $(grep -rl --include='*_test.go' '^func Fuzz' . | xargs -n1 dirname | sort -u); do
  # Packages without a match are not compiled.
  grep -ho '^func Fuzz[A-Za-z0-9_]*' "$pkg"/*_test.go | sed "s#^func #$pkg #" |
    grep -qE -- "$pattern" || continue
  for target in $($go test -list '^Fuzz' "$pkg" | grep '^Fuzz' || true); do
    [[ "$pkg $target" =~ $pattern ]] || continue
    count=$((count + 1))
    echo "== $pkg $target"
    log=$(mktemp)
    if $go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x "$pkg" >"$log" 2>&1; then
      grep -E '^fuzz: elapsed' "$log" | tail -n 1
    elif grep -q 'context deadline exceeded' "$log" && ! grep -qE 'Failing input written|panic:' "$log"; then
      grep -E '^fuzz: elapsed' "$log" | tail -n 1 # go test reports a failure if a worker ends late
    else
      failed+=("$pkg $target")
      tail -n 40 "$log"
    fi
    rm -f "$log"
  done
done
[ $count -gt 0 ] || { echo "fuzz: no target matches $pattern" >&2; exit 1; }
[ ${#failed[@]} = 0 ] || { printf 'fuzz: failed: %s\n' "${failed[@]}" >&2; exit 1; }
echo "fuzz: $count targets, $time each, nothing found"

# Functions for the scripts that download files. The scripts source this file.

# tries COMMAND… runs a download at most three times. If every try fails, it shows the output of the
# last one.
tries() {
  local log n; log=$(mktemp)
  for n in 1 2 3; do
    if "$@" >"$log" 2>&1 </dev/null; then rm -f "$log"; return 0; fi
    echo "setup: try $n of $1 failed" >&2
    sleep "$n"
  done
  tail -n 20 "$log" >&2; rm -f "$log"; return 1
}

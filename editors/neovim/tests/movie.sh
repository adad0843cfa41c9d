#!/usr/bin/env bash
# movie.sh NVIM [GIF JOIN]    records a terminal (tmux) from an unsaved edit to an accepted change
#
# Each scene waits until the screen shows the expected text. JOIN is the program scripts/movie,
# which combines the scenes into GIF.
set -euo pipefail
nvim=$1 gif=${2:-} join=${3:-}
here=$(cd "$(dirname "$0")" && pwd -P)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/agent-lsp-movie.XXXXXX")
T=(tmux -u -S "$tmp/sock" -f /dev/null)
finish() {
  "${T[@]}" kill-server 2>/dev/null || :
  until rm -rf "$tmp" 2>/dev/null; do sleep 0.05; done
}
trap finish EXIT
export PLUGIN=${here%/tests} WORKSPACE=$tmp/shop AGENT_LSP_SCRIPT=$tmp/script.jsonl
export LC_ALL=C.UTF-8 XDG_STATE_HOME=$tmp/state

mkdir -p "$WORKSPACE/.git"
cp "$here/testdata/shop/cart.go" "$WORKSPACE"
cp "$here/testdata/movie.jsonl" "$AGENT_LSP_SCRIPT"
"${T[@]}" new-session -d -x 93 -y 32 "'$nvim' --clean -u '$here/movie.lua' 2>'$tmp/err'"

frames=() count=0
# scene HUNDREDTHS TEXT... waits until all texts are on the screen, which then becomes a frame.
scene() {
  local time=$1 i=0
  shift
  until look && shows "$@"; do
    i=$((i + 1))
    [ $i -lt 1200 ] || missing "$@"
    sleep 0.05
  done
  [ -n "$gif" ] || return 0
  count=$((count + 1))
  local png=$tmp/$count.png
  node "$here/picture.cjs" dark <"$tmp/shot" >"$tmp/page.html"
  chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=800,560 \
    --user-data-dir="$tmp/chromium" --screenshot="$png" "file://$tmp/page.html" >/dev/null 2>&1
  frames+=("$time" "$png")
}
look() {
  "${T[@]}" capture-pane -p -e -N >"$tmp/shot"
  sed 's/\x1b\[[0-9;:]*m//g' "$tmp/shot" >"$tmp/text"
}
missing() {
  cat "$tmp/text" "$tmp/err"
  echo "movie.sh: the screen does not show: $*"
  exit 1
}
shows() {
  local want
  for want in "$@"; do grep -qF -- "$want" "$tmp/text" || return 1; done
}
keys() { "${T[@]}" send-keys "$@"; }

scene 80 'package cart' 'total += item.Price'
keys '7Go' 'Quantity int // at least 1' Escape
scene 150 'Quantity int // at least 1' 'cart.go [+]'
keys ':AgentPrompt Use Quantity in Total and Count'
scene 120 ':AgentPrompt Use Quantity in Total and Count'
keys Enter
scene 220 'total += item.Price * item.Quantity' 'count += item.Quantity' '    return count' '2 changes in 1 file' accept
keys 'gla'
scene 180 '1 change in 1 file' 'total += item.Price * item.Quantity' 'gla accept'
keys 'gla'
scene 220 '1 file changed' 'Done: Total and Count use the' 'count += item.Quantity' 'cart.go [+]'
[ -z "$gif" ] || "$join" "$gif" "${frames[@]}"
echo "ok  $("$nvim" --version | head -n1), the film"

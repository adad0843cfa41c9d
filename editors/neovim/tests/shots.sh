#!/usr/bin/env bash
# shots.sh FOLDER    makes a picture of each captured screen (NAME-80x24-dark.ansi) in the folder
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd -P)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/agent-lsp-shots.XXXXXX")
trap 'rm -rf "$tmp" 2>/dev/null || :' EXIT
for ansi in "$1"/*.ansi; do
  name=$(basename "$ansi" .ansi)
  size=$(grep -oE '[0-9]+x[0-9]+' <<<"$name" | tail -n 1)
  node "$here/picture.cjs" "${name##*-}" <"$ansi" >"$tmp/page.html"
  chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$tmp/chromium" \
    --window-size=$((${size%x*} * 843 / 100 + 20)),$((${size#*x} * 17 + 16)) \
    --screenshot="${ansi%.ansi}.png" "file://$tmp/page.html" >/dev/null 2>&1
done
echo "$(ls "$1"/*.png | wc -l) pictures in $1"

#!/usr/bin/env bash
# picture.sh NVIM BACKGROUND [PNG]    runs the plugin in a terminal (tmux) and checks the screen;
# with PNG, also takes a picture (chromium)
set -euo pipefail
nvim=$1 background=$2 png=${3:-}
here=$(cd "$(dirname "$0")" && pwd -P)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/agent-lsp-picture.XXXXXX")
T=(tmux -u -S "$tmp/sock" -f /dev/null)
trap '"${T[@]}" kill-server 2>/dev/null || :; until rm -rf "$tmp" 2>/dev/null; do sleep 0.05; done' EXIT
export PLUGIN=${here%/tests} BACKGROUND=$background WORKSPACE=$tmp/shop AGENT_LSP_SCRIPT=$tmp/script.jsonl LC_ALL=C.UTF-8 XDG_STATE_HOME=$tmp/state

mkdir -p "$WORKSPACE/.git"
cp "$here/testdata/shop/cart.go" "$WORKSPACE"
cat >"$AGENT_LSP_SCRIPT" <<'JSONL'
{"reasoning":"Item has a new field, Quantity.\nTotal and Count do not use it yet.","text":"I will read the file first.","toolCalls":[{"name":"read","arguments":{"path":"cart.go"}}],"usage":{"input":5200,"output":80}}
{"text":"Two changes in `cart.go:15`:\n\n- `Total` multiplies each price by its *quantity*,\n- `Count` adds up the **quantities**.\n","toolCalls":[{"name":"edit","arguments":{"path":"cart.go","edits":[{"old_string":"total += item.Price","new_string":"total += item.Price * item.Quantity"},{"old_string":"\treturn len(items)\n","new_string":"\tcount := 0\n\tfor _, item := range items {\n\t\tcount += item.Quantity\n\t}\n\treturn count\n"}]}}],"usage":{"input":6100,"output":160}}
{"text":"Done."}
JSONL
"${T[@]}" new-session -d -x 132 -y 34 "'$nvim' --clean -u '$here/picture.lua' 2>'$tmp/err'"
shot() { "${T[@]}" capture-pane -p -e -N >"$tmp/shot" && sed 's/\x1b\[[0-9;:]*m//g' "$tmp/shot" >"$tmp/text"; }
seen() { shot && for want in "$@"; do grep -qF -- "$want" "$tmp/text" || return 1; done; }
i=0
until seen '    total += item.Price * item.Quantity' '        count += item.Quantity' 'return len(items)' '❯ Total and Count' \
  '▸ Item has a new field, Quantity. (2 lines)' '✓ Read cart.go' '▸ output,' '✎ Edit cart.go' '● waiting for you · Total and Count' '2 changes in 1 file, +6 -2' 'agent: 2 hunks to decide' 'context 2' 'Quantity int // at least 1' '- Count adds up'; do
  i=$((i + 1))
  [ $i -lt 1200 ] || { cat "$tmp/text" "$tmp/err"; echo 'picture.sh: this is not what should be seen'; exit 1; }
  sleep 0.05
done
if [ -n "$png" ]; then
  node "$here/picture.cjs" "$background" <"$tmp/shot" >"$tmp/page.html"
  chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size=1130,594 --user-data-dir="$tmp/chromium" \
    --screenshot="$png" "file://$tmp/page.html" >/dev/null 2>&1
fi
echo "ok  $("$nvim" --version | head -n1), $background"

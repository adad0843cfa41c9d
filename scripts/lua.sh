#!/usr/bin/env bash
# lua.sh [--format]    runs luacheck and StyLua over the Neovim plugin; --format rewrites the files
#
# luacheck comes from Debian's package lua-check. StyLua is a library from npm, which is kept in the
# test cache.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tries.sh
want=2.5.2
dir="${XDG_CACHE_HOME:-$HOME/.cache}/agent-lsp-test/stylua-$want"
if [ ! -e "$dir/.complete" ]; then
  echo "setup: installing stylua $want" >&2
  mkdir -p "$dir"
  tries npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$dir" \
    "@johnnymorganz/stylua@$want" >&2
  touch "$dir/.complete"
fi
mapfile -t files < <(git ls-files '*.lua' | grep -v 'lua/agent_lsp/protocol\.lua$')
if [ "${1:-}" = --format ]; then
  exec node editors/neovim/tests/format.cjs "$dir" --write "${files[@]}"
fi
node editors/neovim/tests/format.cjs "$dir" "${files[@]}"
luacheck -q --no-color --config editors/neovim/.luacheckrc "${files[@]}"

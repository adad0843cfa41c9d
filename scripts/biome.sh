#!/usr/bin/env bash
# Installs the linter for TypeScript and JavaScript into the test cache, and prints its path.
set -euo pipefail
. "$(dirname "$0")/tries.sh"
want=2.6.8
dir="${XDG_CACHE_HOME:-$HOME/.cache}/agent-lsp-test/biome-$want"
if [ ! -d "$dir" ]; then
  echo "setup: installing biome $want" >&2
  mkdir -p "$(dirname "$dir")"
  new=$(mktemp -d "$dir-new.XXXXXX")
  trap 'rm -rf "$new"' EXIT
  tries npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$new" \
    "@biomejs/biome@$want" >&2
  mv -T "$new" "$dir" 2>/dev/null || [ -d "$dir" ]
fi
echo "$dir/node_modules/.bin/biome"

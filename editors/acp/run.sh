#!/usr/bin/env bash
# Runs all ACP tests, or only the named files, with the binary AGENT_LSP_BIN or with one that it
# builds.
set -euo pipefail
cd "$(dirname "$0")"
tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT
if [ -z "${AGENT_LSP_BIN:-}" ]; then
  (cd ../.. && CGO_ENABLED=0 ${GO:-go} build -trimpath -o "$tmp/agent-lsp" ./cmd/agent-lsp)
  export AGENT_LSP_BIN="$tmp/agent-lsp"
fi
if [ ! -d node_modules ] || [ package-lock.json -nt node_modules ]; then
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
fi
if [ $# -gt 0 ]; then
  node --test --test-timeout=600000 "$@"
  exit
fi
export ACP_SEEN="$tmp/seen"
mkdir "$tmp/worlds"
TMPDIR="$tmp/worlds" node --test --test-timeout=600000 test/*.test.js
node test/every.js
left=$(ls "$tmp/worlds")
[ -z "$left" ] || { echo "the tests left folders behind: $left"; exit 1; }

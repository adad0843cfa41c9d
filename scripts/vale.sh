#!/usr/bin/env bash
# Installs Vale for the style check into the test cache, and prints its path.
set -euo pipefail
. "$(dirname "$0")/tries.sh"
want=v3.21.0
bin="${XDG_CACHE_HOME:-$HOME/.cache}/agent-lsp-test/bin"
have=$(go version -m "$bin/vale" 2>/dev/null | awk '$1 == "mod" { print $3 }') || true
if [ "$have" != "$want" ]; then
  echo "setup: installing vale $want" >&2
  mkdir -p "$bin"
  GOBIN="$bin" tries go install "github.com/vale-cli/vale/v3/cmd/vale@$want"
fi
echo "$bin/vale"

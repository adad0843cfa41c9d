#!/usr/bin/env bash
# Runs the ACP tests against AGENT_LSP_BIN, or against a binary that it builds.
set -euo pipefail
cd "$(dirname "$0")"
if [ -z "${AGENT_LSP_BIN:-}" ]; then
  tmp=$(mktemp -d); trap 'rm -rf "$tmp"' EXIT
  (cd ../.. && CGO_ENABLED=0 ${GO:-go} build -trimpath -o "$tmp/agent-lsp" ./cmd/agent-lsp)
  export AGENT_LSP_BIN="$tmp/agent-lsp"
fi
if [ ! -d node_modules ] || [ package-lock.json -nt node_modules ]; then
  npm ci --no-audit --no-fund --loglevel=error
fi
node --test --test-timeout=600000 ${@:-test/*.test.js}

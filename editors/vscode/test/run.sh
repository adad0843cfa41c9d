#!/usr/bin/env bash
# Runs all tests of the extension: type checks, unit tests, the package's size, and the extension in
# a real workbench. It downloads the npm packages and the workbench if they are missing. It builds
# the daemon unless AGENT_LSP_BIN names one.
set -euo pipefail
cd "$(dirname "$0")/.."
here=$PWD

if [ ! -x node_modules/.bin/esbuild ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
  npm ci --no-audit --no-fund --loglevel=error
fi
VSCODE_TEST_DIR=$(test/setup.sh)
export VSCODE_TEST_DIR
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "${AGENT_LSP_BIN:-}" ]; then
  AGENT_LSP_BIN=$work/agent-lsp
  (cd ../.. && CGO_ENABLED=0 go build -o "$AGENT_LSP_BIN" ./cmd/agent-lsp)
fi
AGENT_LSP_BIN=$(realpath "$AGENT_LSP_BIN")
export AGENT_LSP_BIN

if grep -q '"resolved"' package-lock.json; then echo "package-lock.json holds download addresses" >&2; exit 1; fi
node scripts/generate.mjs "$AGENT_LSP_BIN" --check
npx --no-install tsc --noEmit -p .
node test/unit.mjs
npx --no-install vsce package --no-dependencies --allow-missing-repository --out "$work/agent-lsp.vsix" >"$work/vsce.log" 2>&1 || { cat "$work/vsce.log" >&2; exit 1; }
size=$(stat -c %s "$work/agent-lsp.vsix")
echo "agent-lsp.vsix without the binary: $((size / 1024)) KB"
[ "$size" -lt 500000 ] || { echo "the package is larger than 500 KB" >&2; exit 1; }

# The workbench gets the package that a release builds for this system, with the daemon.
mkdir -p "$work/with/bin"
tar cf - --exclude node_modules --exclude dist --exclude test . | tar xf - -C "$work/with"
ln -s "$here/node_modules" "$work/with/node_modules"
cp "$AGENT_LSP_BIN" "$work/with/bin/agent-lsp"
target=$(node -p 'process.platform + "-" + process.arch')
(cd "$work/with" && npx --no-install vsce package --no-dependencies --allow-missing-repository --target "$target" --out "$work/agent-lsp-with.vsix") >"$work/vsce.log" 2>&1 || { cat "$work/vsce.log" >&2; exit 1; }
echo "agent-lsp.vsix with the binary: $(($(stat -c %s "$work/agent-lsp-with.vsix") / 1024)) KB"
node "$here/test/e2e.mjs" "$work/agent-lsp-with.vsix" "$work/agent-lsp.vsix"

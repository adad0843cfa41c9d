#!/usr/bin/env bash
# vscode.sh tests VS Code with a generic client of 30 lines. It uses the npm packages and the
# workbench of the extension's tests.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd -P)
extension=$here/../vscode
if [ ! -x "$extension/node_modules/.bin/esbuild" ] || [ "$extension/package-lock.json" -nt "$extension/node_modules/.package-lock.json" ]; then
  (cd "$extension" && npm ci --no-audit --no-fund --loglevel=error)
fi
VSCODE_TEST_DIR=$("$extension/test/setup.sh")
export VSCODE_TEST_DIR
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "${AGENT_LSP_BIN:-}" ]; then
  AGENT_LSP_BIN=$work/agent-lsp
  (cd "$here/../.." && CGO_ENABLED=0 ${GO:-go} build -o "$AGENT_LSP_BIN" ./cmd/agent-lsp)
fi
AGENT_LSP_BIN=$(realpath "$AGENT_LSP_BIN")
export AGENT_LSP_BIN
mkdir "$work/plain"
cp "$here/vscode/package.json" "$work/plain/"
NODE_PATH=$extension/node_modules "$extension/node_modules/.bin/esbuild" "$here/vscode/extension.js" --bundle --platform=node --external:vscode \
  --outfile="$work/plain/main.js" --log-level=error
[ "$(wc -l <"$here/vscode/extension.js")" -le 30 ]
echo 'A client for tests.' >"$work/plain/README.md"
(cd "$work/plain" && "$extension/node_modules/.bin/vsce" package --no-dependencies --allow-missing-repository --skip-license --out "$work/plain.vsix" >"$work/log" 2>&1) || { cat "$work/log" >&2; exit 1; }
# A workbench on a loaded machine may lose a click. Each try starts a fresh workbench and must pass
# every step.
for try in 1 2; do
  if node "$here/vscode.mjs" "$work/plain.vsix"; then exit 0; fi
  echo "try $try failed" >&2
done
exit 1

#!/usr/bin/env bash
# run.sh tests editors without a plugin. Each editor performs all steps with the setup in
# docs/use/editors.md.
#
# editors/neovim/tests (plain) tests Neovim without the plugin. This script only compares Neovim's
# capabilities with those that its profiles replay.
set -euo pipefail
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for pair in trixie:0.10 forky:0.12; do
  nvim=$(../neovim/tests/get-nvim.sh "${pair%:*}" "${XDG_CACHE_HOME:-$HOME/.cache}/agent-lsp-test/nvim-${pair%:*}")
  HOME=$work "$nvim" --headless --clean +'lua io.stdout:write(vim.json.encode(vim.lsp.protocol.make_client_capabilities()))' +q >"$work/sent" 2>/dev/null
  node profile.mjs "neovim-${pair#*:}" "$work/sent"
  echo "ok: Neovim ${pair#*:} sends the capabilities of its profile"
done
./emacs.sh </dev/null
./lsp-mode.sh </dev/null
./ale.sh </dev/null
./vscode.sh </dev/null

#!/usr/bin/env bash
# Downloads what the Go tests and the editors' tests need in addition to Go, Node and npm: Debian
# packages (as root, or with sudo without a password), gopls, and servers from npm. The script does
# nothing if everything is installed.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/tries.sh

declare -A need=([tmux]=tmux [chromium]=chromium [bwrap]=bubblewrap [rg]=ripgrep [luacheck]=lua-check [emacs]=emacs-nox [vim]=vim [flock]=util-linux [strace]=strace [dbus-launch]=dbus-x11 [gnome-keyring-daemon]=gnome-keyring)
sudo=(); [ "$(id -u)" = 0 ] || sudo=(sudo -n)
missing=()
for cmd in "${!need[@]}"; do command -v "$cmd" >/dev/null || missing+=("${need[$cmd]}"); done
[ -d /usr/share/emacs/site-lisp/elpa/eglot-1.9 ] || ls -d /usr/share/emacs/site-lisp/elpa/eglot* >/dev/null 2>&1 || missing+=(elpa-eglot)
[ -e /usr/share/bash-completion/bash_completion ] || missing+=(bash-completion)
if [ ${#missing[@]} -gt 0 ]; then
  echo "setup: installing ${missing[*]}" >&2
  log=$(mktemp)
  DEBIAN_FRONTEND=noninteractive "${sudo[@]}" sh -c "apt-get update -q && apt-get install -y -q --no-install-recommends ${missing[*]}" >"$log" 2>&1 ||
    { tail -n 20 "$log" >&2; echo "setup: installing ${missing[*]} failed" >&2; exit 1; }
  rm -f "$log"
fi

cache="${XDG_CACHE_HOME:-$HOME/.cache}/agent-lsp-test"

scripts/gopls.sh >/dev/null
scripts/vale.sh >/dev/null
scripts/biome.sh >/dev/null

# Install lsp-mode into the test cache instead of the system. Otherwise, its markdown-mode would
# change the capabilities that eglot sends to a server.
if [ ! -d "$cache/lsp-mode" ]; then
  echo "setup: fetching lsp-mode" >&2
  mkdir -p "$cache"
  elpa=$(mktemp -d "$cache/lsp-mode-new.XXXXXX")
  trap 'rm -rf "$elpa"' EXIT
  apt-cache show elpa-lsp-mode >/dev/null 2>&1 || tries "${sudo[@]}" apt-get update -q
  (cd "$elpa" && tries apt-get download -q elpa-{lsp-mode,dash,f,s,ht,spinner,lv,markdown-mode})
  for deb in "$elpa"/*.deb; do dpkg-deb -x "$deb" "$elpa"; rm "$deb"; done
  mv -T "$elpa" "$cache/lsp-mode" 2>/dev/null || [ -d "$cache/lsp-mode" ]
fi

# Install ALE into the test cache, so that no other Vim loads it.
if [ ! -d "$cache/vim-ale" ]; then
  echo "setup: fetching ALE" >&2
  mkdir -p "$cache"
  ale=$(mktemp -d "$cache/vim-ale-new.XXXXXX")
  trap 'rm -rf "${elpa:-}" "$ale"' EXIT
  apt-cache show vim-ale >/dev/null 2>&1 || tries "${sudo[@]}" apt-get update -q
  (cd "$ale" && tries apt-get download -q vim-ale)
  for deb in "$ale"/*.deb; do dpkg-deb -x "$deb" "$ale"; rm "$deb"; done
  mv -T "$ale" "$cache/vim-ale" 2>/dev/null || [ -d "$cache/vim-ale" ]
fi

# The tests of MCP and of language servers use these real servers, which run on Node. Their folder
# is named after the pinned versions, and is created only when it is complete. The versions are the
# newest that run on Node 20: typescript-language-server 6 requires Node 22, and TypeScript 7 has no
# tsserver.
pins=(@modelcontextprotocol/server-everything@2026.8.31 @modelcontextprotocol/server-filesystem@2026.8.31
  typescript-language-server@5.3.0 typescript@5.9.3 pyright@1.1.414)
node="$cache/node-$(printf '%s\n' "${pins[@]}" | sha256sum | cut -c1-12)"
if [ ! -d "$node" ]; then
  echo "setup: installing ${pins[*]}" >&2
  mkdir -p "$cache"
  new=$(mktemp -d "$cache/node-new.XXXXXX")
  trap 'rm -rf "$new" "${elpa:-}" "${ale:-}"' EXIT
  tries npm install --prefix "$new" --no-package-lock --ignore-scripts --no-audit --no-fund --loglevel=error "${pins[@]}"
  mv -T "$new" "$node" 2>/dev/null || [ -d "$node" ]
fi
ln -sfn "$node" "$cache/node"

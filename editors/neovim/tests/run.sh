#!/usr/bin/env bash
# run.sh [SPEC...]    tests the plugin in real Neovim, oldest and newest, against the real daemon
#
# The script downloads both Neovims if they are missing (caches are outside the checkout), builds
# the daemon unless AGENT_LSP_BIN names one, and exits non-zero after the first failing group.
# CASE=pattern runs only matching cases. PICTURES=1 recreates the pictures of docs/images in the
# newest Neovim. Without it, the spec "picture" only checks the screen. The spec "screens", which
# runs only when it is named, creates the screens of scenes.lua (SHOTS=folder for their pictures,
# ONLY=pattern or ONLY=main).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd -P)
plugin=$(dirname "$here")
repo=$(cd "$plugin/../.." && pwd -P)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/agent-lsp-test

tmp=$(mktemp -d "${TMPDIR:-/tmp}/agent-lsp-nvim.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

if [ -z "${AGENT_LSP_BIN:-}" ]; then
  AGENT_LSP_BIN=$tmp/agent-lsp
  (cd "$repo" && CGO_ENABLED=0 go build -o "$AGENT_LSP_BIN" ./cmd/agent-lsp)
fi
AGENT_LSP_BIN=$(cd "$(dirname "$AGENT_LSP_BIN")" && pwd -P)/$(basename "$AGENT_LSP_BIN")
export AGENT_LSP_BIN

# The path of the gopls version that scripts/setup.sh installs.
gopls=$("$repo/scripts/gopls.sh")

# pathogen is the only plugin manager that Debian provides.
pathogen=$cache/pathogen
if [ ! -d "$pathogen" ]; then
  sudo=()
  [ "$(id -u)" = 0 ] || sudo=(sudo -n)
  apt-cache show vim-pathogen >/dev/null 2>&1 || "${sudo[@]}" apt-get update -q >/dev/null
  (cd "$tmp" && apt-get download -q vim-pathogen >/dev/null 2>&1 && dpkg-deb -x vim-pathogen_*.deb "$tmp/pathogen")
  mkdir -p "$cache"
  mv -T "$tmp/pathogen" "$pathogen" 2>/dev/null || [ -d "$pathogen" ]
fi

# isolated FOLDER COMMAND...: runs a command without the user's editor settings or keys.
isolated() {
  local home=$1
  shift
  mkdir -p "$home"/{config,data,cache,state,run,tmp}
  chmod 700 "$home/run"
  env -i PATH="$PATH" HOME="$home" LC_ALL=C.UTF-8 TERM=xterm-256color AGENT_LSP_BIN="$AGENT_LSP_BIN" REPO="$repo" GOPLS="$gopls" \
    ${CASE:+"CASE=$CASE"} ${SEED:+"SEED=$SEED"} ${ROUNDS:+"ROUNDS=$ROUNDS"} ${NVIM:+"NVIM=$NVIM"} ${DID:+"DID=$DID"} ${SHOTS:+"SHOTS=$SHOTS"} ${ONLY:+"ONLY=$ONLY"} ${SIZES:+"SIZES=$SIZES"} \
    ${LAZY_NVIM:+"LAZY_NVIM=$LAZY_NVIM"} ${VIM_PLUG:+"VIM_PLUG=$VIM_PLUG"} PATHOGEN="$pathogen/usr/share/vim-pathogen" LUA_PATH="$here/?.lua;;" \
    XDG_CONFIG_HOME="$home/config" XDG_DATA_HOME="$home/data" XDG_CACHE_HOME="$home/cache" \
    XDG_STATE_HOME="$home/state" XDG_RUNTIME_DIR="$home/run" TMPDIR="$home/tmp" "$@"
}

failed=()
specs=("$@")
[ ${#specs[@]} -gt 0 ] || mapfile -t specs < <(cd "$here/spec" && ls ./*_spec.lua | sed 's,^\./,,; s,_spec\.lua$,,' && echo picture && echo movie)
for suite in trixie forky; do
  nvim=$("$here/get-nvim.sh" "$suite" "$cache/nvim-$suite")
  echo "== $("$nvim" --version | head -n1)"
  for spec in "${specs[@]}"; do
    echo "-- $spec"
    if [ "$spec" = picture ]; then
      for background in light dark; do
        png=
        [ -z "${PICTURES:-}" ] || [ "$suite" != forky ] || png=$repo/docs/images/neovim-$background.png
        isolated "$tmp/$suite-picture-$background" "$here/picture.sh" "$nvim" "$background" "$png" </dev/null || failed+=("$suite/picture-$background")
      done
      continue
    fi
    if [ "$spec" = movie ]; then
      [ "$suite" = forky ] || continue
      film=()
      [ -z "${PICTURES:-}" ] || film=("$repo/docs/images/review.gif" "$tmp/join")
      [ -z "${PICTURES:-}" ] || (cd "$repo" && go build -o "$tmp/join" ./scripts/movie)
      isolated "$tmp/movie" "$here/movie.sh" "$nvim" "${film[@]}" </dev/null || failed+=(movie)
      continue
    fi
    if [ "$spec" = screens ]; then
      [ "$suite" != forky ] || NVIM=$nvim isolated "$tmp/screens" "$nvim" --headless --clean -l "$here/screens.lua" || failed+=(screens)
      [ "$suite" != forky ] || [ -z "${SHOTS:-}" ] || "$here/shots.sh" "$SHOTS" || failed+=(shots)
      continue
    fi
    did=
    [ "$spec" != plain ] || [ -n "${CASE:-}" ] || did=$tmp/$suite-did
    if ! NVIM=$nvim DID=$did isolated "$tmp/$suite-$spec" timeout -k 5 900 "$nvim" --headless --clean -l "$here/spec/${spec}_spec.lua" 2>"$tmp/stderr"; then
      failed+=("$suite/$spec")
      tail -n 40 "$tmp/stderr"
    elif [ -n "$did" ]; then # the generated tables of editors use this output
      version=$("$nvim" --version | sed -nE '1s/NVIM v([0-9]+\.[0-9]+).*/\1/p')
      read -ra steps <"$did" || :
      node "$repo/editors/plain/ran.mjs" "neovim-$version" "Neovim $version" "${steps[@]}" || failed+=("$suite/ran")
    fi
  done
done

if [ $# -eq 0 ]; then
  echo '== protocol.lua'
  "$AGENT_LSP_BIN" schema lua | diff -q - "$plugin/lua/agent_lsp/protocol.lua" >/dev/null ||
    { echo 'lua/agent_lsp/protocol.lua is not what `agent-lsp schema lua` prints'; failed+=(protocol.lua); }
fi

[ ${#failed[@]} -eq 0 ] || { echo "FAILED: ${failed[*]}"; exit 1; }
echo 'all Neovim tests passed'

#!/usr/bin/env bash
# Installs the gopls version that the tests use into the test cache, and prints its path. v0.24.0
# requires Go 1.27, which the go command downloads through the module proxy, even if GOTOOLCHAIN is
# set otherwise. If that fails, the newest version that go.mod's toolchain can build is used. Each
# run reports this and tries again.
set -euo pipefail
. "$(dirname "$0")/tries.sh"
want=v0.24.0
spare=v0.23.0
bin="${XDG_CACHE_HOME:-$HOME/.cache}/agent-lsp-test/bin"

# version prints the version of the installed gopls, or nothing if gopls is not installed.
version() { go version -m "$bin/gopls" 2>/dev/null | awk '$1 == "mod" { print $3 }'; }

# install VERSION replaces the installed gopls, which may be running.
install() {
  local new
  mkdir -p "$bin"
  new=$(mktemp -d "$bin/new.XXXXXX")
  echo "setup: installing gopls $1" >&2
  if GOBIN="$new" tries go install "golang.org/x/tools/gopls@$1" && mv -f "$new/gopls" "$bin/gopls"; then
    rmdir "$new"
  else
    rm -rf "$new"
    return 1
  fi
}

if [ "$(version)" != "$want" ] && ! GOTOOLCHAIN=auto install "$want"; then
  [ "$(version)" = "$spare" ] || install "$spare"
  printf 'setup: WARNING: gopls %s could not be installed (above is why; it wants Go 1.27): THE TESTS RUN GOPLS %s INSTEAD\n' "$want" "$spare" >&2
fi
echo "$bin/gopls"

#!/usr/bin/env bash
# Builds a complete release into dist/, then installs the packages for this system into an empty
# home folder and plays the demo. The script publishes nothing. TARGETS, VERSION and
# SOURCE_DATE_EPOCH may be set. Builds are reproducible. To check this, the script builds everything
# twice and compares the results.
#   scripts/release.sh [--build]    --build: only builds
set -euo pipefail
umask 022
cd "$(dirname "$0")/.."
scripts=$PWD/scripts
go=${GO:-go}
version=${VERSION:-$(cat VERSION)}
targets=${TARGETS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 windows/arm64}
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || echo 315532800)}
export CGO_ENABLED=0 TZ=UTC
host=$($go env GOHOSTOS)/$($go env GOHOSTARCH)
rm -rf dist
mkdir -p dist
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
$go build -o "$work/pack" ./scripts/pack
$go build -o "$work/notices" ./scripts/notices
$go build -o "$work/agent-lsp" ./cmd/agent-lsp
sums() { if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }

# Changes links in pages: a link to a file that is not included with the page points to the
# repository.
repository=https://github.com/agent-lsp/agent-lsp
outward() { # arguments: pages
  sed -E -e "s#(\]\()(\.\./)*((editors|testdata|cmd|internal|bench|scripts)/|(ARCHITECTURE|CONTRIBUTING)\.md)#\1$repository/blob/main/\3#g" -i.old "$@"
  rm "${@/%/.old}"
}

binary() { # GOOS/GOARCH, file; see LDFLAGS in the Makefile
  local align=
  [ "${1#*/}" = amd64 ] && align=-funcalign=8
  GOOS=${1%/*} GOARCH=${1#*/} $go build -trimpath -buildvcs=false -ldflags "-s -w $align -buildid= -X main.version=$version" -o "$2" ./cmd/agent-lsp
}

for target in $targets; do
  os=${target%/*} arch=${target#*/} exe= ext=tar.gz
  [ "$os" = windows ] && exe=.exe ext=zip
  name=agent-lsp-$version-$os-$arch
  echo "release: building $name.$ext"
  mkdir -p "$work/$name/completions"
  binary "$target" "$work/$name/agent-lsp$exe"
  cp LICENSE README.md CHANGELOG.md "$work/$name/"
  GOOS=$os GOARCH=$arch "$work/notices" ./cmd/agent-lsp >"$work/$name/LICENSES.txt"
  cp -R docs "$work/$name/" # the pages that the README links to, including their pictures
  rm -rf "$work/$name/docs/.vitepress"
  outward "$work/$name"/*.md "$work/$name"/docs/*.md "$work/$name"/docs/*/*.md
  for shell in bash zsh fish; do "$work/agent-lsp" completion $shell >"$work/$name/completions/agent-lsp.$shell"; done
  "$work/pack" "dist/$name.$ext" "$work/$name"
done

# Pack the Neovim plugin in the layout for plugin managers and runtimepath.
mkdir -p "$work/agent-lsp.nvim"
cp -R editors/neovim/lua editors/neovim/plugin LICENSE "$work/agent-lsp.nvim/"
for f in README.md doc; do [ ! -e "editors/neovim/$f" ] || cp -R "editors/neovim/$f" "$work/agent-lsp.nvim/"; done
sed -e "s#\(\.\./\)*docs/images/#$repository/raw/main/docs/images/#" editors/neovim/README.md >"$work/agent-lsp.nvim/README.md"
"$work/pack" "dist/agent-lsp.nvim-$version.tar.gz" "$work/agent-lsp.nvim"

# Pack the VS Code extension without a binary, and with a binary for each system.
vsix() { # arguments: out, further arguments
  local out=$PWD/dist/$1; shift
  echo "release: building ${out##*/}"
  (cd "$work/vscode" && node_modules/.bin/vsce package --no-dependencies --allow-missing-repository "$@" --out "$out" >"$work/vsce.log" 2>&1) ||
    { cat "$work/vsce.log" >&2; return 1; }
}
if [ -n "${NO_VSIX:-}" ]; then
  echo "release: the .vsix is left out, as NO_VSIX asks" >&2
elif ! command -v npm >/dev/null; then
  echo "release: the .vsix is left out: npm is missing" >&2
else
  mkdir "$work/vscode"
  tar cf - --exclude node_modules --exclude dist --exclude bin -C editors/vscode . | tar xf - -C "$work/vscode"
  chmod -R u+rwX,go+rX,go-w "$work/vscode" # file modes must not depend on the checkout
  (cd "$work/vscode" && npm ci --no-audit --no-fund --loglevel=error >"$work/npm.log" 2>&1) || { cat "$work/npm.log" >&2; exit 1; }
  vsix "agent-lsp-$version.vsix"
  for target in $targets; do
    os=${target%/*} arch=${target#*/} exe=
    case $os in windows) os=win32 exe=.exe ;; esac
    case $arch in amd64) arch=x64 ;; esac
    rm -rf "$work/vscode/bin"
    mkdir "$work/vscode/bin"
    cp "$work/agent-lsp-$version-${target%/*}-${target#*/}"/{agent-lsp$exe,LICENSES.txt} "$work/vscode/bin/"
    vsix "agent-lsp-$version-$os-$arch.vsix" --target "$os-$arch"
  done
fi

(cd dist && sums -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
[ "${1:-}" != --build ] || exit 0
(cd dist && ls -l | awk 'NR > 1 {printf "%9.2f MB  %s\n", $5 / 1e6, $9}')

# A build from another folder with other file modes, in another time zone, must have the same bytes
# in every file for every system.
echo "release: all of it once more, from another folder"
again=$work/again
(umask 077 && mkdir "$again" && tar cf - --exclude .git --exclude node_modules --exclude ./bin --exclude ./dist . | tar xf - -C "$again" &&
  cd "$again" && TZ=Pacific/Kiritimati VERSION=$version TARGETS=$targets scripts/release.sh --build)
for f in dist/agent-lsp* dist/SHA256SUMS; do
  cmp "$f" "$again/$f" || { echo "release: ${f##*/} is not reproducible" >&2; exit 1; }
done
[ "$(ls dist)" = "$(ls "$again/dist")" ] || { echo "release: the second build has other files" >&2; exit 1; }
echo "release: all $(ls dist | wc -l) files were built again, from another folder, and are the same"
rm -rf "$again"

# Unpack the packages for this system into an empty home folder, and test the version, the doctor
# and the demo.
here=dist/agent-lsp-$version-${host/\//-}.tar.gz
[ -f "$here" ] || { echo "release: nothing of this can run here"; exit 0; }
(cd dist && sums -c SHA256SUMS >/dev/null)
home=$work/home
mkdir "$home"
tar xzf "$here" -C "$home"
for file in LICENSE LICENSES.txt README.md CHANGELOG.md docs/contribute/licenses.md completions/agent-lsp.{bash,zsh,fish}; do
  [ -s "$home"/*/"$file" ] || { echo "release: $here lacks $file" >&2; exit 1; }
done
bin=$(echo "$home"/*/agent-lsp)
(cd "${bin%/*}" && grep -roE '(\]\(|srcset="|src=")[^)#":]+[)#"]' --include='*.md' . | while IFS=: read -r page link; do
  link=${link#*[(\"]} link=${link%[)#\"]}
  [ -e "${page%/*}/$link" ] || { echo "release: $page leads to $link, which is not packed" >&2; exit 1; }
done)
fresh() { (cd "$home" && env -i HOME="$home" PATH="$PATH" "$bin" "$@" </dev/null); }
fresh version | grep -F "agent-lsp $version "
code=0
fresh doctor || code=$?
[ $code = 0 ] || [ $code = 3 ] || { echo "release: doctor ended with $code" >&2; exit 1; } # 3: there is no provider
fresh demo >"$work/demo.log" || { cat "$work/demo.log"; echo "release: the demo failed" >&2; exit 1; }
grep -q "the edit is back" "$work/demo.log" || { cat "$work/demo.log"; exit 1; }
[ "$(ls -A "$home")" = "$(basename "$(dirname "$bin")")" ] || { ls -lA "$home"; echo "release: the demo left something in the home folder" >&2; exit 1; }
echo "release: installed into an empty home; version, doctor and demo work"

# Test the editors' packages in the editors that the tests have downloaded, or in an installed
# Neovim.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/agent-lsp-test
nvim=$(ls "$cache"/nvim-*/bin/nvim 2>/dev/null | tail -n 1 || command -v nvim || true)
if [ -n "$nvim" ]; then
  start=$home/.local/share/nvim/site/pack/agent-lsp/start
  mkdir -p "$start" "$work/project"
  tar xzf "dist/agent-lsp.nvim-$version.tar.gz" -C "$start"
  echo 'some text' >"$work/project/a.txt"
  echo '{"expect":{"lastUser":"hello"},"text":"The script says hello."}' >"$work/model.jsonl"
  (cd "$work/project" && env -i HOME="$home" PATH="$(dirname "$bin"):$PATH" TERM=dumb LC_ALL=C.UTF-8 AGENT_LSP_SCRIPT="$work/model.jsonl" \
    timeout 300 "$nvim" --headless a.txt -c "luafile $scripts/installed.lua" </dev/null)
else
  echo "release: the Neovim layout was not tried (no nvim: make test-neovim fetches it)" >&2
fi
bare=$PWD/dist/agent-lsp-$version.vsix
vsix=$(echo "$PWD/dist/agent-lsp-$version-${host/\//-}.vsix" | sed 's/amd64/x64/')
if [ ! -f "$vsix" ]; then
  echo "release: no .vsix was tried: none was built for this system" >&2
elif [ -d "$cache/vscode/node_modules/code-server" ]; then
  (cd "$work/vscode" && AGENT_LSP_BIN=$bin ONLY='abort and continue|without a binary' node test/e2e.mjs "$vsix" "$bare")
  echo "release: both kinds of .vsix were installed and answered"
else
  echo "release: the .vsix was not tried (no workbench: make test-vscode fetches it)" >&2
fi

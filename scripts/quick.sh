#!/usr/bin/env bash
# Checks the differences from the main branch: format, vet, and the tests of the changed packages.
set -euo pipefail
cd "$(dirname "$0")/.."
base=HEAD
for branch in origin/main main; do
  if git rev-parse -q --verify "$branch" >/dev/null; then
    base=$(git merge-base HEAD "$branch")
    break
  fi
done
mapfile -t files < <(
  { git diff --name-only "$base"; git ls-files -o --exclude-standard; } | sort -u
)
packages=(./internal) # the tests for forbidden imports and for the map of packages
for file in "${files[@]}"; do
  [[ $file == *.go && -e $file ]] || continue
  unformatted=$(gofmt -l "$file")
  [ -z "$unformatted" ] || { echo "gofmt would change $file"; exit 1; }
  [[ $file == testdata/* ]] || packages+=("./$(dirname "$file")")
done
go build ./...
mapfile -t packages < <(printf '%s\n' "${packages[@]}" | sort -u)
go vet "${packages[@]}"
go test "${packages[@]}"

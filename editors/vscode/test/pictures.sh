#!/usr/bin/env bash
# Recreates the pictures in docs/images with two steps of the end-to-end test, each in a fresh
# workbench. The pictures show only a part of the window, so that their text is readable on a phone.
set -euo pipefail
cd "$(dirname "$0")/.."
images=$PWD/../../docs/images
shots=$(mktemp -d)
trap 'rm -rf "$shots"' EXIT
export GO_ON=1 SHOTS=$shots FOLDER=src
ONLY='looks: four files' test/run.sh
ONLY='prompt, stream, diff, accept' test/run.sh

# part SHOT HEIGHT PICTURE cuts the editor with its tabs out of a screenshot of the window.
part() {
  local page=$shots/part.html
  printf '<!doctype html><body style="margin: 0; background: url(%s.png) -352px -36px">' "$1" >"$page"
  chromium --headless --no-sandbox --disable-gpu --hide-scrollbars --window-size="480,$2" \
    --user-data-dir="$shots/chromium" --screenshot="$images/$3.png" "file://$page" >/dev/null 2>&1
}
part review-light 320 vscode-proposed
part multi-light 530 vscode-review-files
part applied-contrast 320 vscode-review-contrast

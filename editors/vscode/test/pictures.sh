#!/usr/bin/env bash
# Recreates the pictures in docs/images with two steps of the end-to-end test, each in a fresh
# workbench.
set -euo pipefail
cd "$(dirname "$0")/.."
images=$PWD/../../docs/images
shots=$(mktemp -d)
trap 'rm -rf "$shots"' EXIT
export GO_ON=1 SHOTS=$shots FOLDER=src
ONLY='looks: four files' test/run.sh
ONLY='prompt, stream, diff, accept' test/run.sh
cp "$shots/applied-dark.png" "$images/vscode-review-dark.png"
cp "$shots/applied-light.png" "$images/vscode-review-light.png"
cp "$shots/applied-contrast.png" "$images/vscode-review-contrast.png"
cp "$shots/multi-light.png" "$images/vscode-review-files.png"
cp "$shots/review-light.png" "$images/vscode-proposed.png"

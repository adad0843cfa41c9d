# terminal.sh is sourced by the tests that run an editor in a terminal. It provides a workspace, a
# model, tmux, keys and the content of the screen.
repo=$(cd "$here/../.." && pwd -P)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/agent-lsp-plain.XXXXXX")
ws=$tmp/ws
patience=${PATIENCE:-300} # in seconds; a passing test takes far less, even under load
tm() { tmux -u -S "$tmp/sock" -f /dev/null "$@"; }

finish() {
  local code=$?
  [ $code = 0 ] || { echo "-- the screen:"; tm capture-pane -p 2>/dev/null | grep -v '^ *$'; } >&2
  tm kill-server 2>/dev/null || true
  if [ $code != 0 ] && [ -n "${KEEP:-}" ]; then echo "kept: $tmp" >&2; else rm -rf "$tmp"; fi
}
trap finish EXIT
trap 'exit 1' INT TERM
fail() { echo "FAILED: $*" >&2; exit 1; }

if [ -z "${AGENT_LSP_BIN:-}" ]; then
  AGENT_LSP_BIN=$tmp/agent-lsp
  (cd "$repo" && CGO_ENABLED=0 ${GO:-go} build -o "$AGENT_LSP_BIN" ./cmd/agent-lsp)
fi
mkdir -p "$tmp/bin" "$tmp/home/.config/agent-lsp" "$tmp/run"
chmod 700 "$tmp/run"
# The editor's messages are recorded, so that its capabilities can be compared with those that its
# profile replays.
printf '#!/bin/sh\ntee "%s" | "%s"\n' "$tmp/sent" "$(cd "$(dirname "$AGENT_LSP_BIN")" && pwd -P)/$(basename "$AGENT_LSP_BIN")" >"$tmp/bin/agent-lsp"
chmod +x "$tmp/bin/agent-lsp"
echo '{"sandbox": "off"}' >"$tmp/home/.config/agent-lsp/config.json"

# step NAME [WORDS] begins a step of the test. ran.mjs gets the names of all steps.
did=()
step() { did+=("$1"); echo "$1${2:+: $2}"; }

# workspace FILE TEXT creates a repository that contains one file.
workspace() {
  mkdir -p "$ws"
  git -C "$ws" init -q
  printf "$2" >"$ws/$1"
}

# model LINE... sets the model's replies.
model() { printf '%s\n' "$@" >"$tmp/model.jsonl"; }

# snippet HEADING LANGUAGE prints the first code block in LANGUAGE below a heading of
# docs/use/editors.md.
snippet() {
  awk -v head="### $1" -v lang="\`\`\`$2" '$0 == head {on = 1} on && $0 == "```" {exit} into {print} on && $0 == lang {into = 1}' "$repo/docs/use/editors.md"
}

# terminal COMMAND... runs an editor that cannot see the user's own settings.
terminal() {
  tm new-session -d -x 110 -y 40 -c "$ws" env -i PATH="$tmp/bin:$PATH" HOME="$tmp/home" TERM=xterm-256color LC_ALL=C.UTF-8 \
    XDG_RUNTIME_DIR="$tmp/run" TMPDIR="$tmp/run" AGENT_LSP_SCRIPT="$tmp/model.jsonl" "$@"
}
keys() { tm send-keys "$@"; }
text() { tm send-keys -l -- "$1"; }

# until_ WHAT COMMAND... waits for the command to succeed.
until_() {
  local what=$1 end=$((SECONDS + patience))
  shift
  until "$@"; do
    [ $SECONDS -lt $end ] || fail "$what did not come"
    sleep 0.05
  done
}
shown() { tm capture-pane -p 2>/dev/null | grep -Eq -- "$1"; }
sees() { until_ "/$1/ on the screen" shown "$1"; }
there() { until_ "$1" test -e "$1"; }
same() { printf "$2" | cmp -s - "$1"; }
contains() { until_ "the text of $1" same "$1" "$2"; }
over() { ! tm has-session 2>/dev/null; }
# gone waits until the editor and its daemon have ended.
gone() {
  until_ 'the end of the editor' over
  until_ 'the end of the daemon' quiet
}
quiet() { ! grep -lzxqF "AGENT_LSP_SCRIPT=$tmp/model.jsonl" /proc/[0-9]*/environ 2>/dev/null; }

# extended NAME calls an Emacs command by its name.
extended() { keys M-x; sees 'M-x'; text "$1"; keys Enter; }

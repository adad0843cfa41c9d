#!/usr/bin/env bash
# ale.sh tests the steps in real Vim with ALE and the setup in docs/use/editors.md.
#
# Vim runs in tmux. The test only presses keys, and waits until the screen or the disk changes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd -P)
. "$here/terminal.sh"

ale=${XDG_CACHE_HOME:-$HOME/.cache}/agent-lsp-test/vim-ale/usr/share/vim-ale
workspace a.py '# one\n# shout AI!\n# two\n# three\n# four\n# five\n# six\n'
model '{"toolCalls": [{"name": "bash", "arguments": {"command": "touch made"}}]}' \
  '{"toolCalls": [{"name": "read", "arguments": {"path": "a.py"}}]}' \
  '{"toolCalls": [{"name": "edit", "arguments": {"path": "a.py", "edits": [{"old_string": "two", "new_string": "TWO"}, {"old_string": "six", "new_string": "SIX"}]}}]}' \
  '{"expect": {"lastTool": "1/2"}, "text": "One of two."}' \
  '{"toolCalls": [{"name": "read", "arguments": {"path": "a.py"}}]}' \
  '{"toolCalls": [{"name": "edit", "arguments": {"path": "a.py", "edits": [{"old_string": "two", "new_string": "2"}]}}]}'
snippet ALE vim >"$tmp/setup.vim"
lines=$(wc -l <"$tmp/setup.vim")
[ "$lines" = 4 ] || fail "the set-up has $lines lines"
cat >"$tmp/vimrc" - "$tmp/setup.vim" <<VIM
set nocompatible nomore rtp^=$ale
filetype plugin indent on
VIM
terminal vim -Nu "$tmp/vimrc" "$ws/a.py"

command_() { text ":$1"; keys Enter; }
# action TITLE runs the code action at the cursor whose title begins with TITLE. It selects the
# action by its number in the menu.
action() {
  local number
  command_ ALECodeAction
  sees '^Type number'
  number=$(tm capture-pane -p | sed -nE "s/^([0-9]+)\\) $1.*/\\1/p" | head -n1)
  [ -n "$number" ] || fail "no action '$1'"
  text "$number"
  keys Enter
}
# offered TITLE reports whether the menu offers an action, and closes the menu.
offered() {
  local found=1
  command_ ALECodeAction
  sees '^Type number'
  shown "$1" && found=0
  keys Enter
  return $found
}

sees '^# six'
step prompt 'a comment that ends in AI!, run as a code action'
keys j
action 'Agent: follow'
step permit 'a message shows the question, a code action answers it'
sees 'Agent asks: Run touch made'
sees 'Answer with a code action'
action 'Agent asks: Run touch made: Allow$'
there "$ws/made"
step review 'two hunks are diagnostics; accept the first, reject the second'
sees '# two.*accept or reject'
sees '# six.*accept or reject'
command_ 3
action Accept
sees '# TWO'
command_ 7
action Reject
sees 'Agent: One of two\.'
sees '# six'
step undo
action 'Agent: undo'
sees '# two'
command_ w
contains "$ws/a.py" '# one\n# shout AI!\n# two\n# three\n# four\n# five\n# six\n'
step stop
command_ 2
action 'Agent: follow'
sees '# two.*accept or reject'
action 'Agent: stop'
until_ 'the end of the turn' offered 'Agent: undo|Agent: follow'
contains "$ws/a.py" '# one\n# shout AI!\n# two\n# three\n# four\n# five\n# six\n'
echo 'the daemon ends with Vim'
command_ qa!
gone
version=$(vim --version | sed -nE '1s/.* ([0-9]+\.[0-9]+) .*/\1/p')
if [ "$version" = 9.0 ]; then # in other versions, the capabilities and the name may differ
  node "$here/profile.mjs" ale "$tmp/sent"
  node "$here/ran.mjs" ale "Vim $version, ALE 3.3.0" "${did[@]}"
fi
echo 'ok: Vim with ALE'

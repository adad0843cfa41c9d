#!/usr/bin/env bash
# emacs.sh tests the steps in real Emacs with eglot and the setup in docs/use/editors.md.
#
# Emacs runs in tmux. The test only presses keys, and waits until the screen or the disk changes.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd -P)
. "$here/terminal.sh"

for eglot in /usr/share/emacs/site-lisp/elpa/eglot-*/; do eglot=${eglot%/}; done
echo "== $(emacs --version | head -n1), ${eglot##*/}"
workspace a.py '# one\n# shout AI!\n# two\n# three\n# four\n# five\n# six\n'
model '{"toolCalls": [{"name": "bash", "arguments": {"command": "touch made"}}]}' \
  '{"toolCalls": [{"name": "read", "arguments": {"path": "a.py"}}]}' \
  '{"toolCalls": [{"name": "edit", "arguments": {"path": "a.py", "edits": [{"old_string": "two", "new_string": "TWO"}, {"old_string": "six", "new_string": "SIX"}]}}]}' \
  '{"expect": {"lastTool": "1/2"}, "text": "One of two."}' \
  '{"expect": {"lastUser": "and now"}, "text": "Nothing more."}' \
  '{"toolCalls": [{"name": "read", "arguments": {"path": "a.py"}}]}' \
  '{"toolCalls": [{"name": "edit", "arguments": {"path": "a.py", "edits": [{"old_string": "two", "new_string": "2"}]}}]}'
snippet eglot elisp >"$tmp/setup.el"
lines=$(wc -l <"$tmp/setup.el")
[ "$lines" -gt 5 ] && [ "$lines" -le 10 ] || fail "the set-up has $lines lines"
cat >"$tmp/init.el" - "$tmp/setup.el" <<'ELISP'
(setq native-comp-deferred-compilation nil native-comp-async-report-warnings-errors nil)
(setq inhibit-startup-screen t python-indent-guess-indent-offset nil)
ELISP
terminal emacs -nw -q -l "$tmp/init.el" "$ws/a.py"

# lately REGEXP succeeds if the message was shown, even if it has disappeared from the echo area.
lately() {
  local found=1
  keys C-h e C-x o M-\>
  sleep 0.1
  shown "$1" && found=0
  keys C-x o C-x 1
  return $found
}
told() { until_ "the message /$1/" lately "$1"; }
# action PREFIX runs the code action at point whose title begins with PREFIX.
action() { keys C-c a; sees 'Pick an action'; text "$1"; keys Enter; }

sees '\[eglot:'
step prompt 'a comment that ends in AI!, run as a code action'
keys C-n
action 'Agent: follow'
step permit
sees 'touch made'
sees 'Choose an option: Allow'
keys Enter
there "$ws/made"
step review 'two hunks are Flymake notes; accept the first, reject the second'
sees 'Flymake\[0 0 2\]'
extended flymake-goto-next-error
sees 'accept or reject'
action Accept
sees '^# TWO'
sees 'Flymake\[0 0 1\]'
extended flymake-goto-next-error
action Reject
sees 'Flymake\[0 0\]'
told 'Agent: One of two\.'
sees '^# six'
step undo
action 'Agent: undo'
sees '^# two'
keys C-x C-s
contains "$ws/a.py" '# one\n# shout AI!\n# two\n# three\n# four\n# five\n# six\n'
step prompt 'by its name'
keys C-c p
sees '^Agent: *$'
text 'and now'
keys Enter
told 'Agent: Nothing more\.'
step stop
keys C-c p
sees '^Agent: *$'
text 'go on'
keys Enter
sees 'Flymake\[0 0 1\]'
action 'Agent: stop'
sees 'Flymake\[0 0\]'
contains "$ws/a.py" '# one\n# shout AI!\n# two\n# three\n# four\n# five\n# six\n'
echo 'the daemon ends with Emacs'
keys C-x C-c
gone
version=$(emacs --version | sed -nE '1s/.* ([0-9]+\.[0-9]+).*/\1/p')
if [ "${eglot##*/}" = eglot-1.9 ]; then # the capabilities and the name may differ in other versions
  node "$here/profile.mjs" eglot "$tmp/sent"
  node "$here/ran.mjs" eglot "Emacs $version, eglot 1.9" "${did[@]}"
fi
echo 'ok: Emacs'

#!/usr/bin/env bash
# lsp-mode.sh tests the steps in real Emacs with lsp-mode and the setup in docs/use/editors.md. The
# test only presses keys.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd -P)
. "$here/terminal.sh"

packages=${XDG_CACHE_HOME:-$HOME/.cache}/agent-lsp-test/lsp-mode/usr/share/emacs/site-lisp/elpa-src
[ -d "$packages" ] || fail 'lsp-mode is missing: run scripts/setup.sh'
for mode in "$packages"/lsp-mode-*; do echo "== $(emacs --version | head -n1), ${mode##*/}"; done
workspace a.py '# one\n# two\n# three\n# four\n# five\n# six\n'
model '{"toolCalls": [{"name": "bash", "arguments": {"command": "touch made"}}]}' \
  '{"toolCalls": [{"name": "read", "arguments": {"path": "a.py"}}]}' \
  '{"toolCalls": [{"name": "edit", "arguments": {"path": "a.py", "edits": [{"old_string": "two", "new_string": "TWO"}, {"old_string": "six", "new_string": "SIX"}]}}]}' \
  '{"expect": {"lastTool": "1/2"}, "text": "One of two."}' \
  '{"toolCalls": [{"name": "bash", "arguments": {"command": "touch begun; sleep 61771.'$$'"}}]}'
snippet lsp-mode elisp >"$tmp/setup.el"
lines=$(wc -l <"$tmp/setup.el")
[ "$lines" -gt 5 ] && [ "$lines" -le 10 ] || fail "the set-up has $lines lines"
cat >"$tmp/init.el" - "$tmp/setup.el" <<'ELISP'
(setq native-comp-deferred-compilation nil native-comp-async-report-warnings-errors nil)
(setq inhibit-startup-screen t python-indent-guess-indent-offset nil)
(setq lsp-session-file (expand-file-name "session" temporary-file-directory) lsp-auto-guess-root t lsp-enable-file-watchers nil)
ELISP
echo "(add-hook 'python-mode-hook #'lsp)" >>"$tmp/init.el"
load=()
for package in "$packages"/*; do load+=(-L "$package" -l "$package/$(basename "${package%-*}")-autoloads"); done
terminal emacs -nw -q "${load[@]}" -l "$tmp/init.el" "$ws/a.py"

# ended COUNT reports whether COUNT turns have ended.
ended() { [ "$(cat "$tmp"/home/.local/state/agent-lsp/sessions/*/*.jsonl 2>/dev/null | grep -c '"type":"turnEnd"')" = "$1" ]; }
# action PREFIX runs the code action at point whose title begins with PREFIX.
action() { extended lsp-execute-code-action; sees 'Select code action'; text "$1"; keys Tab Enter; }

sees 'LSP\['
until_ 'the start of the session' grep -qa '"initialized"' "$tmp/sent"
step prompt 'by its name'
extended agent
sees '^Agent: *$'
text 'shout'
keys Enter
step permit
sees 'touch made'
text 'Allow'
keys Enter
there "$ws/made"
step review 'two hunks are Flymake notes; accept the first, reject the second'
sees 'Flymake\[0 0 2\]'
extended flymake-goto-next-error
action Accept
sees '^# TWO'
keys M-\> Up # Flymake shows new diagnostics only when it checks again
action Reject
until_ 'the end of the turn' ended 1 # lsp-mode may drop the message
sees '^# six'
step undo
action 'Agent: undo'
sees '^# two'
keys C-x C-s
contains "$ws/a.py" '# one\n# two\n# three\n# four\n# five\n# six\n'
step stop
extended agent
sees '^Agent: *$'
text 'go on'
keys Enter
sees 'touch begun'
text 'Allow'
keys Enter
asleep() { grep -lzxqF 61771.$$ /proc/[0-9]*/cmdline 2>/dev/null; }
until_ 'the command' asleep
action 'Agent: stop'
until_ 'the end of the command' eval '! asleep'
until_ 'the end of the turn' ended 2
echo 'the daemon ends with Emacs'
keys C-x C-c
gone
version=$(emacs --version | sed -nE '1s/.* ([0-9]+\.[0-9]+).*/\1/p')
node "$here/ran.mjs" lsp-mode "Emacs $version, lsp-mode ${mode##*-}" "${did[@]}"
echo 'ok: Emacs with lsp-mode'

#!/usr/bin/env bash
# Finds calls whose error is ignored without "_ =". .golangci.yml has the same exceptions:
# - Close: the code checks the error for files that it writes. Otherwise, the caller cannot use it.
# - Remove, RemoveAll: these calls clean up, and a remaining file does no harm.
# - Fprint, Fprintf, Fprintln: these calls write to the terminal that would also show the error.
# - Setenv, Unsetenv: these calls fail only for invalid names.
# - Rollback: after a commit, it does nothing. After an error, the caller returns that error.
# - Tests: if a call fails, an assertion fails.
set -u
cd "$(dirname "$0")/.."
except='\.(Close|Remove|RemoveAll|Fprint|Fprintf|Fprintln|Setenv|Unsetenv|Rollback)'
# With -verbose, the second column names the called function. Lines without it are other errors.
# errcheck also fails because of the exceptions, so only awk decides about the result.
${GO:-go} run github.com/kisielk/errcheck@v1.9.0 -ignoretests -verbose ./... 2>&1 |
  awk -F'\t' -v except="$except\$" '
    /^(exit status 1|go: downloading .*|checking .*)$/ || NF > 1 && $2 ~ except { next }
    { print; found = 1 }
    END { exit found }'

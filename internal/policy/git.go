package policy

import (
	"strings"
	"sync"
)

// gitPlain are options before git's subcommand that have no effect on safety.
var gitPlain = words{list: "--no-pager -P --no-optional-locks --literal-pathspecs --no-replace-objects"}

// gitSubcommand returns the index of git's subcommand, or len(args) if there is none.
func gitSubcommand(args []arg) int {
	for i := 1; i < len(args); i++ {
		switch t := args[i].text; {
		case t == "-C" || t == "-c" || t == "--git-dir" || t == "--work-tree" ||
			t == "--namespace" || t == "--exec-path" || t == "--config-env" ||
			t == "--super-prefix":
			i++
		case !strings.HasPrefix(t, "-"):
			return i
		}
	}
	return len(args)
}

// gitReaders maps each git subcommand that can be read-only to the check for its arguments. It is
// built when it is first used.
var gitReaders = sync.OnceValue(func() map[string]check {
	tells := noFlags("O", "output", "output-directory", "ext-diff", "open-files-in-pager",
		"textconv", "filters", "exec", "upload-pack", "contents", "paginate", "edit-description")
	readers := map[string]check{
		"branch": gitListing(tells,
			"-a -r -v -vv --all --remotes --show-current --verbose --no-color"),
		"tag":       gitListing(tells, "-n"),
		"remote":    gitRemote,
		"stash":     firstOf("list show"),
		"worktree":  firstOf("list"),
		"submodule": firstOf("status summary"),
		"reflog":    firstOrNone("show exists"),
		"notes":     firstOf("list show"),
		"config":    firstOf("--get --get-all --get-regexp --list -l get list"),
		"bisect":    firstOf("log"),
		"version":   anyArgs,
	}
	for name := range strings.FieldsSeq("status log diff show blame annotate rev-parse rev-list ls-files ls-tree cat-file describe shortlog name-rev merge-base show-ref for-each-ref " +
		"grep count-objects check-ignore check-attr diff-tree diff-index diff-files whatchanged cherry range-diff show-branch verify-commit verify-tag merge-tree") {
		readers[name] = tells
	}
	delete(readers, "merge-tree") // merge-tree writes objects
	return readers
})

// gitListing returns a check that accepts operands only after an option that makes every operand a
// pattern. --format and --sort are not such options. After them, an operand is a name to create.
func gitListing(flags check, plain string) check {
	p := words{list: plain + " -l --list --sort --format"}
	q := words{list: "--contains --merged --no-merged --points-at"}
	return func(args []arg) string {
		listing := false
		for _, a := range args {
			if a.dynamic {
				return unknownArgument
			}
			name, _, _ := strings.Cut(a.text, "=")
			switch {
			case q.has(name) || a.text == "-l" || a.text == "--list":
				listing = true
			case p.has(name):
			case strings.HasPrefix(a.text, "-") || !listing:
				return "with " + a.text + " can do more than list"
			}
		}
		return flags(args)
	}
}

// gitRemote checks the arguments of git remote. -v may precede any subcommand, including one that
// changes something.
func gitRemote(args []arg) string {
	if len(args) > 1 && (args[0].text == "-v" || args[0].text == "--verbose") {
		args = args[1:]
	}
	return firstOrNone("-v --verbose get-url")(args)
}

func firstOrNone(words string) check {
	first := firstOf(words)
	return func(args []arg) string {
		if len(args) == 0 {
			return ""
		}
		return first(args)
	}
}

func gitArgs(args []arg) string {
	for i, a := range args {
		switch {
		case a.dynamic:
			return unknownArgument
		case gitPlain.has(a.text):
		case i == len(args)-1 && (a.text == "--version" || a.text == "--help"):
			return ""
		case strings.HasPrefix(a.text, "-"):
			return "with " + a.text + " can start programs"
		default:
			c, ok := gitReaders()[a.text]
			if !ok {
				return a.text + " can do more than read"
			}
			if why := c(args[i+1:]); why != "" {
				return a.text + " " + why
			}
			return ""
		}
	}
	return "can do more than read"
}

package policy

import "strings"

// gitPlain are options before git's subcommand that change nothing of importance.
var gitPlain = setOf("--no-pager -P --no-optional-locks --literal-pathspecs --no-replace-objects")

// gitSubcommand is the place of git's subcommand, len(args) if there is none.
func gitSubcommand(args []arg) int {
	for i := 1; i < len(args); i++ {
		switch t := args[i].text; {
		case t == "-C" || t == "-c" || t == "--git-dir" || t == "--work-tree" || t == "--namespace" || t == "--exec-path" || t == "--config-env" || t == "--super-prefix":
			i++
		case !strings.HasPrefix(t, "-"):
			return i
		}
	}
	return len(args)
}

// gitReaders are subcommands that only tell, with the check of their arguments.
var gitReaders map[string]check

func init() {
	tells := noFlags("O", "output", "output-directory", "ext-diff", "open-files-in-pager", "textconv", "filters", "exec", "upload-pack", "contents", "paginate", "edit-description")
	gitReaders = map[string]check{
		"branch":    gitListing(tells, "-a -r -v -vv -l --list --all --remotes --show-current --verbose --no-color", "--contains --merged --no-merged --points-at --sort --format"),
		"tag":       gitListing(tells, "-l --list -n", "--contains --merged --no-merged --points-at --sort --format"),
		"remote":    firstOrNone("-v --verbose get-url"),
		"stash":     firstOf("list show"),
		"worktree":  firstOf("list"),
		"submodule": firstOf("status summary"),
		"reflog":    firstOrNone("show exists"),
		"notes":     firstOf("list show"),
		"config":    firstOf("--get --get-all --get-regexp --list -l get list"),
		"bisect":    firstOf("log"),
		"version":   anyArgs,
	}
	for name := range setOf("status log diff show blame annotate rev-parse rev-list ls-files ls-tree cat-file describe shortlog name-rev merge-base show-ref for-each-ref " +
		"grep count-objects check-ignore check-attr diff-tree diff-index diff-files whatchanged cherry range-diff show-branch verify-commit verify-tag merge-tree") {
		gitReaders[name] = tells
	}
	delete(gitReaders, "merge-tree") // writes objects
}

// gitListing: without operands, or with an option that makes every operand a pattern.
func gitListing(flags check, plain, patterns string) check {
	p, q := setOf(plain), setOf(patterns)
	return func(args []arg) string {
		listing := false
		for _, a := range args {
			if a.dynamic {
				return unknownArgument
			}
			name, _, _ := strings.Cut(a.text, "=")
			switch {
			case q[name] || a.text == "-l" || a.text == "--list":
				listing = true
			case p[a.text]:
			case strings.HasPrefix(a.text, "-") || !listing:
				return "with " + a.text + " can do more than list"
			}
		}
		return flags(args)
	}
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
		case gitPlain[a.text]:
		case i == len(args)-1 && (a.text == "--version" || a.text == "--help"):
			return ""
		case strings.HasPrefix(a.text, "-"):
			return "with " + a.text + " can start programs"
		default:
			c, ok := gitReaders[a.text]
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

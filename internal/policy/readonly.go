package policy

import (
	"strings"
	"sync"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// check returns the reason why a program does more than read when it runs with these arguments, or
// "" if it only reads.
type check func(args []arg) string

const unknownArgument = "has an argument that is not known before it runs and could be an option"

// readOnly maps each program that can be read-only to the check for its arguments. init sets it,
// because the checks refer to it. The map is built when it is first used.
var readOnly func() map[string]check

func init() { readOnly = sync.OnceValue(readers) }

func readers() map[string]check {
	readers := map[string]check{}
	for name := range strings.FieldsSeq(": true false echo pwd cat head tail wc nl tac rev cut paste tr fold fmt expand unexpand column comm cmp diff basename dirname " +
		"realpath readlink stat ls dir vdir du df which whereis type whoami id groups uname arch nproc uptime free printenv seq sleep md5sum sha1sum sha224sum sha256sum " +
		"sha384sum sha512sum b2sum cksum sum od hexdump strings grep egrep fgrep zgrep zcat jq ps pgrep pidof tty locale logname users cd pushd popd " +
		"exit return break continue shift times help getconf lsblk lscpu tsort factor expr egrep look dirs cal") {
		readers[name] = anyArgs
	}
	for name, c := range map[string]check{
		"sort":     noFlags("o", "output", "compress-program"),
		"uniq":     atMost(1, ""),
		"xxd":      atMost(1, "r", "revert"),
		"date":     dateArgs,
		"hostname": atMost(0, "Fb", "file", "boot"),
		"file":     noFlags("C", "compile"),
		"tree":     noFlags("oR", "output"),
		"jobs":     noFlags("x"), // -x starts a command
		"wait":     noFlags("p"), // -p sets a variable
		"rg":       noFlags("z", "pre", "hostname-bin", "search-zip"),
		"fd":       noFlags("xX", "exec", "exec-batch"),
		"fdfind":   noFlags("xX", "exec", "exec-batch"),
		"find":     findArgs,
		"sed":      sedArgs,
		"awk":      awkArgs, "gawk": awkArgs, "mawk": awkArgs, "nawk": awkArgs,
		"git":    gitArgs,
		"go":     goArgs,
		"printf": printfArgs,
		"test":   testArgs, "[": testArgs,
		"read":  readArgs,
		"set":   setArgs,
		"tee":   teeArgs,
		"npm":   firstOf("ls list --version -v root prefix bin"),
		"cargo": firstOf("--version -V version"),
	} {
		readers[name] = c
	}
	for name := range strings.FieldsSeq("node deno bun npx pnpm yarn python python2 python3 pip pip3 ruby gem perl php java javac rustc rustup gcc g++ clang cc make cmake docker podman kubectl helm terraform " +
		"gh tsc eslint prettier nvim vim bash-language-server gopls rust-analyzer dotnet swift zig ghc lua julia R mvn gradle bazel ffmpeg psql mysql sqlite3 redis-cli curl wget ssh gofmt protoc") {
		readers[name] = versionOnly
	}
	return readers
}

func anyArgs([]arg) string { return "" }

// noFlags returns a check that refuses the given one-letter options (anywhere in a cluster) and
// long options, including their abbreviations.
func noFlags(letters string, long ...string) check {
	return func(args []arg) string {
		for _, a := range args {
			if a.mayBeFlag() {
				return unknownArgument
			}
			if a.text == "--" {
				return ""
			}
			if refusedFlag(a.text, letters, long) {
				return "with " + a.text + " can do more than read"
			}
		}
		return ""
	}
}

func refusedFlag(text, letters string, long []string) bool {
	if name, ok := strings.CutPrefix(text, "--"); ok {
		name, _, _ = strings.Cut(name, "=")
		for _, l := range long {
			if name != "" && strings.HasPrefix(l, name) {
				return true
			}
		}
		return false
	}
	if len(text) > 1 && text[0] == '-' {
		return strings.ContainsAny(text[1:], letters)
	}
	return strings.HasPrefix(text, "+") && strings.Contains(letters, "+")
}

// atMost returns a check that also limits the number of operands to n. The programs that use it
// write to any further operand.
func atMost(n int, letters string, long ...string) check {
	flags := noFlags(letters, long...)
	return func(args []arg) string {
		operands := 0
		for i, a := range args {
			if a.dynamic {
				return unknownArgument
			}
			if a.text == "--" {
				operands += len(args) - i - 1
				break
			}
			if len(a.text) < 2 || a.text[0] != '-' {
				operands++
			}
		}
		if operands > n {
			return "with so many arguments can write"
		}
		return flags(args)
	}
}

func firstOf(list string) check {
	allowed := words{list: list}
	return func(args []arg) string {
		if len(args) == 0 || args[0].dynamic || !allowed.has(args[0].text) {
			return "can do more than read"
		}
		for _, a := range args[1:] {
			if a.mayBeFlag() {
				return unknownArgument
			}
		}
		return ""
	}
}

func versionOnly(args []arg) string {
	if len(args) == 1 && !args[0].dynamic {
		switch args[0].text {
		case "--version", "-V", "-version":
			return ""
		}
	}
	return "can do more than read"
}

// printfArgs refuses -v and the conversion %n, because they set a variable.
func printfArgs(args []arg) string {
	if len(args) == 0 {
		return ""
	}
	format := args[0]
	if format.text == "--" && len(args) > 1 && !format.dynamic {
		format = args[1]
	}
	if format.dynamic || strings.HasPrefix(format.text, "-") ||
		setsByFormat().MatchString(format.text) {
		return "can set a variable"
	}
	return ""
}

var setsByFormat = lazyregexp.New(`%[^a-zA-Z%(]*[hlLjzt]*n`)

func dateArgs(args []arg) string {
	for i, a := range args {
		if a.dynamic {
			return unknownArgument
		}
		value := i > 0 && (args[i-1].text == "-d" || args[i-1].text == "-r")
		if !strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "+") && !value {
			return "can set the clock"
		}
	}
	return noFlags("s", "set")(args)
}

// findArgs checks the arguments of find, whose tests are single-dash words that must match exactly.
func findArgs(args []arg) string {
	for _, a := range args {
		if a.mayBeFlag() {
			return unknownArgument
		}
		switch a.text {
		case "-delete", "-fprint", "-fprint0", "-fprintf", "-fls":
			return "with " + a.text + " can do more than read"
		}
	}
	return ""
}

// testArgs refuses -v and -R, which evaluate their operand. An index in the operand can contain a
// command.
func testArgs(args []arg) string {
	for i, a := range args {
		switch {
		case a.many && a.dynamic:
			return unknownArgument
		case a.text == "-v" || a.text == "-R":
			return "evaluates a variable's name, which can run commands"
		case a.mayBeFlag() && i+1 < len(args) &&
			(args[i+1].dynamic || strings.Contains(args[i+1].text, "[")):
			return unknownArgument
		}
	}
	return ""
}

var plainName = lazyregexp.New(`^[a-z_][a-z0-9_]*$`)

func readArgs(args []arg) string {
	for _, a := range args {
		switch {
		case a.dynamic:
			return unknownArgument
		case a.text == "-r" || a.text == "-s" || a.text == "-rs":
		case !plainName().MatchString(a.text) || !harmlessVariable(a.text):
			return "sets " + a.text
		}
	}
	return ""
}

func setArgs(args []arg) string {
	for i, a := range args {
		switch {
		case a.dynamic:
			return unknownArgument
		case i > 0 && strings.HasSuffix(args[i-1].text, "o") &&
			(a.text == "pipefail" || a.text == "errexit" || a.text == "nounset"):
		case len(a.text) > 1 && strings.ContainsAny(a.text[:1], "-+") &&
			strings.Trim(a.text[1:], "euxfo") == "":
		default:
			return "changes how the shell reads what follows"
		}
	}
	return ""
}

func teeArgs(args []arg) string {
	for _, a := range args {
		if a.dynamic || !harmlessTarget(a.text) {
			return "writes to " + a.text
		}
	}
	return ""
}

// goArgs allows only subcommands that print. Subcommands that build run compilers and generators.
func goArgs(args []arg) string {
	if len(args) == 0 || args[0].dynamic {
		return "can do more than read"
	}
	switch args[0].text {
	case "version", "help", "doc":
		return goFlags(args[1:])
	case "env":
		return goFlags(args[1:], "w", "u")
	case "list":
		return goFlags(args[1:], "exec", "toolexec", "mod", "modfile", "export", "compiled", "C",
			"u", "overlay", "test", "cover", "pgo", "ldflags", "gcflags", "asmflags", "gccgoflags",
			"vettool")
	}
	return args[0].text + " can do more than read"
}

func goFlags(args []arg, refused ...string) string {
	for _, a := range args {
		if a.mayBeFlag() {
			return unknownArgument
		}
		name, _, _ := strings.Cut(strings.TrimLeft(a.text, "-"), "=")
		for _, r := range refused {
			if strings.HasPrefix(a.text, "-") && name == r {
				return "with " + a.text + " can do more than read"
			}
		}
	}
	return ""
}

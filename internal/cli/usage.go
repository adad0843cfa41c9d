package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/near"
)

// flags returns the flag set of a command, for parse.
func (p *program) flags(name string) *flag.FlagSet {
	f := flag.NewFlagSet("agent-lsp "+name, flag.ContinueOnError)
	f.Usage = func() {}
	return f
}

// parse parses a command's flags and says on stderr what is wrong with them; asked for help it
// lists them there.
func (p *program) parse(f *flag.FlagSet, args []string) error {
	f.SetOutput(io.Discard)
	err := f.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		f.SetOutput(p.stderr)
		f.PrintDefaults()
	case err != nil:
		fmt.Fprintf(p.stderr, "%s: %s; `%s --help` lists the flags\n", f.Name(),
			flagTrouble(f, err.Error()), f.Name())
	}
	return err
}

// flagTrouble rewrites a message of package flag in the form in which flags are written here.
func flagTrouble(f *flag.FlagSet, said string) string {
	if name, unknown := strings.CutPrefix(said, "flag provided but not defined: -"); unknown {
		var names []string
		f.VisitAll(func(fl *flag.Flag) { names = append(names, fl.Name) })
		return "unknown flag --" + name + near.Suggestion("--", name, names)
	}
	if name, missing := strings.CutPrefix(said, "flag needs an argument: -"); missing {
		return "--" + name + " needs a value"
	}
	return said
}

// usageCode is the exit code for what parse returned.
func usageCode(err error) int {
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	return exitUsage
}

// unexpected says that a command takes no arguments, where it was given some.
func (p *program) unexpected(f *flag.FlagSet) bool {
	if f.NArg() > 0 {
		p.unexpectedArg(f.Name(), f.Arg(0))
	}
	return f.NArg() > 0
}

// unexpectedArg says that a command does not take an argument, and returns its exit code.
func (p *program) unexpectedArg(command, arg string) int {
	fmt.Fprintf(p.stderr, "%s: unexpected argument %q\n", command, arg)
	return exitUsage
}

// noneOf reports that a word is not one of those that are possible there.
func (p *program) noneOf(command, word string, words []string) int {
	if word == "" {
		fmt.Fprintf(p.stderr, "agent-lsp %s: name one of %s\n", command, strings.Join(words, ", "))
	} else {
		fmt.Fprintf(p.stderr, "agent-lsp %s: %q is not one of %s%s\n", command, word,
			strings.Join(words, ", "), near.Suggestion("", word, words))
	}
	return exitUsage
}

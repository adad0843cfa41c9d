package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/agent-lsp/agent-lsp/internal/near"
)

// The values that flags accept.
var (
	editPolicies = []string{"auto", "ask", "review", "collect", "confirm"}
	profiles     = []string{"readOnly", "ask", "workspace", "trust"}
	formats      = []string{"markdown", "json"}
)

// flagError describes what is wrong with a flag, and suggests the intended name.
func flagError(c *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		name, typed := unknown.GetSpecifiedName(), "--"+unknown.GetSpecifiedName()
		if short := unknown.GetSpecifiedShortnames(); short != "" {
			name, typed = short, "-"+short
		}
		var names []string
		c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		err = fmt.Errorf("unknown flag %s%s", typed, near.Suggestion("--", name, names))
	case errors.As(err, &missing):
		err = fmt.Errorf("--%s needs a value", missing.GetSpecifiedName())
	case errors.As(err, &invalid):
		err = fmt.Errorf("--%s: %w", invalid.GetFlag().Name, errors.Unwrap(invalid))
	}
	return fmt.Errorf("%w; `%s --help` lists the flags", err, c.CommandPath())
}

// noArguments allows flags but no arguments.
var noArguments = atMost(0)

// atMost allows up to n arguments.
func atMost(n int) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) > n {
			return unexpected(args[n])
		}
		return nil
	}
}

// one requires one of the words as the only argument.
func one(words []string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return noneOf("", words)
		}
		return atMostOne(words)(c, args)
	}
}

// atMostOne allows at most one argument, which must be one of the words.
func atMostOne(words []string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return nil
		}
		if err := noneOf(args[0], words); err != nil {
			return err
		}
		return atMost(1)(c, args)
	}
}

func unexpected(arg string) error { return fmt.Errorf("unexpected argument %q", arg) }

// noneOf returns nil if a word is in the list, and otherwise an error that lists the words.
func noneOf(word string, words []string) error {
	if slices.Contains(words, word) {
		return nil
	}
	if word == "" {
		return fmt.Errorf("name one of %s", strings.Join(words, ", "))
	}
	return fmt.Errorf("%q is not one of %s%s", word, strings.Join(words, ", "),
		near.Suggestion("", word, words))
}

// wrong reports a usage error and returns its exit code.
func (p *program) wrong(command string, err error) int {
	fmt.Fprintf(p.stderr, "agent-lsp %s: %v\n", command, err)
	return exitUsage
}

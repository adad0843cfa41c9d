package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/agent-lsp/agent-lsp/internal/app"
	"github.com/agent-lsp/agent-lsp/internal/config"
)

// maxKey bounds what is read as a key.
const maxKey = 64 << 10

// runLogin stores the key of a provider. A running daemon uses it from its next call on.
func runLogin(_ context.Context, p *program, args []string) int {
	flags := p.flags("login")
	fromInput := flags.Bool("stdin", false, "read the key from standard input")
	name, err := p.parseFilter(flags, args)
	if err != nil {
		return usageCode(err)
	}
	if p.unexpected(flags) {
		return exitUsage
	}
	if code := p.checkProvider("login", name); code != exitOK {
		return code
	}
	key, err := p.readKey(name, *fromInput)
	if err != nil {
		return p.fail("login", err)
	}
	where, err := app.Logins(p.env).Set(name, key)
	if err != nil {
		return p.fail("login", err)
	}
	fmt.Fprintf(p.stdout, "The key of %s is stored in %s.\n", name, where)
	if v := p.overriding(name); v != "" {
		fmt.Fprintf(p.stdout, "Note: %s is set and is used instead.\n", v)
	}
	return exitOK
}

// runLogout deletes the stored key of a provider.
func runLogout(_ context.Context, p *program, args []string) int {
	flags := p.flags("logout")
	name, err := p.parseFilter(flags, args)
	if err != nil {
		return usageCode(err)
	}
	if p.unexpected(flags) {
		return exitUsage
	}
	if code := p.checkProvider("logout", name); code != exitOK {
		return code
	}
	found, err := app.Logins(p.env).Delete(name)
	if err != nil {
		return p.fail("logout", err)
	}
	if !found {
		fmt.Fprintf(p.stdout, "No key of %s is stored.\n", name)
		return exitOK
	}
	fmt.Fprintf(p.stdout, "The stored key of %s is deleted.\n", name)
	return exitOK
}

// checkProvider refuses a name that no provider has.
func (p *program) checkProvider(command, name string) int {
	root, err := workingFolder()
	if err != nil {
		return p.fail(command, err)
	}
	names := p.settings(root).Config().ProviderNames()
	if !slices.Contains(names, name) {
		return p.noneOf(command, name, names)
	}
	return exitOK
}

// readKey reads the first line of the input, on a terminal without showing it.
func (p *program) readKey(name string, fromInput bool) (string, error) {
	file, ok := p.stdin.(*os.File)
	var line string
	switch {
	case !fromInput && ok && term.IsTerminal(int(file.Fd())):
		fmt.Fprintf(p.stderr, "Key of %s (it is not shown): ", name)
		data, err := term.ReadPassword(int(file.Fd()))
		fmt.Fprintln(p.stderr)
		if err != nil {
			return "", fmt.Errorf("reading the key: %w", err)
		}
		line = string(data)
	case !fromInput:
		return "", errors.New("the input is not a terminal: pass --stdin and the key as its first line")
	default:
		var err error
		line, err = bufio.NewReader(io.LimitReader(p.stdin, maxKey)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", fmt.Errorf("reading the key: %w", err)
		}
	}
	if line = strings.TrimSpace(line); line == "" {
		return "", errors.New("the key is empty")
	}
	return line, nil
}

// overriding is the setting or variable that goes before a stored key, "" for none.
func (p *program) overriding(name string) string {
	root, err := workingFolder()
	if err != nil {
		return ""
	}
	return p.settings(root).Config().KeySource(name, config.Lookup(p.env))
}

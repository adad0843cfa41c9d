package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/agent-lsp/agent-lsp/internal/app"
	"github.com/agent-lsp/agent-lsp/internal/config"
)

// maxKey is the maximum number of bytes that are read as a key.
const maxKey = 64 << 10

// loginCommand returns the command that stores the key of a provider. A running daemon uses the key
// from its next model call on.
func (p *program) loginCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "login NAME [--stdin]", Short: "store the API key for a provider", Args: atMost(1),
		ValidArgsFunction: p.completeProviders,
	}
	fromInput := c.Flags().Bool("stdin", false, "read the key from standard input")
	c.Run = p.does(func(ctx context.Context, args []string) int {
		return p.login(ctx, strings.Join(args, ""), *fromInput)
	})
	return c
}

// logoutCommand returns the command that deletes the stored key of a provider.
func (p *program) logoutCommand() *cobra.Command {
	return &cobra.Command{
		Use: "logout NAME", Short: "delete the stored API key for a provider", Args: atMost(1),
		ValidArgsFunction: p.completeProviders,
		Run: p.does(func(_ context.Context, args []string) int {
			return p.logout(strings.Join(args, ""))
		}),
	}
}

// completeProviders completes the names of providers as the only argument.
func (p *program) completeProviders(
	_ *cobra.Command, args []string, _ string,
) ([]string, cobra.ShellCompDirective) {
	root, err := workingFolder()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return p.settings(root).Config().ProviderNames(), cobra.ShellCompDirectiveNoFileComp
}

func (p *program) login(ctx context.Context, name string, fromInput bool) int {
	names, code := p.providerNames("login")
	if code != exitOK {
		return code
	}
	var err error
	if name == "" && !fromInput && isTerminal(p.stdin) {
		if name, err = p.askName(names); err != nil {
			return p.fail("login", err)
		}
	}
	if err := noneOf(name, names); err != nil {
		return p.wrong("login", err)
	}
	key, err := p.newKey(ctx, name, fromInput)
	if err != nil {
		return p.fail("login", err)
	}
	where, err := app.Logins(p.env).Set(name, key)
	if err != nil {
		return p.fail("login", err)
	}
	fmt.Fprintf(p.stdout, "The key for %s is stored in %s.\n", name, where)
	if v := p.overriding(name); v != "" {
		fmt.Fprintf(p.stdout, "Note: %s is set and is used instead.\n", v)
	}
	return exitOK
}

func (p *program) logout(name string) int {
	names, code := p.providerNames("logout")
	if code != exitOK {
		return code
	}
	found, err := app.Logins(p.env).Delete(name)
	if err != nil {
		return p.fail("logout", err)
	}
	if err := noneOf(name, names); !found && err != nil {
		return p.wrong("logout", err)
	}
	if !found {
		fmt.Fprintf(p.stdout, "No key for %s is stored.\n", name)
		return exitOK
	}
	fmt.Fprintf(p.stdout, "The stored key for %s is deleted.\n", name)
	return exitOK
}

// providerNames returns the names of the providers in the settings and of the built-in providers.
func (p *program) providerNames(command string) ([]string, int) {
	root, err := workingFolder()
	if err != nil {
		return nil, p.fail(command, err)
	}
	return p.settings(root).Config().ProviderNames(), exitOK
}

// askName asks on the terminal which provider the key belongs to.
func (p *program) askName(names []string) (string, error) {
	fmt.Fprintf(p.stderr, "Provider (%s): ", strings.Join(names, ", "))
	line, err := p.line()
	return strings.TrimSpace(line), err
}

// line reads one line of the input and nothing after it.
func (p *program) line() (string, error) {
	var line []byte
	for one := make([]byte, 1); len(line) < maxKey; {
		n, err := p.stdin.Read(one)
		if n > 0 && one[0] == '\n' || errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return "", err
		}
		line = append(line, one[:n]...)
	}
	return string(line), nil
}

// newKey gets the key to store. For OpenRouter it uses the browser, and for other providers it
// reads the input.
func (p *program) newKey(ctx context.Context, name string, fromInput bool) (string, error) {
	if name != "openrouter" || fromInput || !isTerminal(p.stdin) {
		return p.readKey(name, fromInput)
	}
	return app.OpenRouterKey(ctx, p.openBrowser, p.stderr, p.stdin)
}

// openBrowser opens a page in the user's browser.
func (p *program) openBrowser(address string) error {
	command := []string{"xdg-open", address}
	switch {
	case runtime.GOOS == "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", address}
	case runtime.GOOS == "darwin":
		command = []string{"open", address}
	case config.Lookup(p.env)("DISPLAY") == "" && config.Lookup(p.env)("WAYLAND_DISPLAY") == "":
		return errors.New("there is no display")
	}
	env := p.env
	if root, err := workingFolder(); err == nil { // the workspace must not supply the browser
		app.CleanPath(root)
		env = app.Outside(env, root)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = env
	if err := cmd.Start(); err != nil {
		return err
	}
	return cmd.Process.Release()
}

// readKey reads the first line of the input. A terminal does not show the typed key.
func (p *program) readKey(name string, fromInput bool) (string, error) {
	file, ok := p.stdin.(*os.File)
	var line string
	switch {
	case !fromInput && ok && term.IsTerminal(int(file.Fd())):
		fmt.Fprintf(p.stderr, "Key for %s (not shown): ", name)
		data, err := term.ReadPassword(int(file.Fd()))
		fmt.Fprintln(p.stderr)
		if err != nil {
			return "", fmt.Errorf("reading the key: %w", err)
		}
		line = string(data)
	case !fromInput:
		return "", errors.New("the input is not a terminal; pass --stdin and write the key to its first line")
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

// overriding returns the setting or variable that takes precedence over a stored key, or "" if
// there is none.
func (p *program) overriding(name string) string {
	root, err := workingFolder()
	if err != nil {
		return ""
	}
	return p.settings(root).Config().KeySource(name, config.Lookup(p.env))
}

package shell

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// interpreter is a shell: its command line, and whether policy.Classify can read its language.
type interpreter struct {
	argv  []string // before the script
	posix bool
}

// findShell returns the default shell of the machine.
var findShell = sync.OnceValue(func() string {
	if p, err := exec.LookPath("bash"); err == nil && useBash {
		return p
	}
	if p, err := exec.LookPath("sh"); err == nil {
		return p
	}
	return lastShell
})

// flags make a shell run a script without reading the user's startup files, which would take time
// and change the meaning of commands. Any other program gets -c.
var flags = map[string][]string{
	"bash":       {"--noprofile", "--norc", "-c"},
	"zsh":        {"-f", "-c"},
	"fish":       {"--no-config", "-c"},
	"pwsh":       {"-NoProfile", "-NonInteractive", "-Command"},
	"powershell": {"-NoProfile", "-NonInteractive", "-Command"},
	"cmd":        {"/d", "/c"},
}

// posixShells lists the shells whose language the policy can read. zsh is not among them, because
// its globs can run code.
var posixShells = []string{"bash", "sh", "dash", "ash", "ksh", "mksh"}

// interpreterOf returns the shell that a setting names. "" means the default shell of the machine.
func interpreterOf(program string) interpreter {
	if program == "" {
		program = findShell()
	}
	name := strings.TrimSuffix(strings.ToLower(filepath.Base(program)), ".exe")
	args := flags[name]
	if args == nil {
		args = []string{"-c"}
	}
	return interpreter{argv: append([]string{program}, args...),
		posix: slices.Contains(posixShells, name)}
}

// shellArgv returns the command line that runs a script. If program is empty, it uses bash if bash
// is available, because the policy reads bash's syntax, and otherwise sh. On Windows it uses sh if
// sh is available, and otherwise PowerShell.
func shellArgv(program, script string) []string {
	return append(slices.Clone(interpreterOf(program).argv), script)
}

// ShellReadable reports whether policy.Classify can read the scripts of a shell. "" means the
// default shell of the machine. If it returns false, no command may be classified as read-only.
func ShellReadable(program string) bool { return interpreterOf(program).posix }

// Argv returns the command line with which a Runner runs a script. If program is "", it uses the
// default shell of the machine.
func Argv(program, script string) []string { return shellArgv(program, script) }

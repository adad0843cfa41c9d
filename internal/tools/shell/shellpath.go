package shell

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// interpreter is a shell: its command line, and whether policy.Classify reads its language.
type interpreter struct {
	argv  []string // before the script
	posix bool
}

// findShell looks for this machine's.
var findShell = sync.OnceValue(func() string {
	if p, err := exec.LookPath("bash"); err == nil && useBash {
		return p
	}
	if p, err := exec.LookPath("sh"); err == nil {
		return p
	}
	return lastShell
})

// flags make a shell run a script without reading the user's startup files, which would cost time
// and change what commands mean. Any other program gets -c.
var flags = map[string][]string{
	"bash":       {"--noprofile", "--norc", "-c"},
	"zsh":        {"-f", "-c"},
	"fish":       {"--no-config", "-c"},
	"pwsh":       {"-NoProfile", "-NonInteractive", "-Command"},
	"powershell": {"-NoProfile", "-NonInteractive", "-Command"},
	"cmd":        {"/d", "/c"},
}

// posixShells are those whose language is the one that the policy reads. zsh is none of them: its
// globs can run code.
var posixShells = []string{"bash", "sh", "dash", "ash", "ksh", "mksh"}

// interpreterOf is the shell that a setting names; "" is the machine's.
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

// shellArgv is the command line that runs a script. Without a program: bash where there is one,
// whose syntax the policy reads, else sh; on Windows sh where there is one, else PowerShell.
func shellArgv(program, script string) []string {
	return append(slices.Clone(interpreterOf(program).argv), script)
}

// ShellReadable reports whether scripts run by a shell that policy.Classify can read; "" is the
// machine's shell. Where it is false no command may be taken for read-only.
func ShellReadable(program string) bool { return interpreterOf(program).posix }

// Argv is the command line by which a Runner runs a script; program "" is the machine's shell.
func Argv(program, script string) []string { return shellArgv(program, script) }

package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/agent-lsp/agent-lsp/internal/lazyregexp"
)

// words are the fixed arguments of commands that take some.
var words = map[string][]string{
	"sessions":   {"list", "show", "export"},
	"trust":      {"yes", "no", "ask"},
	"schema":     {"json", "typescript", "lua"},
	"completion": {"bash", "zsh", "fish"},
}

// values are the words that a flag's value can be.
var values = map[string][]string{
	"edit-policy": {"auto", "ask", "review", "collect", "confirm"},
	"permissions": {"readOnly", "ask", "workspace", "trust"},
	"format":      {"markdown", "json"},
}

// usageFlag matches a flag's line in what flag.FlagSet prints, with the kind of its value.
var usageFlag = lazyregexp.New(`(?m)^  -([\w-]+)(?: (\w+))?[ \t]*(?:\n|\t)[ \t]*(.*)$`)

// flagHelp is a flag as its command describes it.
type flagHelp struct{ name, value, usage string }

// flagsOf asks a command for its flags, so that help and completions cannot differ from what it
// parses.
func flagsOf(c command) []flagHelp {
	if c.name == "help" {
		return nil // it takes none, and parses none
	}
	args := []string{"-h"}
	if c.name == "sessions" {
		args = []string{"list", "-h"}
	}
	var usage bytes.Buffer
	c.run(context.Background(), &program{stdin: strings.NewReader(""), stdout: io.Discard,
		stderr: &usage}, args)
	var list []flagHelp
	for _, m := range usageFlag().FindAllStringSubmatch(usage.String(), -1) {
		list = append(list, flagHelp{m[1], m[2], m[3]})
	}
	return list
}

// writeFlags prints a command's flags for `agent-lsp help`.
func writeFlags(w io.Writer, c command) {
	for i, f := range flagsOf(c) {
		if i == 0 {
			fmt.Fprint(w, "\nflags:\n")
		}
		fmt.Fprintf(w, "  %-22s %s\n", strings.TrimSpace("--"+f.name+" "+f.value), f.usage)
	}
}

// runCompletion prints a shell's completions, made of the table of commands.
func runCompletion(_ context.Context, p *program, args []string) int {
	flags := p.flags("completion")
	if err := p.parse(flags, args); err != nil {
		return usageCode(err)
	}
	shells := map[string]func(io.Writer){"bash": bashCompletion, "zsh": zshCompletion,
		"fish": fishCompletion}
	write := shells[flags.Arg(0)]
	if write == nil || flags.NArg() != 1 {
		return p.noneOf("completion", strings.Join(flags.Args(), " "), words["completion"])
	}
	write(p.stdout)
	return exitOK
}

// offers are the words that may follow a command: its fixed arguments, then its flags.
func offers(c command) string {
	all := append([]string(nil), words[c.name]...)
	if c.name == "help" {
		all = append(all, names())
	}
	for _, f := range flagsOf(c) {
		all = append(all, "--"+f.name)
	}
	return strings.Join(all, " ")
}

func names() string {
	var all []string
	for _, c := range commands {
		all = append(all, c.name)
	}
	return strings.Join(all, " ")
}

// valued lists the flags whose values are words of their own, and those that take any value.
func valued() (known, others []string) {
	seen := map[string]bool{}
	for _, c := range commands {
		for _, f := range flagsOf(c) {
			switch {
			case f.value == "" || seen[f.name]:
			case values[f.name] != nil:
				known = append(known, f.name)
			default:
				others = append(others, f.name)
			}
			seen[f.name] = true
		}
	}
	return known, others
}

func bashCompletion(w io.Writer) {
	fmt.Fprint(w, `# bash completion of agent-lsp: source <(agent-lsp completion bash)
_agent_lsp() {
  local cur=${COMP_WORDS[COMP_CWORD]} offers=
  COMPREPLY=()
  case ${COMP_WORDS[COMP_CWORD - 1]} in
`)
	known, others := valued()
	for _, name := range known {
		fmt.Fprintf(w, "    --%s) COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return ;;\n", name,
			strings.Join(values[name], " "))
	}
	fmt.Fprintf(w, `    --%s) return ;; # a file
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    offers='%s'
  else
    case ${COMP_WORDS[1]} in
`, strings.Join(others, "|--"), names())
	for _, c := range commands {
		if o := offers(c); o != "" {
			fmt.Fprintf(w, "      %s) offers='%s' ;;\n", c.name, o)
		}
	}
	fmt.Fprint(w, `    esac
  fi
  COMPREPLY=($(compgen -W "$offers" -- "$cur"))
}
complete -o default -F _agent_lsp agent-lsp
`)
}

// The file is both: what `source` reads, and a function of fpath, which zsh calls for the first
// completion already.
func zshCompletion(w io.Writer) {
	fmt.Fprint(w, `#compdef agent-lsp
# zsh completion of agent-lsp, in a folder of fpath: agent-lsp completion zsh > "${fpath[1]}/_agent-lsp"
# or, after compinit: source <(agent-lsp completion zsh)
_agent_lsp() {
  case $words[CURRENT-1] in
`)
	known, others := valued()
	for _, name := range known {
		fmt.Fprintf(w, "    --%s) compadd -- %s; return ;;\n", name,
			strings.Join(values[name], " "))
	}
	fmt.Fprintf(w, `    --%s) _files; return ;;
  esac
  if (( CURRENT == 2 )); then
    local -a commands=(
`, strings.Join(others, "|--"))
	for _, c := range commands {
		fmt.Fprintf(w, "      '%s:%s'\n", c.name,
			strings.ReplaceAll(quoted(c.summary, `'\''`), ":", `\:`))
	}
	fmt.Fprint(w, "    )\n    _describe command commands\n    return\n  fi\n  case $words[2] in\n")
	for _, c := range commands {
		if o := offers(c); o != "" {
			fmt.Fprintf(w, "    %s) compadd -- %s; _files ;;\n", c.name, o)
		}
	}
	fmt.Fprint(w, `    *) _files ;;
  esac
}
if [[ $funcstack[1] == _agent-lsp ]]; then
  _agent_lsp
elif (( $+functions[compdef] )); then
  compdef _agent_lsp agent-lsp
else
  print -u2 'agent-lsp: run compinit first: autoload -Uz compinit && compinit'
fi
`)
}

func fishCompletion(w io.Writer) {
	fmt.Fprint(w, "# fish completion of agent-lsp: agent-lsp completion fish | source\n")
	for _, c := range commands {
		fmt.Fprintf(w, "complete -c agent-lsp -n __fish_use_subcommand -f -a %s -d '%s'\n", c.name,
			quoted(c.summary, `\'`))
		seen := fmt.Sprintf("-n '__fish_seen_subcommand_from %s'", c.name)
		args := words[c.name]
		if c.name == "help" {
			args = strings.Fields(names())
		}
		if args != nil {
			fmt.Fprintf(w, "complete -c agent-lsp %s -f -a '%s'\n", seen, strings.Join(args, " "))
		}
		for _, f := range flagsOf(c) {
			takes := ""
			if list := values[f.name]; list != nil {
				takes = " -x -a '" + strings.Join(list, " ") + "'"
			} else if f.value != "" {
				takes = " -r"
			}
			fmt.Fprintf(w, "complete -c agent-lsp %s -l %s%s -d '%s'\n", seen, f.name, takes,
				quoted(f.usage, `\'`))
		}
	}
}

// quoted makes a text fit between single quotes, where a shell writes such a quote so.
func quoted(s, quote string) string { return strings.ReplaceAll(s, "'", quote) }

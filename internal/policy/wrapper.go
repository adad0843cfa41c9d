package policy

import (
	"strings"
	"sync"
)

// unfolding finds the command that another command starts from its own arguments.
type unfolding func(w *walker, args []arg, assigns []string)

// wrappers maps each wrapper to its unfolding. init sets it, because the functions in the map refer
// to it. The map is built when it is first used.
var wrappers func() map[string]unfolding

func init() { wrappers = sync.OnceValue(unfoldings) }

// shells read their script from -c, from a file or from standard input.
var shells = words{list: "sh bash dash zsh ksh ash mksh rbash fish"}

func unfoldings() map[string]unfolding {
	prefix := func(o options) unfolding {
		return func(w *walker, args []arg, assigns []string) { w.unwrap(args, assigns, o) }
	}
	all := map[string]unfolding{
		"env":     (*walker).env,
		"command": (*walker).builtinCommand,
		"builtin": prefix(options{}),
		"exec":    prefix(options{flags: "cl", values: "a"}),
		"nohup":   prefix(options{}),
		"setsid":  prefix(options{flags: "cfw"}),
		"nice":    prefix(options{values: "n", long: []string{"adjustment="}, numbers: true}),
		"ionice":  prefix(options{flags: "t", values: "cn"}),
		"time":    prefix(options{flags: "pv"}),
		"timeout": prefix(options{flags: "v", values: "ks",
			long: []string{"preserve-status", "foreground", "verbose", "kill-after=",
				"signal="},
			operands: 1}),
		"stdbuf":  prefix(options{values: "ioe", long: []string{"input=", "output=", "error="}}),
		"busybox": prefix(options{}),
		"toybox":  prefix(options{}),
		"xargs":   (*walker).xargs,
		"eval":    (*walker).eval,
		"trap":    (*walker).trap,
		"find":    (*walker).find,
	}
	for sh := range strings.FieldsSeq(shells.list) {
		all[sh] = (*walker).shell
	}
	return all
}

// options describes the options of a wrapper, which precede the command. An option that is not
// listed makes the wrapper opaque.
type options struct {
	flags    string   // letters without a value
	values   string   // letters with a value
	long     []string // names without the dashes; a final "=" means that the value follows "="
	numbers  bool     // accepts numbers such as -5
	operands int      // number of operands between the options and the command
}

// unwrap skips the wrapper's options and processes the command after them.
func (w *walker) unwrap(args []arg, assigns []string, o options) {
	i, why := o.skip(args)
	if why != "" {
		w.opaque(args[0].text + " " + why)
		return
	}
	i += o.operands
	if i < len(args) {
		w.command(args[i:], assigns)
	}
}

// skip returns the index of the first argument that is not an option.
func (o options) skip(args []arg) (int, string) {
	for i := 1; i < len(args); i++ {
		a := args[i]
		switch {
		case a.mayBeFlag():
			return i, "has an argument that is not known before it runs"
		case a.text == "--":
			return i + 1, ""
		case len(a.text) < 2 || a.text[0] != '-':
			return i, ""
		case strings.HasPrefix(a.text, "--"):
			if !o.knowsLong(a.text[2:]) {
				return i, "has the option " + a.text + ", which is not analyzed"
			}
		case o.numbers && isNumber(a.text[1:]):
		default:
			value, ok := o.cluster(a.text[1:])
			if !ok {
				return i, "has the option " + a.text + ", which is not analyzed"
			}
			if value {
				i++
				if i < len(args) && args[i].mayBeFlag() {
					return i, "has an argument that is not known before it runs"
				}
			}
		}
	}
	return len(args), ""
}

func (o options) knowsLong(s string) bool {
	for _, l := range o.long {
		if s == l || strings.HasSuffix(l, "=") && strings.HasPrefix(s, l) {
			return true
		}
	}
	return false
}

// cluster parses -abc. value reports that the option's value is the next argument.
func (o options) cluster(s string) (value, ok bool) {
	for i := 0; i < len(s); i++ {
		switch {
		case strings.IndexByte(o.values, s[i]) >= 0:
			return i == len(s)-1, true
		case strings.IndexByte(o.flags, s[i]) < 0:
			return false, false
		}
	}
	return false, true
}

// env processes `env`, which sets variables for the command after it.
func (w *walker) env(args []arg, assigns []string) {
	o := options{flags: "i0v", values: "uC",
		long: []string{"ignore-environment", "null", "unset=", "chdir=", "debug"}}
	i, why := o.skip(args)
	if why != "" {
		w.opaque("env " + why)
		return
	}
	for _, a := range args[1:i] {
		short := strings.HasPrefix(a.text, "-") && !strings.HasPrefix(a.text, "--")
		if strings.HasPrefix(a.text, "--chdir") || short && strings.Contains(a.text, "C") {
			w.movedTo, w.elsewhere = true, true
		}
	}
	for i < len(args) && args[i].text == "-" {
		i++
	}
	for ; i < len(args); i++ {
		name, _, ok := strings.Cut(args[i].text, "=")
		if !ok {
			break
		}
		if runText.has(name) {
			w.opaque("it sets " + name + ", whose value the shell runs")
		}
		if !harmlessVariable(name) || args[i].mayBeFlag() {
			assigns = append(assigns, args[i].text)
		}
	}
	if i < len(args) {
		w.command(args[i:], assigns)
	}
}

// builtinCommand processes `command`. `command -v x` only prints where x is.
func (w *walker) builtinCommand(args []arg, assigns []string) {
	if len(args) > 1 && !args[1].dynamic && (args[1].text == "-v" || args[1].text == "-V") {
		return
	}
	w.unwrap(args, assigns, options{flags: "p"})
}

// xargs processes `xargs`, which adds unknown arguments to its command.
func (w *walker) xargs(args []arg, assigns []string) {
	o := options{flags: "0rtx", values: "InPLdsEa",
		long: []string{"null", "no-run-if-empty", "verbose", "exit", "max-args=", "max-procs=",
			"max-lines=", "max-chars=", "delimiter=", "replace=", "arg-file="}}
	i, why := o.skip(args)
	if why != "" {
		w.opaque("xargs " + why)
		return
	}
	if i >= len(args) {
		return
	}
	inner := append(append([]arg(nil), args[i:]...), arg{text: "{}", dynamic: true})
	for j := range inner {
		if strings.Contains(inner[j].text, "{}") || replaced(args[:i], inner[j].text) {
			inner[j].dynamic, inner[j].fixed = true, false
		}
	}
	w.command(inner, assigns)
}

// replaced reports whether xargs -I NAME puts its input into this argument.
func replaced(opts []arg, text string) bool {
	for i, a := range opts {
		name, ok := strings.CutPrefix(a.text, "-I")
		if ok && name == "" && i+1 < len(opts) {
			name = opts[i+1].text
		}
		if long, is := strings.CutPrefix(a.text, "--replace="); is {
			name, ok = long, true
		}
		if ok && name != "" && strings.Contains(text, name) {
			return true
		}
	}
	return false
}

// shell processes `sh -c script`. A shell that reads its script from elsewhere is opaque.
func (w *walker) shell(args []arg, assigns []string) {
	if len(assigns) > 0 {
		w.add(part(args, assigns, Mutates, "it sets "+variables(assigns)+
			", which can change what programs do"))
	}
	for i := 1; i < len(args); i++ {
		a := args[i]
		switch {
		case a.mayBeFlag():
			w.opaque(args[0].text + " has an argument that is not known before it runs")
			return
		case a.text == "-s" || a.text == "-":
			w.readsScript(args[0].text)
			return
		case a.text == "--noprofile" || a.text == "--norc" || a.text == "--posix":
		case a.text == "--version":
			return
		case len(a.text) > 1 && a.text[0] == '-' && strings.Trim(a.text[1:], "ceux") == "":
			if strings.Contains(a.text, "c") {
				w.shellScript(args[0], args[i+1:])
				return
			}
		case a.text[:min(1, len(a.text))] == "-" || a.text == "":
			w.opaque(args[0].text + " has the option " + a.text + ", which is not analyzed")
			return
		default: // a script file
			if unknownScript(a) {
				w.readsScript(args[0].text)
				return
			}
			p := part(args, assigns, Mutates, "it runs the script "+a.text)
			w.add(p)
			return
		}
	}
	w.readsScript(args[0].text)
}

// unknownScript reports whether the file of a script is standard input, or another source that
// exists only while the command runs.
func unknownScript(a arg) bool {
	return a.mayBeFlag() || strings.HasPrefix(a.text, "/dev/") ||
		strings.HasPrefix(a.text, "/proc/")
}

func (w *walker) readsScript(sh string) {
	w.opaque(sh + " runs commands from its standard input")
	w.worsen(Dangerous, sh+" runs commands from its standard input")
}

func (w *walker) shellScript(sh arg, rest []arg) {
	if len(rest) == 0 {
		return
	}
	if rest[0].dynamic || sh.text == "fish" {
		w.opaque(sh.text + " runs text that is not known beforehand")
		return
	}
	w.script(rest[0].text)
}

// eval processes `eval`, which joins its arguments and runs them as a script.
func (w *walker) eval(args []arg, assigns []string) {
	var words []string
	for _, a := range args[1:] {
		if a.dynamic {
			w.opaque("eval runs text that is not known beforehand")
			return
		}
		words = append(words, a.text)
	}
	if len(assigns) > 0 {
		w.add(part(args, assigns, Mutates, "it sets "+variables(assigns)+
			", which can change what programs do"))
	}
	w.script(strings.Join(words, " "))
}

// trap processes `trap`, which runs its first argument later.
func (w *walker) trap(args []arg, _ []string) {
	if len(args) < 2 || args[1].text == "-" || args[1].text == "-l" || args[1].text == "-p" {
		return
	}
	if args[1].text == "--" {
		args = args[1:]
	}
	if len(args) < 2 || args[1].dynamic {
		w.opaque("trap runs text that is not known beforehand")
		return
	}
	w.script(args[1].text)
}

// find processes find, which is a program itself and starts others with -exec.
func (w *walker) find(args []arg, assigns []string) {
	w.parts = w.parts[:len(w.parts)-1] // remove find's part, because find is not only a wrapper
	own := []arg{args[0]}
	for i := 1; i < len(args); i++ {
		switch args[i].text {
		case "-exec", "-execdir", "-ok", "-okdir":
			if strings.HasSuffix(args[i].text, "dir") {
				w.movedTo, w.elsewhere = true, true
			}
			from := i + 1
			for i++; i < len(args) && !endsExec(args, i); i++ {
			}
			w.execOfFind(args[from:min(i, len(args))], assigns)
		default:
			own = append(own, args[i])
		}
	}
	w.simple(own, assigns)
}

// endsExec reports whether args[i] ends the command of find's -exec: a ";", or a "+" after "{}".
// Any other "+" belongs to the command.
func endsExec(args []arg, i int) bool {
	return args[i].text == ";" || args[i].text == "+" && args[i-1].text == "{}"
}

func (w *walker) execOfFind(inner []arg, assigns []string) {
	inner = append([]arg(nil), inner...)
	for j := range inner {
		if strings.Contains(inner[j].text, "{}") {
			inner[j].dynamic, inner[j].fixed = true, false
		}
	}
	w.command(inner, assigns)
}

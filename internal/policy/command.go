package policy

import (
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// call processes a simple command: its assignments, then its words.
func (w *walker) call(c *syntax.CallExpr) {
	if w.tooLarge(len(c.Assigns) + len(c.Args)) {
		return
	}
	var assigns []string
	for _, a := range c.Assigns {
		text, harmless := w.assign(a)
		if !harmless {
			assigns = append(assigns, text)
		}
	}
	args := make([]arg, 0, len(c.Args))
	for _, word := range c.Args {
		args = append(args, w.word(word))
	}
	if len(args) == 0 {
		if len(assigns) > 0 {
			w.add(Part{Words: assigns, Dynamic: make([]bool, len(assigns)), Class: Mutates,
				Forms:  w.valueForms(assigns),
				Reason: "it sets " + variables(assigns) + ", which can change what programs do"})
		}
		return
	}
	w.command(args, assigns)
}

func variables(assigns []string) string {
	var names []string
	for _, a := range assigns {
		name, _, _ := strings.Cut(a, "=")
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}

// command processes one command line and unfolds programs that only start another one.
func (w *walker) command(args []arg, assigns []string) {
	if len(args) == 0 {
		return
	}
	if w.wrapped++; w.wrapped > maxWrapping {
		w.opaque("it chains too many programs")
		return
	}
	defer func() { w.wrapped-- }()
	if w.wrapped > 1 && w.tooLarge(len(args)) {
		return
	}
	if args[0].dynamic || args[0].text == "" {
		w.add(part(args, assigns, Mutates, "the name of the command is not known before it runs"))
		w.dark = true
		return
	}
	if unfold, ok := wrappers()[commandName(args[0].text)]; ok {
		p := part(args, assigns, ReadOnly, "")
		p.Wrapper = true
		w.add(p)
		unfold(w, args, assigns)
		return
	}
	w.simple(args, assigns)
}

// simple processes a command that is not a wrapper.
func (w *walker) simple(args []arg, assigns []string) {
	class, reason := w.classOf(args)
	if len(assigns) > 0 {
		class, reason = max(class, Mutates), "it sets "+variables(assigns)+
			", which can change what programs do"
	}
	p := part(args, assigns, class, reason)
	if p.Forms = otherForms(args); len(p.Forms) > maxForms {
		p.Forms = p.Forms[:maxForms]
		w.opaque(args[0].text + " has too many arguments to analyze")
	}
	p.Forms = append(p.Forms, w.valueForms(assigns)...)
	launcher := launchers.has(commandName(args[0].text))
	if launcher {
		for _, a := range args[1:] {
			if !a.dynamic && strings.ContainsAny(a.text, " \t\n;&|$`") {
				p.Forms = append(p.Forms, w.scriptForms(a.text)...)
			}
		}
	}
	w.add(p)
	if launcher {
		w.launched(args)
	}
}

// valueForms returns the commands in the values of variables, which programs may run.
func (w *walker) valueForms(assigns []string) (forms [][]string) {
	for _, a := range assigns {
		_, value, _ := strings.Cut(a, "=")
		forms = append(forms, w.scriptForms(value)...)
	}
	return forms
}

// scriptForms returns the commands in a text that a program may run as a script, so that deny rules
// also match them. It does not change the rest of the result.
func (w *walker) scriptForms(text string) (forms [][]string) {
	inner := &walker{depth: w.depth, wrapped: w.wrapped, words: w.words}
	inner.script(text)
	w.words = inner.words
	for _, p := range inner.parts {
		forms = append(append(forms, p.Words), p.Forms...)
	}
	return forms[:min(len(forms), maxForms)]
}

// launched finds the first wrapper, or shell with a script, among a launcher's arguments. It
// processes that command, because the launcher certainly starts it.
func (w *walker) launched(args []arg) {
	for i := 1; i < len(args); i++ {
		name := commandName(args[i].text)
		if args[i].dynamic || wrappers()[name] == nil || name == "find" || name == "time" ||
			name == "trap" {
			continue
		}
		if shells.has(name) && (i+1 >= len(args) || !strings.HasPrefix(args[i+1].text, "-")) {
			continue
		}
		w.command(args[i:], nil)
		return
	}
}

// classOf classifies a command by its name and arguments.
func (w *walker) classOf(args []arg) (Class, string) {
	name := commandName(args[0].text)
	if why := dangerous(name, args[1:]); why != "" {
		return Dangerous, why
	}
	if why := startsPrograms(name, args[1:]); why != "" {
		w.opaque(why)
	}
	switch name {
	case ".", "source":
		if len(args) > 1 && unknownScript(args[1]) {
			w.readsScript(name)
		}
	case "cd", "pushd", "popd":
		w.movedTo = true
	case "git":
		w.git = true
	}
	if !standardPlace(args[0].text) {
		return Mutates, args[0].text + " is not known to be read-only"
	}
	check, ok := readOnly()[name]
	if !ok {
		return Mutates, name + " is not known to be read-only"
	}
	if why := check(args[1:]); why != "" {
		return Mutates, name + " " + why
	}
	if namesOnly.has(name) {
		return ReadOnly, ""
	}
	for _, a := range args[1:] {
		if path := namesSecretFile(a.text); path != "" {
			return Mutates, name + " reads " + path + ", which can contain secrets"
		}
	}
	return ReadOnly, ""
}

// namesOnly are programs that do not print the content of the files named in their arguments.
var namesOnly = words{list: "ls dir vdir echo printf stat basename dirname test [ cd pushd which type du find"}

func part(args []arg, assigns []string, c Class, reason string) Part {
	p := Part{Words: make([]string, len(args)), Dynamic: make([]bool, len(args)), Assigns: assigns,
		Class: c, Reason: reason}
	for i, a := range args {
		p.Words[i], p.Dynamic[i] = a.text, a.dynamic
	}
	return p
}

// commandName returns the program's name without its directory.
func commandName(s string) string {
	if i := strings.LastIndexByte(s, '/'); i >= 0 {
		return s[i+1:]
	}
	return s
}

// standardPlace reports whether a program is in one of the system's own directories, or is named
// without a directory and therefore found on PATH.
func standardPlace(s string) bool {
	name := commandName(s)
	switch strings.TrimSuffix(s, name) {
	case "", "/bin/", "/usr/bin/", "/usr/local/bin/":
		return true
	}
	return false
}

// otherForms returns other forms of a command that deny rules also match: the plain name, git
// without its options and, for programs that start others, each suffix of the line.
func otherForms(args []arg) [][]string {
	name := commandName(args[0].text)
	if name == args[0].text && name != "git" && !launchers.has(name) {
		return nil
	}
	var forms [][]string
	words := make([]string, len(args))
	for i, a := range args {
		words[i] = a.text
	}
	if name != words[0] {
		forms = append(forms, append([]string{name}, words[1:]...))
	}
	if name == "git" {
		if i := gitSubcommand(args); i > 1 && i < len(args) {
			forms = append(forms, append([]string{"git"}, words[i:]...))
		}
	}
	if launchers.has(name) {
		for i := 1; i < len(words) && len(forms) <= maxForms; i++ {
			form := words[i:] // shared, because copying each suffix would take quadratic memory
			if plain := commandName(words[i]); plain != words[i] {
				form = append([]string{plain}, words[i+1:]...)
			}
			forms = append(forms, form)
		}
	}
	return forms
}

// launchers start the program that their arguments name, in ways that the unfolding does not
// handle.
var launchers = words{list: "sudo doas su pkexec runuser chroot unshare nsenter strace ltrace gdb valgrind perf script flock watch parallel " +
	"ssh docker podman kubectl screen tmux at batch expect fakeroot proot firejail bwrap systemd-run dbus-run-session xvfb-run entr unbuffer " +
	"jobs rlwrap prlimit setarch linux32 linux64 i386 x86_64 choom uclampset logsave ssh-agent run-parts direnv mise asdf caffeinate hyperfine " +
	"faketime eatmydata torsocks proxychains proxychains4 gosu su-exec tini dumb-init chpst setuidgid catchsegv dotenv doppler nodemon watchexec " +
	"socat npx bunx uvx pipx make just task setpriv chrt taskset numactl cpulimit runcon start-stop-daemon daemonize " +
	"fd fdfind tar rsync bundle poetry pipenv uv pnpm yarn npm conda nix-shell nix toolbox distrobox flatpak lxc vagrant"}

// words is a set of the words in a list. It is built when it is first used, because the daemon and
// its helper processes start without most of these sets. It is safe for concurrent use.
type words struct {
	list string // separated by white space

	once sync.Once
	set  map[string]bool
}

func (w *words) has(word string) bool {
	w.once.Do(func() {
		w.set = map[string]bool{}
		for one := range strings.FieldsSeq(w.list) {
			w.set[one] = true
		}
	})
	return w.set[word]
}

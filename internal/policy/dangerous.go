package policy

import "strings"

// alwaysDangerous are programs that are dangerous with any arguments.
var alwaysDangerous = words{list: "sudo doas su pkexec runuser dd mkfs fdisk parted wipefs shred shutdown reboot halt poweroff init telinit systemctl service " +
	"killall pkill iptables ip6tables nft ufw mount umount swapoff swapon insmod rmmod modprobe chroot crontab at batch visudo passwd useradd userdel usermod " +
	"groupdel chpasswd setcap nsenter unshare ssh scp sftp telnet nc ncat netcat socat"}

// dangerous returns the reason why a command can do more harm than a change that the user can
// inspect, or "" if it cannot.
func dangerous(name string, args []arg) string {
	if alwaysDangerous.has(name) || strings.HasPrefix(name, "mkfs.") {
		return name + " reaches beyond the workspace, or cannot be undone"
	}
	switch name {
	case "rm", "unlink", "rmdir":
		if has(args, "rRf", "recursive", "force", "no-preserve-root") || anyDynamic(args) {
			return "it deletes files permanently"
		}
	case "chmod", "chown", "chgrp":
		if has(args, "R", "recursive") || anyText(args, "777", "+s", "u+s", "4755") {
			return "it changes the permissions of many files, or gives everyone access"
		}
	case "truncate":
		return "it empties files permanently"
	case "find":
		if anyText(args, "-delete") {
			return "it deletes files permanently"
		}
	case "git":
		return dangerousGit(args)
	case "docker", "podman":
		if anyText(args, "prune", "--privileged", "rmi") {
			return name + " deletes files that cannot be restored, or reaches beyond the workspace"
		}
	case "npm", "yarn", "pnpm", "cargo", "gem", "twine", "poetry":
		if anyText(args, "publish", "unpublish", "upload", "yank") {
			return "it publishes"
		}
	case "kubectl", "terraform", "helm":
		if anyText(args, "delete", "destroy", "apply", "drain", "uninstall") {
			return "it changes a running system"
		}
	}
	return ""
}

func dangerousGit(args []arg) string {
	i := gitSubcommand(append([]arg{{text: "git"}}, args...)) - 1
	if i >= len(args) {
		return ""
	}
	rest := args[i+1:]
	switch args[i].text {
	case "push":
		if has(rest, "fd", "force", "force-with-lease", "delete", "mirror", "prune") ||
			anyPrefix(rest, "+", ":") {
			return "it rewrites or deletes published history"
		}
	case "reset":
		if has(rest, "", "hard", "merge", "keep") {
			return "it discards uncommitted work"
		}
	case "clean":
		return "it deletes files permanently"
	case "checkout", "restore", "switch":
		if has(rest, "f", "force", "discard-changes") || anyText(rest, ".", "--") ||
			args[i].text == "restore" {
			return "it discards uncommitted work"
		}
	case "filter-branch", "filter-repo", "update-ref", "gc", "prune":
		return "it rewrites the history"
	case "stash", "reflog", "branch", "worktree":
		if anyText(rest, "drop", "clear", "expire", "delete", "-D", "remove") {
			return "it deletes files that cannot be restored"
		}
	}
	return ""
}

// has reports whether args contain one of the flags. It searches clusters of single-dash flags for
// the letters, and all other flags for the long names or their abbreviations.
func has(args []arg, letters string, long ...string) bool {
	for _, a := range args {
		if a.text == "--" {
			return false
		}
		if refusedFlag(a.text, letters, long) {
			return true
		}
	}
	return false
}

func anyText(args []arg, texts ...string) bool {
	for _, a := range args {
		for _, t := range texts {
			if a.text == t {
				return true
			}
		}
	}
	return false
}

func anyPrefix(args []arg, prefixes ...string) bool {
	for _, a := range args {
		for _, p := range prefixes {
			if strings.HasPrefix(a.text, p) {
				return true
			}
		}
	}
	return false
}

func anyDynamic(args []arg) bool {
	for _, a := range args {
		if a.dynamic && !a.fixed {
			return true
		}
	}
	return false
}

// carriers maps a program to the options that make it run another program, or that make it write
// although it otherwise only reads.
var carriers = map[string][]string{
	"tar": {"--checkpoint-action", "--to-command", "--use-compress-program", "-I",
		"--rsh-command", "--info-script", "--new-volume-script", "-F"},
	"rsync":    {"-e", "--rsh", "--rsync-path"},
	"rg":       {"--pre", "--hostname-bin", "-z", "--search-zip"},
	"ag":       {"--pager"},
	"ack":      {"--pager"},
	"go":       {"-exec", "-toolexec", "-vettool", "--exec", "--toolexec", "--vettool"},
	"sort":     {"--compress-program", "-o", "--output"},
	"tree":     {"-o", "--output"},
	"test":     {"-v"},
	"[":        {"-v"},
	"fd":       {"-x", "-X", "--exec", "--exec-batch"},
	"fdfind":   {"-x", "-X", "--exec", "--exec-batch"},
	"make":     {"--eval", "-E"},
	"cargo":    {"--config"},
	"npm":      {"--script-shell"},
	"gcc":      {"-wrapper"},
	"cc":       {"-wrapper"},
	"clang":    {"-wrapper"},
	"zip":      {"-TT", "--unzip-command"},
	"man":      {"-P", "--pager", "-H", "--html"},
	"curl":     {"-K", "--config"},
	"wget":     {"--use-askpass", "-e", "--execute", "--config"},
	"vim":      {"-c", "--cmd", "-S", "-s"},
	"split":    {"--filter"},
	"mapfile":  {"-C"},
	"install":  {"--strip-program"},
	"rustc":    {"-C", "-Clinker", "--codegen"},
	"ctags":    {"--options"},
	"time":     {"-o", "--output"},
	"hash":     {"-p"},
	"printf":   {"-v"},
	"complete": {"-C", "-F"},
	"bind":     {"-x"},
}

// shellChangers are builtins that change how the shell interprets later commands.
var shellChangers = words{list: "alias unalias shopt enable bind complete compgen compopt hash mapfile readarray let declare typeset local export readonly unset getopts coproc fc"}

// startsPrograms describes how a command may start a program or write a file that the parser does
// not see, or change the meaning of later commands. It returns "" if no such way is known.
func startsPrograms(name string, args []arg) string {
	if shellChangers.has(name) {
		return name + " changes the meaning of the commands after it"
	}
	options := carriers[name]
	for _, a := range args {
		if a.text == "--" || options == nil {
			break
		}
		for _, c := range options {
			if carries(a.text, c) {
				return name + " with " + c + " can start or write something that its name does not suggest"
			}
		}
	}
	switch name {
	case "git":
		return gitStartsPrograms(args)
	case "printf":
		if why := printfArgs(args); why != "" {
			return "printf " + why
		}
	}
	return ""
}

// carries reports whether text is the option, the option with an attached value, or an abbreviation
// of the option if it is long.
func carries(text, option string) bool {
	if text == option {
		return true
	}
	if text == "" || text[0] != '-' {
		return false
	}
	name, _, valued := strings.Cut(text, "=")
	switch {
	case strings.HasPrefix(option, "--"):
		return len(name) > 3 && strings.HasPrefix(name, "--") && strings.HasPrefix(option, name)
	case len(option) == 2:
		return strings.HasPrefix(text, option)
	}
	return valued && name == option
}

// gitCarriers are options of git's subcommands that start a program or write a file.
var gitCarriers = []string{"--exec", "--upload-pack", "--receive-pack", "--extcmd",
	"--open-files-in-pager", "--ext-diff", "--tool", "--template", "--config", "--output"}

// gitStartsPrograms describes how a git command starts another program, by a setting on the command
// line, a subcommand or an option. It returns "" if no such way is known.
func gitStartsPrograms(args []arg) string {
	i := gitSubcommand(append([]arg{{text: "git"}}, args...)) - 1
	for _, a := range args[:min(i, len(args))] {
		if !gitPlain.has(a.text) && (strings.HasPrefix(a.text, "-c") ||
			strings.HasPrefix(a.text, "--exec-path") || strings.HasPrefix(a.text, "--config-env")) {
			return "git -c can set the programs that git runs"
		}
	}
	if i >= len(args) {
		return ""
	}
	rest := args[i+1:]
	for _, c := range gitCarriers {
		for _, a := range rest {
			if carries(a.text, c) {
				return "git with " + c + " can start or write something that its name does not suggest"
			}
		}
	}
	switch sub := args[i].text; sub {
	case "rebase", "difftool":
		if anyPrefix(rest, "-x") {
			return "git " + sub + " starts another program with -x"
		}
	case "grep":
		if anyPrefix(rest, "-O") {
			return "git grep starts another program with -O"
		}
	case "clone", "fetch", "pull":
		if anyPrefix(rest, "-u", "ext::", "-c") {
			return "git " + sub + " starts another program"
		}
	case "bisect", "submodule":
		if anyText(rest, "run", "foreach") {
			return "git " + sub + " starts another program"
		}
	case "filter-branch":
		return "git filter-branch runs shell commands"
	case "config":
		if len(rest) > 1 && gitReaders()["config"](rest) != "" {
			return "git config can set the programs that git runs"
		}
	}
	return ""
}
